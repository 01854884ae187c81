import json
from dataclasses import replace

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import AcknowledgeError, ReadingsError
from diurnal.periodicity.verdict import subject
from diurnal.study.planted import planted
from diurnal.study.town import Town, figure_one
from support import refuses


@pytest.fixture(scope="module")
def season():
    """A panel with a season planted, and its verdict."""
    panel = planted("season", 0.6, homes=60, cycles=42, slots=8)
    return panel, dn.check(panel)


@pytest.fixture(scope="module")
def nothing():
    """The verdict on a panel without anything planted."""
    return dn.check(planted(homes=60, cycles=42, slots=8))


def test_both_sides_are_always_said(season, nothing):
    """Every verdict says how large and how sure, in words, sentences and table."""
    for verdict in (season[1], nothing):
        text = str(verdict)
        assert "how large" in text
        assert "how sure" in text
        said = verdict.sentences()
        assert said[0].startswith("How large:")
        assert said[1].startswith("How sure:")
        assert ", " in verdict.words


def test_what_is_there_decides_the_words(season, nothing):
    """A planted season is found; without one zero stays possible, and that is called no proof."""
    assert season[1].found
    assert "zero is possible" not in season[1].words
    assert not nothing.found
    assert nothing.words.endswith("zero is possible")
    assert "no proof" in nothing.sentences()[1]


@pytest.mark.parametrize("kind", ["nothing", "season", "memory", "swing"])
def test_it_never_says_independent(kind):
    """Whatever is found or not, no verdict contains the word."""
    for homes in (5, 40):
        for cycles in (8, 24):
            verdict = dn.check(planted(kind, 0.3, homes=homes, cycles=cycles, slots=4))
            said = json.dumps(verdict.to_json()) + str(verdict) + verdict._repr_html_()
            assert "independen" not in said.lower()


def test_thresholds_decide_what_is_small(season):
    """The same findings are small under wide thresholds and not under narrow ones."""
    panel, verdict = season
    wide = replace(verdict, thresholds=dn.Thresholds(largest=0.99, median=0.9))
    narrow = replace(verdict, thresholds=dn.Thresholds(largest=0.01))
    assert wide.small
    assert not narrow.small
    assert not replace(verdict, thresholds=dn.Thresholds(largest=0.99, median=0.001)).small
    assert "This meets" in wide.sentences()[0]
    assert "This does not meet" in narrow.sentences()[0]
    assert wide.digest != narrow.digest
    assert dn.check(panel, thresholds=dn.Thresholds(largest=0.01)).words.startswith("not small")


@pytest.mark.parametrize(
    "fields", [{"largest": 0}, {"level": 1}, {"median": "0.1"}, {"confidence": True}, {"level": 0.001}]
)
def test_thresholds_that_are_none_are_refused(fields):
    """A threshold outside (0, 1), or no number, is refused by name."""
    with pytest.raises(ReadingsError, match=next(iter(fields))):
        dn.Thresholds(**fields)


def test_a_week_under_a_daily_period_shows_as_a_rhythm():
    """A habit on two days of seven is named as a rhythm of 7 cycles; a season or nothing is not."""
    weekly = dn.check(planted("weekday", 0.8, homes=80, cycles=70, slots=4))
    assert weekly.rhythm == 7
    assert any("7 apart" in sentence for sentence in weekly.sentences())
    for kind in ("nothing", "season", "memory"):
        assert dn.check(planted(kind, 0.4, homes=80, cycles=70, slots=4)).rhythm is None


def test_the_table_fits_a_terminal(season, nothing):
    """No line of the table is wider than 80 columns."""
    for verdict in (season[1], nothing, dn.check(figure_one(homes=12), periods=["3d"])):
        assert max(map(len, str(verdict).splitlines())) <= 80


def test_few_cycles_are_said_to_be_few():
    """With few cycles the verdict says what taking away the mean does to the coefficients."""
    assert any(
        "9 cycles only" in each and "-0.12" in each for each in dn.check(planted(cycles=9, slots=4)).sentences()
    )


def test_the_json_has_the_keys_others_rely_on(season):
    """The keys that the command line promises are there, plain, and go through JSON."""
    content = json.loads(json.dumps(season[1].to_json()))
    promised = {
        "period_slots",
        "n_households",
        "n_cycles",
        "max_abs_correlation",
        "median_abs_correlation",
        "share_significant",
        "verdict",
        "digest",
    }
    assert promised <= content.keys()
    assert content["n_households"] == 60
    assert content["n_cycles"] == 42


