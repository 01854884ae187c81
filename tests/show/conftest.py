import pytest

import support
from diurnal.study.baselines import OURS, PAPER, Split, Window, task_of
from diurnal.study.compare import compare
from diurnal.study.curves import curves

RIVALS = (*PAPER, Split(name="one day, Laplace", span="cycle"), Window(), *OURS)


@pytest.fixture(scope="session")
def compared():
    """A comparison and its curves, on a few made-up homes."""
    panel = support.town(n=30, slots=8, cycles=24)
    given = {"epsilon": "1", "open_data": support.town(n=20, slots=8, seed=2), "domain": (0, 100)}
    task = task_of(panel.after(8), history=panel.first(8), **given)
    along = curves(
        task, epsilons=("0.1", "1", "10"), sizes=[15, 30, 3000], cycles=[4, 16], baselines=RIVALS, draws=3
    )
    return compare(task, draws=3, baselines=RIVALS), along
