"""What is said of a store's caps: what is spent of them, for what, and what they do not count."""

import numpy as np
import pytest

import diurnal as dn
import support

CYCLE = {"level": "cycle", "query": dn.Share(above=3), "history": 0}


def started(*plans):
    """A store of plans over different households, and how it stands."""
    curator = dn.Curator.in_memory(dn.Budget(pattern="2", cycle="2"))
    for number, fields in enumerate(plans):
        panel = support.town()
        homes = panel.columns(np.arange(20 * number, 20 * number + 20))
        plan = support.plan_for(panel, **fields)
        curator.start(plan, history=homes.first(plan.history), acknowledge="untested", accept_worse=True)
    return curator.status()


@pytest.mark.parametrize(
    ("plans", "pattern", "strong"),
    [
        ([], "0 of 2 spent", "0 of 2 spent"),
        ([{}], "1 of 2 spent", "no cycle is protected by plans of level pattern, so nothing is counted"),
        ([support.SLOTWISE], "1 of 2 spent", "1 of 2 spent"),
        ([CYCLE], "a usual cycle is not protected by plans of level cycle, so nothing is counted", "1 of 2 spent"),
        (
            [{}, support.SLOTWISE],
            "1 of 2 spent",
            "cycles that plans of level pattern report are not protected, and not counted",
        ),
        (
            [CYCLE, support.SLOTWISE],
            "the usual cycle of households in plans of level cycle is not protected, and not counted",
            "1 of 2 spent",
        ),
    ],
    ids=["none", "pattern", "strong", "cycle", "pattern and strong", "cycle and strong"],
)
def test_a_cap_that_counts_nothing_has_no_figure(plans, pattern, strong):
    """A figure is there where a plan protects what the cap counts; what no plan protects is not called spent."""
    status = started(*plans)
    said = status.spending()
    for cap, words in (("pattern", pattern), ("strong", strong)):
        assert words in said[cap]
        assert ("0 of 2" in said[cap]) == (not plans)
        assert f"{cap:9}{said[cap]}" in str(status)
    assert set(status.to_json()["uncounted"]) == {
        cap
        for cap, words in (("pattern", pattern), ("strong", strong))
        if "not protected" in words or "no cycle" in words
    }


def test_a_plan_behind_a_fence_is_not_forgotten(tmp_path):
    """A restored store that does not know its pattern plan still says that no figure counts days of such plans."""
    panel = support.town()
    curator = dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="2", cycle="2"))
    curator.backup(tmp_path / "backup.db")
    curator.start(support.plan_for(panel), history=panel.first(4), acknowledge="untested", accept_worse=True)
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.head, people=0)
    assert "nothing is counted" in restored.status().spending()["strong"]
