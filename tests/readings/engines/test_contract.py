"""One contract for every engine: wherever readings lie, cuts are the same readings and folds the same bits.

The lake has its own files, in spark/, with the same and more: it needs Spark.
"""

import numpy as np
import pytest

import diurnal as dn
from diurnal.errors import LimitError
from diurnal.readings import panel
from diurnal.readings.kernels import fold
from diurnal.readings.panel import Arrays, batches, in_memory
from diurnal.study.town import Town

ENGINES = {
    "memory": lambda panel, folder: panel,
    "file": lambda panel, folder: dn.save_panel(panel, folder / "homes.parquet"),
}
"""How a panel is brought to where an engine has it, by the engine's name."""

CUTS = {
    "all": lambda panel: panel,
    "first": lambda panel: panel.first(3),
    "after": lambda panel: panel.after(3),
    "between": lambda panel: panel.between(5, 103),
    "select": lambda panel: panel.select(suburb=panel.groups["suburb"][0]),
    "without": lambda panel: panel.without(panel.households[:2]),
    "closing": lambda panel: panel.closing([3, 50]),
    "columns in another order": lambda panel: panel.columns(np.array([5, 1, 9])),
    "a column twice": lambda panel: panel.columns(np.array([1, 1, 2])),
    "cut after cut": lambda panel: panel.after(2).closing([100]).columns(np.arange(3, 20)).first(4),
}

everywhere = pytest.mark.parametrize("name", ENGINES)


@pytest.fixture(scope="module")
def town():
    """A town of 24 homes over ten days with gaps, in memory."""
    panel = Town(homes=24, days=10).panel()
    present = np.random.default_rng(1).random(panel.readings.shape) < 0.97
    return panel.following(panel.readings, present=present, first_step=panel.first_step)


@pytest.fixture
def here(town, monkeypatch):
    """The town in several blocks."""
    monkeypatch.setattr(panel, "BLOCK", 7 * 10 * 48)
    return town


def totals(block):
    return np.stack([block.readings.sum(axis=1), block.present.sum(axis=1)])


@everywhere
@pytest.mark.parametrize("cut", CUTS)
def test_a_cut_is_the_same_readings_and_adds_up_to_the_same(name, cut, here, tmp_path):
    """Whatever is cut out of a panel has the same readings, gaps and names, and folds to the same sums."""
    wanted, found = CUTS[cut](here), CUTS[cut](ENGINES[name](here, tmp_path))
    assert (found.households, found.groups, found.steps) == (wanted.households, wanted.groups, wanted.steps)
    np.testing.assert_array_equal(found.readings, wanted.readings)
    np.testing.assert_array_equal(found.present, wanted.present)
    np.testing.assert_array_equal(fold(totals, found, np.add), totals(wanted))


@everywhere
def test_blocks_are_whole_households_in_their_order(name, here, tmp_path):
    """A panel's blocks, one beside the other, are the panel."""
    blocks = list(ENGINES[name](here, tmp_path).blocks())
    assert sum((block.households for block in blocks), ()) == here.households
    np.testing.assert_array_equal(np.hstack([block.readings for block in blocks]), here.readings)


@everywhere
def test_the_check_finds_the_same(name, here, tmp_path):
    """What `check` says of a panel, kernels that hold arrays of their own included, is the same to the last bit."""
    assert dn.check(ENGINES[name](here, tmp_path)).to_json() == dn.check(here).to_json()


@everywhere
def test_a_sample_is_brought_here(name, here, tmp_path):
    """What is at hand is folded by the local engine, and is the same."""
    found = in_memory(ENGINES[name](here, tmp_path))
    assert isinstance(found.data, Arrays)
    np.testing.assert_array_equal(found.readings, here.readings)


@everywhere
@pytest.mark.parametrize("ahead", [1, 1 << 24])
def test_batches_are_the_panel_some_cycles_at_a_time(name, ahead, here, tmp_path, monkeypatch):
    """Batches end where cycles do, come in order and leave nothing out, whatever is read ahead."""
    monkeypatch.setattr(panel, "AHEAD", ahead)
    slots = here.grid.slots
    part = here.between(slots + 1, here.n_steps - 1)
    there = ENGINES[name](here, tmp_path).between(slots + 1, here.n_steps - 1)
    found = list(batches(there, 2))
    assert [batch.first_step for batch in found] == [slots + 1, *range(3 * slots, here.n_steps - 1, 2 * slots)]
    assert sum(batch.n_steps for batch in found) == part.n_steps
    np.testing.assert_array_equal(np.vstack([batch.readings for batch in found]), part.readings)
    np.testing.assert_array_equal(np.vstack([batch.present for batch in found]), part.present)
    assert all(batch.data.engine == there.data.engine for batch in found)


@everywhere
def test_what_a_kernel_refuses_is_refused(name, here, tmp_path):
    """An error of a kernel arrives as it is; a panel of nobody is an error."""

    def refuse(block):
        raise LimitError("products-overflow")

    there = ENGINES[name](here, tmp_path)
    with pytest.raises(LimitError) as caught:
        fold(refuse, there, np.add)
    assert caught.value.code == "products-overflow"
    with pytest.raises(ValueError, match="at least one household"):
        fold(totals, there.columns(np.zeros(0, dtype=np.int64)), np.add)
