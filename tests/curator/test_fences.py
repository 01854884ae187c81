"""What a fence counts as spent: every part of every loss that a restored backup does not know."""

import pytest

import diurnal as dn
import support

ROOMY = dn.Budget(pattern="40", cycle="40", delta="1e-6")
GAUSSIAN = {**support.SLOTWISE, "mechanism": "gaussian", "cycle_mechanism": "gaussian", "delta": "1e-6"}


def start(curator, panel, **fields):
    plan = support.plan_for(panel, **fields)
    return curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)


def spent(curator):
    status = curator.status()
    return {"pattern": status.pattern[0], "strong": status.strong[0]}


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_concentrated_loss_behind_a_fence_counts_in_full(name, tmp_path):
    """A Gaussian plan that a backup does not know costs there what it cost where it ran, beside a pure one."""
    panel = support.town(cycles=20)
    curator = dn.Curator.open(tmp_path / "a.db", ROOMY)
    start(curator, panel, **support.SLOTWISE)
    curator.backup(tmp_path / "b.db")
    before = spent(curator)[name]
    start(curator, panel, **GAUSSIAN)
    restored = dn.Curator.open(tmp_path / "b.db", fence=curator.status().head)
    assert spent(restored)[name] == spent(curator)[name] > before


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_concentrated_loss_behind_a_fence_is_asked_of_the_budget(name, tmp_path):
    """A plan that would pass a cap only with what a lost Gaussian plan has cost is refused."""
    panel = support.town(cycles=20)
    curator = dn.Curator.open(
        tmp_path / "a.db", dn.Budget.from_json({"pattern": "9", "strong": "9", "delta": "1e-6", name: "5/4"})
    )
    curator.backup(tmp_path / "b.db")
    start(curator, panel, **GAUSSIAN)
    restored = dn.Curator.open(tmp_path / "b.db", fence=curator.status().head)
    with pytest.raises(dn.errors.BudgetError, match=f"the {name} budget"):
        start(restored, panel, **GAUSSIAN, query=dn.Sum())


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_second_fence_forgets_nothing_of_the_first(name, tmp_path):
    """Two copies of one backup each spend something of their own: who is fenced by both heads counts both."""
    panel = support.town(cycles=20)
    curator = dn.Curator.open(tmp_path / "a.db", ROOMY)
    start(curator, panel, **support.SLOTWISE)
    heads = [curator.backup(tmp_path / f"{copy}.db") and curator.status().head for copy in ("one", "two")]
    start(curator, panel, **support.SLOTWISE, epsilon="2")
    two = dn.Curator.open(tmp_path / "two.db", fence=heads[1])
    start(two, panel, **support.SLOTWISE, epsilon="3")
    dn.Curator.open(tmp_path / "one.db", fence=curator.status().head)
    assert spent(dn.Curator.open(tmp_path / "one.db", fence=two.status().head))[name] >= 1 + 2 + 3
