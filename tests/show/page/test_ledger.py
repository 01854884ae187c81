"""The ledger on the page: in words, with public fields only."""

import re

import pytest

import diurnal as dn
from diurnal.show.page import content as page_content
from diurnal.show.page import public_page
from pages import CYCLES, GRID, HISTORY, HOUSEHOLD, LEVELS, SECRET, secret_panel, started

# One worker runs all tests of pages.
pytestmark = pytest.mark.xdist_group("page")


def test_the_ledger_is_told_in_words_and_few_lines():
    """Batches that follow each other are one line, lines are numbered from 1 on, caps and spending are there, and
    nothing about people is.
    """
    curator, stream, panel = started("slotwise", calendar_budget="3")
    curator.raise_cap(dn.Budget(pattern="4", cycle="3"))
    curator.move_out(panel.households[3], 4 * CYCLES)
    curator.erase(panel.households[5])
    stream.stop()
    found = page_content.collected(curator, stream, None)[1]["ledger"]
    lines = [line[2] for line in found["events"]]
    assert sum("reported: steps 24 to 53 (29 of them), 8 batches, 29 rows" in line for line in lines) == 1
    for said in (
        "may cost a household epsilon 3",
        "level strong, 20 households",
        "caps were raised: plans together may now cost epsilon 4",
        "was stopped",
    ):
        assert sum(said in line for line in lines) == 1, said
    assert [line[0] for line in found["events"]] == [f"{number}" for number in range(1, len(lines) + 1)]
    assert not any("rasure" in line or "tenancy" in line for line in lines)
    assert not any("household" in line and "households" not in line for line in lines[1:])
    assert [(each["spent"], each["allowed"], each["left"]) for each in found["budgets"]] == [
        ("1", "4", "3"),
        ("1", "3", "2"),
    ]
    assert found["head"] == curator.head
    assert [line[3] for line in found["events"] if "was started" in line[2]] == [
        "1 for a shift of the usual day, 1 for any one reported day"
    ]


UNCOUNTED = {
    "pattern": (
        "No day is protected by plans of level pattern, so nothing is counted: sums of variations are published "
        "exactly.",
        "1 for a shift of the usual day; no day is protected",
    ),
    "share": (
        "A usual day is not protected by plans of level cycle, so nothing is counted.",
        "1 for any one reported day; the usual day is not protected",
    ),
}


@pytest.mark.parametrize("level", UNCOUNTED)
def test_what_a_level_does_not_protect_has_no_figure_in_the_ledger(level):
    """On the page of a pattern plan no figure is spent for a day, of counts none for the usual day: it is said that
    neither is protected, in the box and beside the start.
    """
    curator, stream, _ = started(level)
    page = public_page(curator, stream)
    budgets = re.findall(r'<div class="budget">(.*?)</div>', page)
    (box,) = [each for each in budgets if "nothing is counted" in each]
    said, spent = UNCOUNTED[level]
    assert said in box
    assert "spent" not in box
    assert [("<b>1</b> of 1000 spent" in each) for each in budgets if each != box] == [True]
    assert spent in page
    assert "<b>0</b>" not in page


def test_days_that_pattern_plans_report_are_not_counted_for_others():
    """Where other plans do protect a day, its figure is there, with what it does not count."""
    curator, stream, _ = started("pattern")
    stream.stop()
    fields = {"query": dn.Sum(), "grid": GRID, "domain": (0, 2 * 10**6), "history": HISTORY, "epsilon": "1"}
    plan = dn.Plan(**fields, **LEVELS["slotwise"])
    later = secret_panel(cycles=2 * CYCLES)
    other = curator.start(
        plan, history=later.between(4 * CYCLES, 4 * (CYCLES + HISTORY)), acknowledge="untested", accept_worse=True
    )
    said = "Days that plans of level pattern report are not protected, and not counted"
    for each in (stream, other):
        page = public_page(curator, each)
        (box,) = [one for one in re.findall(r'<div class="budget">(.*?)</div>', page) if said in one]
        assert "<b>1</b> of 1000 spent" in box
        assert said in page.partition('id="series-title"')[0]


def test_the_caps_are_said_with_what_they_are_for():
    """What a store allows is for a shift of the usual day and for one reported day: many together lose more."""
    curator, stream, _ = started("slotwise", calendar_budget="3")
    said = (
        "its plans together may cost a household epsilon 3 for a shift of the usual day, and 3 for any one "
        "reported day, where their levels protect these. Many days together lose more."
    )
    assert said in public_page(curator, stream)


def test_a_kind_of_event_that_nobody_named_shows_nothing():
    """What a later version may write into the ledger does not reach the page by itself."""
    curator, stream, _ = started("pattern")
    with curator._store.transaction():
        curator._store.note("novel", {"household": HOUSEHOLD, "secret": SECRET})
    page = public_page(curator, stream)
    assert "Something else was decided." in page
    assert HOUSEHOLD not in page
    assert str(SECRET) not in page
