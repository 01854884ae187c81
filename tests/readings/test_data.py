"""What every place where readings lie can do, and which of them fold kernels themselves."""

import dataclasses

import numpy as np
import pytest

import diurnal as dn
from diurnal.readings.data import Data, Folds
from diurnal.readings.engines.spark.lake import LakeData
from diurnal.readings.kernels import fold
from diurnal.readings.panel import Arrays
from diurnal.readings.panel_file import KeptData


@pytest.mark.parametrize("kind", [Arrays, KeptData, LakeData])
def test_every_place_can_do_what_data_can(kind):
    """In memory, in a file and in a lake, nothing that `Data` asks for is missing; only a lake folds by itself."""
    asked = {name for name in vars(Data) if not name.startswith("_")}
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    assert asked == {"engine", "readings", "present", "n_steps", "rows", "columns", "without", "pieces"}
    assert {name for name in asked if not hasattr(kind, name)} <= fields
    assert issubclass(kind, Folds) == (kind is LakeData)


def test_data_that_fold_themselves_are_asked_to():
    """A kernel over such data is theirs to run, with the panel, the sum and the label; nothing is run here."""
    readings = np.arange(8).reshape(4, 2)

    class Elsewhere(Arrays):
        def fold(self, kernel, panel, add, *, label):
            return "folded elsewhere", panel.n_households, add, label

    def kernel(block):
        raise AssertionError("it was run here")

    here = dn.Panel.from_array(readings, grid=dn.Grid(slots=2))
    there = dataclasses.replace(here, data=Elsewhere(readings, np.ones(readings.shape, dtype=bool)))
    assert fold(kernel, there, np.add, label="Adding") == ("folded elsewhere", 2, np.add, "Adding")
    assert fold(lambda block: block.readings.sum(), here, np.add) == readings.sum()
