"""What is said of a plan and its promise."""

import pytest

import diurnal as dn
from diurnal.planning.accuracy import kept_share
from diurnal.show.page import public_page, words
from diurnal.study.town import Town
from pages import LEVELS, started, text_of

# One worker runs all tests of pages.
pytestmark = pytest.mark.xdist_group("page")


def test_a_profile_that_is_drawn_to_the_reference_is_not_shown_as_a_measurement():
    """Where little of the usual day is the homes' own, the page says how much, beside the profile and the error."""
    panel = Town(homes=20, days=36).panel()
    draft = dn.Plan(level="pattern", epsilon="0.01", domain=(0, 8000), history=28, grid=panel.grid)
    plan = dn.choose(dn.with_public_bounds(draft, panel, mean_reading=400, free=False), panel)
    stream = (curator := dn.Curator.in_memory()).start(plan, history=panel.first(28), acknowledge="untested")
    stream.report(panel.after(28))
    text = text_of(public_page(curator, stream))
    share = kept_share(plan, 20)
    assert share.startswith("0")
    assert f"drawn to the public reference (of the smallest group {share} of each coefficient is its own)" in text
    assert "does not include the bias" in text
    assert "how far reports are drawn to a public reference" in text
    assert words.errors(plan, (20,))["of the usual cycle, released with noise"] == f"{share}; the rest is public"
    assert "drawn to the public" not in text_of(public_page(*started("pattern")[:2]))


@pytest.mark.parametrize("level", LEVELS)
def test_the_whole_promise_is_on_the_page(level):
    """Every sentence of the guarantee is there, in its order, and what is reported is said."""
    curator, stream, _ = started(level)
    words = text_of(public_page(curator, stream))
    places = [words.index(sentence) for sentence in stream.guarantee.sentences()]
    assert places == sorted(places)
    assert stream.plan.query.sentence() in words
    for heading in ("What is promised", "What it rests on", "What this does not protect"):
        assert words.count(heading) == 2


@pytest.mark.parametrize(
    ("level", "told"),
    [
        ("pattern", "carry the same noise: their difference carries none"),
        ("basis", "differences can be far more exact than the bands suggest"),
        ("share", "Two rows whose bands overlap may well be equal"),
    ],
)
def test_what_two_rows_tell_about_a_change_is_said_by_level(level, told):
    """Bands say how sure a difference is only where noise is fresh in every row; elsewhere the page says so."""
    words = text_of(public_page(*started(level)[:2]))
    assert told in words
    assert ("may well be equal" in words) is (level == "share")


@pytest.mark.parametrize(("level", "words"), [("slotwise", "day"), ("share", "day")])
def test_odds_about_a_day_are_those_of_who_knows_everything_else(level, words):
    """Beside epsilon for a day stands whose odds these are, and that other days tell more of what lasts."""
    page = public_page(*started(level)[:2])
    said = f"for an observer who knows everything else, even odds about that {words} become at most 74 : 26. Where"
    assert f"{said} {words}s are related, as in an absence, other {words}s reveal more." in page
