"""A kernel over a panel in the lake finds what it finds here, to the last bit, whatever becomes of its tasks."""

import dataclasses
import time
import typing

import numpy as np
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import support
from diurnal.errors import LimitError, ReadingsError
from diurnal.periodicity.correlation import gram
from diurnal.periodicity.cycles import count
from diurnal.readings import kernels
from diurnal.readings.engines.spark import folding
from lakes import account, rows_of, same_panel
from sparks import stumble_once
from support import refuses


def test_many_tasks_add_up_in_stages(town, monkeypatch):
    """However many stages of adding up there are between tasks and the driver, the sum is the same."""
    panel = town[1]

    # Of the function's own, so that tasks are given it.
    def total(block):
        return block.readings.sum(axis=1)

    wanted = kernels.fold(total, town[0], np.add)
    monkeypatch.setattr(folding, "FEW", 1)
    for tasks, fan in ((2, 64), (9, 4)):
        monkeypatch.setattr(folding, "FAN", fan)
        data = dataclasses.replace(panel.data, tasks=tasks, table=panel.data.table.repartition(tasks))
        assert np.array_equal(kernels.fold(total, dataclasses.replace(panel, data=data), np.add), wanted)


def test_profiles_variations_products_and_sums_are_the_same(town):
    """What kernels find adds up to the same whole numbers: sums, profiles, variations by atom, products."""
    here, there = town
    history = 14

    def profiles(block):
        cut = block.first(history)
        zhat, known = kernels.profiles(cut.readings, cut.present, slots=48, min_readings=3)
        return {name: (zhat[:, i].tolist(), known[:, i].tolist()) for i, name in enumerate(block.households)}

    def variations(block):
        cut, rest = block.first(history), block.after(history)
        zhat, known = kernels.profiles(cut.readings, cut.present, slots=48, min_readings=3)
        names = ("Hill", "Lake")
        group = np.array([1 + names.index(name) if name in names else 3 for name in block.groups["suburb"]])
        weights = np.array([1 + len(name) % 2 for name in block.households])
        atoms = kernels.Atoms.of(np.stack([group, weights]))
        sums, used = kernels.variation_sums(
            rest.readings,
            rest.present,
            zhat[:, atoms.order],
            known[:, atoms.order],
            np.arange(rest.n_steps) % 48,
            atoms,
        )
        return {tuple(key): (sums[:, i], used[:, i]) for i, key in enumerate(atoms.columns.T.tolist())}

    def both(left, right):
        return {
            key: tuple(a + b for a, b in zip(left[key], right[key], strict=True))
            if key in left and key in right
            else left.get(key, right.get(key))
            for key in {*left, *right}
        }

    def same(left, right):
        assert left.keys() == right.keys()
        for key in left:
            for a, b in zip(left[key], right[key], strict=True):
                np.testing.assert_array_equal(a, b)

    def totals(block):
        return block.readings.sum(axis=1), block.present.sum(axis=1)

    for kernel in (profiles, variations):
        same(kernels.fold(kernel, there, both), kernels.fold(kernel, here, both))

    def added(left, right):
        return left[0] + right[0], left[1] + right[1]

    for a, b in zip(kernels.fold(totals, there, added), kernels.fold(totals, here, added), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(gram(there, count(there)), gram(here, count(here)), strict=True):
        np.testing.assert_array_equal(a, b)


def _stumbling(stumble):
    """A format that stumbles as it reads."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Stumbling(dn.Format):
        name: typing.ClassVar[str] = "stumbling"
        unit: str = "Wh"
        minutes: int | None = 30

        def read(self, part):
            stumble()
            for table in part.tables(["household", "time", "value"]):
                meter, at, value = table.columns.columns
                yield dn.Rows(meter=meter, time=at, value=value, line=table.line)

    return Stumbling()


@pytest.mark.parametrize("seconds", support.for_now([0, 60], 60), ids=["dies", "dawdles"])
def test_a_task_that_dies_or_dawdles_changes_nothing(seconds, town, spark, tmp_path):
    """A task of an import whose process dies is run again, one that dawdles is overtaken by a copy of itself; so
    are those of a fold. Panel, account and sums are the same.
    """
    here, there = town
    began = time.monotonic()
    pq.write_table(rows_of(here.between(0, 240)), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(4)
    options = {"zone": "UTC", "domain": (-10000, 10000)}
    format_ = _stumbling(stumble_once(str(tmp_path / "import"), seconds))
    made = dn.panel(dn.read(frame, format=format_), **options, out=tmp_path / "homes")
    plain = dn.panel(dn.read(tmp_path / "rows.parquet", unit="Wh"), **options)
    same_panel(plain, made)
    assert account(made) == account(plain) | {"notes": account(made)["notes"]}
    stumble = stumble_once(str(tmp_path / "fold"), seconds)

    def kernel(block):
        stumble()
        return block.readings.sum(axis=1)

    np.testing.assert_array_equal(kernels.fold(kernel, there, np.add), here.readings.sum(axis=1))
    assert (tmp_path / "import").exists()
    assert (tmp_path / "fold").exists()
    assert time.monotonic() - began < 55, "nobody waited for the one that dawdles"


def test_a_kernel_that_refuses_refuses_here(town):
    """An error of ours in a task is the same error here; another one is a sentence without what it says."""
    there = town[1]

    def limit(block):
        raise LimitError("sums-overflow", what="readings", households=3, weight=1, magnitude=9)

    def broken(block):
        raise KeyError(f"reading {block.readings[0, 0]}")

    with pytest.raises(LimitError, match="64 bits") as found:
        kernels.fold(limit, there, np.add)
    assert (found.value.code, found.value.params["households"]) == ("sums-overflow", 3)
    with refuses(ReadingsError, "spark-failed") as found:
        kernels.fold(broken, there, np.add)
    assert "KeyError" not in str(found.value)
    assert found.value.__context__ is None