def test_one_panel_has_one_digest(season):
    """Checked again the digest is the same; another roster, period, reading or seed of samples has another."""
    panel, verdict = season
    assert dn.check(panel).digest == verdict.digest
    changed = panel.readings.copy()
    changed[::9, 3] += 90
    others = [
        dn.check(panel.with_period(4)),
        dn.check(panel.without(["7"])),
        dn.check(panel.following(changed, first_step=0)),
    ]
    assert len({verdict.digest, *(each.digest for each in others)}) == 4
    assert dn.check(panel.first(30)).digest.split("-")[0] == subject(panel)


def test_start_wants_the_verdict_acknowledged():
    """A pattern or strong plan starts with the digest of its own homes and period, and with no other word."""
    panel = Town(homes=20, days=12).panel()
    digest = dn.check(panel).digest
    for level in ("pattern", "strong"):
        plan = dn.Plan(epsilon="1", domain=(0, 9000), history=6, grid=panel.grid, level=level, mechanism="cube")
        curator = dn.Curator.in_memory()
        weekly, fewer = dn.check(panel.with_period(24)).digest, dn.check(panel.without(panel.households[:1])).digest
        half, made_up = digest.split("-")[0], digest[:17] + "0" * 15
        for wrong in (None, "yes", "", weekly, fewer, 7, half, made_up, f"{half}-made up"):
            with pytest.raises(AcknowledgeError, match="Hint:"):
                curator.start(plan, history=panel.first(6), acknowledge=wrong)
        assert curator.streams() == []
        stream = curator.start(plan, history=panel.first(6), acknowledge=digest, accept_worse=True)
        # What was found is of the readings: it stays nowhere.
        assert stream.acknowledged == half
        assert [event.content["acknowledged"] for event in curator.ledger() if event.kind == "started"] == [half]
        assert curator.start(plan, history=panel.first(6)).plan == stream.plan


def test_a_plan_that_assumes_nothing_needs_no_verdict():
    """At level cycle nothing is assumed of the readings, and nothing has to be acknowledged."""
    panel = Town(homes=20, days=4).panel()
    plan = dn.Plan(query=dn.Share(above=500), epsilon="1", domain=(0, 9000), grid=panel.grid, level="cycle")
    assert dn.Curator.in_memory().start(plan, history=panel.first(0), accept_worse=True).report(panel.first(1))


def test_a_verdict_shows_nothing_by_accident(season):
    """Reprs of verdicts and of what they are made of have no figure in them."""
    verdict = season[1]
    parts = (
        verdict,
        verdict.correlations,
        verdict.evidence,
        verdict.nonlinear,
        *verdict.periods,
        verdict.to_json(),
    )
    for part in parts:
        assert not any(character.isdigit() for character in repr(part))


def test_what_is_no_panel_is_refused():
    """An array in place of a panel is refused with a remedy."""
    with refuses(ReadingsError, "argument-type"):
        dn.check(np.zeros((20, 4), dtype=int))


def test_many_small_coefficients_are_found_too():
    """What shows in the number of significant pairs alone is found."""
    verdict = dn.check(planted(homes=30, cycles=12, slots=4))
    assert not verdict.found
    assert replace(verdict, evidence=replace(verdict.evidence, p_share=0.004)).found


def test_what_is_asked_reaches_every_part():
    """The share to keep and the confidence go to the tests and to the periods tried."""
    panel = planted(homes=30, cycles=12, slots=4)
    present = np.ones(panel.readings.shape, dtype=bool)
    present[:, ::4] = False
    gappy = panel.following(panel.readings, present=present, first_step=0)
    verdict = dn.check(gappy, keep="0.5")
    assert all(each.largest is not None for each in verdict.periods if each.slots == 4)
    wide = dn.check(gappy, keep="0.5", thresholds=dn.Thresholds(confidence=0.99))
    assert (
        wide.evidence.bound > dn.check(gappy, keep="0.5", thresholds=dn.Thresholds(confidence=0.5)).evidence.bound
    )


def test_one_period_may_be_named_bare():
    """A single length needs no list around it."""
    panel = planted(homes=12, cycles=12, slots=4)
    for named in (8, "4h"):
        assert 8 in {each.slots for each in dn.check(panel, periods=named).periods}


def test_homes_may_move_though_their_sum_does_not():
    """Homes that mirror each other have a verdict; nothing is found in their sum."""
    readings = np.random.default_rng(1).integers(0, 50, (80, 10))
    verdict = dn.check(support.small_panel(np.hstack([readings, 100 - readings]), slots=4))
    assert {each.why for each in verdict.periods} == {"the panel's", "usual"}
