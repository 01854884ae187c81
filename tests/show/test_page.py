import csv
import dataclasses
import itertools
import json
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import InputError, PrivateError, ReadingsError, StreamError
from diurnal.planning.accuracy import kept_share
from diurnal.planning.prediction import short
from diurnal.promise import noise
from diurnal.show.export import export
from diurnal.show.page import content as page_content
from diurnal.show.page import custodian_page, public_page, words
from diurnal.show.page.bars import LogScale
from diurnal.study.town import Town
from support import refuses

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("page")

SECRET = 1_765_432
HOUSEHOLD = "Q-secret-household-77"
HOSTILE = "</script><script>alert(1)</script>"
GRID = dn.Grid(slots=4, minutes=360, zone="Australia/Sydney", anchor="2022-09-20T00:00")
CYCLES, HISTORY = 14, 6
LEVELS = {
    "pattern": {"level": "pattern", "mechanism": "laplace"},
    "slotwise": {"level": "strong", "mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": 10**5},
    "basis": {**support.BASIS},
    "share": {"query": dn.Share(above=15 * 10**5), "level": "cycle", "mechanism": "laplace", "history": 0},
    "histogram": {
        "query": dn.Histogram([14 * 10**5, 16 * 10**5]),
        "level": "cycle",
        "mechanism": "cube",
        "history": 0,
    },
}


def secret_panel(cycles=CYCLES) -> dn.Panel:
    """Readings of seven digits, which nobody meets by chance, and a household with a name to look for."""
    rng = np.random.default_rng(3)
    usual = rng.integers(115 * 10**4, 185 * 10**4, size=20)
    readings = usual + rng.integers(-(10**5), 10**5, size=(cycles * 4, 20))
    readings[:, 7] = SECRET
    names = [f"secret-home-{i:02}" for i in range(20)]
    names[7] = HOUSEHOLD
    return dn.Panel.from_array(readings, households=names, grid=GRID, calendar=[HISTORY * 4 + 9])


def started(level, *, calendar_budget="1000"):
    """A curator, a stream that has reported up to the middle of a cycle, and the panel."""
    panel = secret_panel()
    fields = {
        "query": dn.Sum(),
        "grid": GRID,
        "domain": (0, 2 * 10**6),
        "history": HISTORY,
        "epsilon": "1",
        "minimum_group": 1,
        **LEVELS[level],
    }
    plan = dn.Plan(**fields)
    curator = dn.Curator.in_memory(dn.Budget(pattern=calendar_budget, cycle=calendar_budget))
    history = panel.first(plan.history)
    read = dn.check(panel).digest if plan.history else None
    stream = curator.start(plan, history=history, acknowledge=read, accept_worse=True)
    for cycle in range(HISTORY, CYCLES - 1):
        stream.report(panel.between(4 * cycle, 4 * cycle + 4))
    stream.report(panel.between(4 * CYCLES - 4, 4 * CYCLES - 2))
    return curator, stream, panel


def written(values, least=10**6) -> set[str]:
    """How whole numbers might be written, those that are too small to be recognised left out."""
    found = {abs(int(value)) for value in values}
    return {form for value in found if value >= least for form in (str(value), f"{value:,}")}


def seen(secrets, page) -> list[str]:
    """Those secrets that are on a page: long ones anywhere, numbers of a few digits as numbers of their own."""
    numbers = set(re.findall(r"\d+(?:,\d{3})*", page))
    return [secret for secret in secrets if (secret in page if len(secret) > 9 else secret in numbers)]


def secrets_of(curator, stream, panel) -> set[str]:
    """Everything private that there is about a stream, as it might be written."""
    record, store = stream._record(), stream._store
    found = {*panel.households, *record.households} | written(panel.readings.ravel())
    found |= written(panel.readings.sum(axis=1)) | written(panel.readings.mean(axis=1))
    found |= written(record.profile.ravel()) | written(record.profile.sum(axis=1))
    if record.plan.level == "strong":
        found |= written(value for group in record.groups for value in group.noisy_profile)
    with store.transaction():
        for cycle in store.noisy_cycles(record.number):
            kept = store.cycle_noise(record.number, cycle)
            found |= written((value for values in kept.values() for value in values), least=10**4)
        found |= {store.fact("salt"), store.fact("secret"), *store.name_digests(panel.households)}
    found |= {digest[:16] for digest in found if re.fullmatch("[0-9a-f]{64}", digest)}
    for event in curator.ledger():
        found |= {
            str(event.content[name])
            for name in ("content", "acknowledged", "household", "identity")
            if event.content.get(name)
        }
    if stream.acknowledged:
        found |= {stream.acknowledged, *stream.acknowledged.split("-")}
    return found


def text_of(page: str) -> str:
    """What a reader sees of a page, in one line."""

    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.words, self.hidden = [], 0

        def handle_starttag(self, tag, attrs):
            self.hidden += tag in ("script", "style")

        def handle_endtag(self, tag):
            self.hidden -= tag in ("script", "style")

        def handle_data(self, data):
            if not self.hidden:
                self.words.append(data)

    reader = Reader()
    reader.feed(page)
    reader.close()
    return " ".join("".join(reader.words).split())


def data_of(page: str, name: str = "data") -> dict:
    """The data of a page."""
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_private_is_in_any_byte_of_the_public_page(level):
    """No reading, sum, profile, open noise, name or digest of one is on the public page, erased or not."""
    curator, stream, panel = started(level)
    secrets = secrets_of(curator, stream, panel)
    assert len(secrets) > 1000
    curator.move_out(panel.households[3], 4 * CYCLES)
    curator.erase(panel.households[5])
    secrets |= secrets_of(curator, stream, panel)
    page = public_page(curator, stream)
    assert seen(secrets, page) == []
    assert str(SECRET) not in page
    assert "PRIVATE" not in page


@pytest.mark.parametrize("level", ["share", "histogram"])
def test_the_noise_of_an_open_cycle_of_counts_is_not_on_the_page(level, monkeypatch):
    """Noise of counts, made large enough to be recognised, is on the page for no step that is still to come."""
    drawn = itertools.count(31_415_926, 1_234_567)
    monkeypatch.setattr(noise, "laplace", lambda size, scale: list(itertools.islice(drawn, size)))
    monkeypatch.setattr(noise, "cube", lambda ranges, rate: list(itertools.islice(drawn, len(ranges))))
    curator, stream, panel = started(level)
    with stream._store.transaction():
        (cycle,) = stream._store.noisy_cycles(stream._record().number)
        kept = [
            value for each in stream._store.cycle_noise(stream._record().number, cycle).values() for value in each
        ]
    assert min(kept) > 10**7
    assert set(map(str, kept)) <= secrets_of(curator, stream, panel)
    assert seen(secrets_of(curator, stream, panel), public_page(curator, stream)) == []


@pytest.mark.parametrize("level", ["pattern", "slotwise", "basis"])
def test_the_custodians_page_has_the_truth_and_says_so(level):
    """True sums of every released step are on the custodian's page, which is marked: the search can find them."""
    curator, stream, panel = started(level)
    page = custodian_page(curator, stream, truth=panel)
    sums = [panel.readings[row.step].sum() for row in stream.rows()]
    assert set(map(str, sums)) <= set(seen(secrets_of(curator, stream, panel), page))
    assert page.count("PRIVATE") >= 3
    assert "<title>PRIVATE: " in page
    assert HOUSEHOLD not in page


def test_the_truth_of_counts_is_counted():
    """The custodian's page of a histogram has the true counts, and they add up to the roster."""
    curator, stream, panel = started("histogram")
    page = custodian_page(curator, stream, truth=panel)
    counts = [list(map(float, each.split())) for each in data_of(page, "more")["overlay"]["values"]]
    assert np.array(counts).sum(axis=0) == pytest.approx(20)


def test_a_gap_is_no_error():
    """Where readings are missing the mean of those that are there stands for them, whatever order homes are in."""
    curator, stream, panel = started("basis")
    present = panel.present.copy()
    present[:, 2] = False
    gappy = panel.following(panel.readings, present=present, first_step=0).columns(np.arange(20)[::-1])
    page = custodian_page(curator, stream, truth=gappy)
    row, rest = stream.rows()[0], np.delete(np.arange(20), 2)
    true = data_of(page, "more")["overlay"]["values"][0].split()
    assert float(true[0]) == pytest.approx(panel.readings[row.step, rest].mean() * 20)
    assert len(true) == len(stream.rows())


def test_a_truth_of_other_homes_is_refused():
    """A panel that has no reading of what was reported is no truth."""
    curator, stream, panel = started("pattern")
    with refuses(ReadingsError, "truth-no-reading"):
        custodian_page(curator, stream, truth=panel.first(1))
    with refuses(ReadingsError, "argument-type"):
        custodian_page(curator, stream, truth=panel.readings)


def test_the_noisy_profile_is_there_in_pattern_mode_only():
    """In pattern mode the page has G, divided as rows are; in strong mode not a value of it."""
    curator, stream, _ = started("pattern")
    page = public_page(curator, stream)
    drawn = data_of(page)["profile"]
    assert drawn == [[pytest.approx(float(value), rel=1e-6) for value in stream.noisy_profile["all"]]]
    assert "The noisy profile" in text_of(page)
    for level in ("slotwise", "basis"):
        curator, stream, _ = started(level)
        page = public_page(curator, stream)
        assert data_of(page)["profile"] is None
        assert "noisy profile" not in text_of(page)
        numbers = np.array([float(number) for number in re.findall(r"\d{5,}(?:\.\d+)?", page)])
        for value in stream._record().groups[0].noisy_profile:
            assert not np.isclose(numbers, abs(float(value)), rtol=1e-7).any()


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


def test_what_other_plans_cost_the_same_households_is_said():
    """A page whose store has spent more than its own plan says what all plans cost together; others say nothing."""
    curator, stream, panel = started("pattern")
    words = "The store has had other plans too: all of them together cost the most charged household"
    assert words not in public_page(curator, stream)
    plan = dataclasses.replace(stream.plan, query=dn.Mean(), epsilon=Fraction(1, 2))
    curator.start(plan, history=panel.first(HISTORY), acknowledge=dn.check(panel).digest, accept_worse=True)
    assert f"{words} 1.5 for a shift of the usual day." in public_page(curator, stream)


@pytest.mark.parametrize("delta", ["0.000001", "0.001"])
def test_what_gaussian_plans_cost_together_is_said_at_the_delta_of_the_store(delta):
    """However large the store's delta, a second plan is told of; what is spent is said at that delta."""
    panel = secret_panel()
    fields = {
        "grid": GRID,
        "domain": (0, 2 * 10**6),
        "history": HISTORY,
        "epsilon": "1",
        "delta": "1e-6",
        "minimum_group": 1,
        **LEVELS["slotwise"],
        "mechanism": "gaussian",
        "cycle_mechanism": "gaussian",
    }
    curator = dn.Curator.in_memory(dn.Budget(pattern=9, cycle=9, delta=delta))
    read = dn.check(panel).digest

    def begun(query):
        plan = dn.Plan(query=query, **fields)
        return curator.start(plan, history=panel.first(HISTORY), acknowledge=read, accept_worse=True)

    stream = begun(dn.Sum())
    assert "other plans too" not in text_of(public_page(curator, stream))
    begun(dn.Mean())
    words = text_of(public_page(curator, stream))
    spent = curator.status().pattern[0]
    said = re.search(r"the most charged household ([\d.]+) for a shift of the usual day", words)[1]
    assert spent <= Fraction(said) < spent + Fraction(1, 10**6)
    assert f"for any one reported day (at delta {delta})." in words
    assert f"of 9 spent, {float(9 - Fraction(said)):.6f} left (at delta {delta})" in words
    assert re.search(
        rf"{said} of 9 spent by the most charged household, [a-z ]+\(at delta {delta}\)", str(curator.status())
    )
    # What the plan itself costs is at its own delta.
    assert "over 365 reported days (at delta 0.000001)" in words


def test_the_page_asks_for_nothing():
    """There is no address on the page but in uPlot's own line, and its policy allows no request."""
    page = public_page(*started("slotwise")[:2])
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) == {"https://github.com/leeoniya/uPlot"}
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    assert not re.search(r"<(img|iframe|link|object|embed|audio|video)\b(?![^>]*data:)", page)


def test_names_are_never_taken_for_markup():
    """A group whose name is a script is shown as the text it is."""
    panel = support.town(n=40, groups={"area": [HOSTILE, 'a "quote" & \u2028'] * 20})
    curator = dn.Curator.in_memory(support.ROOMY)
    plan = support.plan_for(panel, groups="area")
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    stream.report(panel.after(4))
    for page in (public_page(curator, stream), custodian_page(curator, stream, truth=panel)):
        assert "<script>alert" not in page
        assert "\u2028" not in re.search('id="data">(.*?)</script>', page, re.S)[1]
        assert HOSTILE in data_of(page)["series"]["names"]
        assert page.count("</script>") == page.count("<script")


def test_the_data_are_the_released_rows():
    """Values and deviations on the page are the released texts, steps left out stay out."""
    curator, stream, _ = started("slotwise")
    rows, series = stream.rows(), data_of(public_page(curator, stream))["series"]
    assert series["values"] == [" ".join(row.value for row in rows)]
    assert [step for first, last in series["runs"] for step in range(first, last + 1)] == [row.step for row in rows]
    assert all(series["std"][0][row.step % 4] == row.std for row in rows)


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


@pytest.mark.parametrize(("level", "words"), [("slotwise", "day"), ("share", "day")])
def test_odds_about_a_day_are_those_of_who_knows_everything_else(level, words):
    """Beside epsilon for a day stands whose odds these are, and that other days tell more of what lasts."""
    page = public_page(*started(level)[:2])
    said = f"for an observer who knows everything else, even odds about that {words} become at most 74 : 26. Where"
    assert f"{said} {words}s are related, as in an absence, other {words}s reveal more." in page


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


def test_something_private_stops_the_page(monkeypatch):
    """If a part of the content were private, there would be no page."""
    curator, stream, panel = started("pattern")
    monkeypatch.setattr(page_content, "_last_rows", lambda facts: panel)
    with pytest.raises(PrivateError):
        public_page(curator, stream)


def test_a_stream_of_another_store_is_refused():
    """A page has the ledger of the store that its stream is in."""
    with pytest.raises(StreamError):
        public_page(dn.Curator.in_memory(), started("pattern")[1])


def test_a_page_without_reports_says_so():
    """Before the first report there is a page with the promise and without a chart."""
    panel = secret_panel()
    curator = dn.Curator.in_memory(support.ROOMY)
    plan = dn.Plan(grid=GRID, domain=(0, 2 * 10**6), history=6, epsilon="1", minimum_group=1, **LEVELS["slotwise"])
    stream = curator.start(plan, history=panel.first(6), acknowledge="untested", accept_worse=True)
    for page in (public_page(curator, stream), custodian_page(curator, stream, truth=panel)):
        assert "Nothing has been reported yet" in text_of(page)


def test_predictions_stand_beside_doing_without():
    """The plan's mechanism is marked, and nothing at all, eps_z = 0 and the split budget are there."""
    words = text_of(public_page(*started("pattern")[:2]))
    for said in ("laplace this plan", "nothing at all for comparison", "eps_z = 0 for comparison", "split Laplace"):
        assert said in words
    assert "eps_z = 0 for comparison" not in text_of(public_page(*started("slotwise")[:2]))


@pytest.mark.parametrize("values", [[1.0], [0.0], [3, 3000], [1e-9, 1e30], [float("inf"), 2], []])
def test_a_log_scale_holds_what_it_is_made_for(values):
    """Every value lies between the ends, in order."""
    scale = LogScale(values)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert scale.ticks("Wh").count("<b") <= 7


LEARNED = {"mean": {}, "base load": {"statistic": "base-load"}, "few readings": {"min_readings": 3}}


@pytest.mark.parametrize("name", LEARNED)
def test_what_a_stream_has_learned_from_is_no_open_data(tmp_path, name):
    """The readings that profiles were made of are known again as such, by whatever rule they were made."""
    panel = support.town()
    present = np.ones_like(panel.readings, dtype=bool)
    present[[0, 4], :] = False
    panel = dn.Panel.from_array(panel.readings, present=present, grid=panel.grid)
    plan = support.plan_for(panel, **LEARNED[name])
    curator = dn.Curator.in_memory(support.ROOMY)
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    with refuses(InputError, "open-data-learned-from"):
        export(curator, stream, tmp_path / "page.html", open_data=panel)


@pytest.mark.parametrize("ending", ["html", "csv"])
def test_what_is_exported_is_read_once(tmp_path, monkeypatch, ending):
    """Rows are read once, where they are written: what is said of their number is of the same moment."""
    curator, stream, _ = started("slotwise")
    looks, rows = [], dn.Stream.rows

    def counted(stream, *given, **more):
        looks.append(given)
        return rows(stream, *given, **more)

    monkeypatch.setattr(dn.Stream, "rows", counted)
    assert export(curator, stream, tmp_path / f"reports.{ending}") == len(rows(stream))
    assert len(looks) == 1


def test_importing_diurnal_does_not_import_the_page():
    """The page is imported when it is asked for."""
    script = "import sys, diurnal; print([m for m in sys.modules if 'show.page' in m])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


# In a real browser.


@pytest.fixture(scope="module")
def town():
    """A curator, a strong stream by suburb, the panel and its verdict; the clocks change while it reports."""
    panel = Town(homes=150, days=110).panel()
    plan = dn.Plan(
        groups="suburb",
        epsilon="1",
        domain=(0, 8000),
        history=70,
        grid=panel.grid,
        mechanism="basis",
        cycle_mechanism="basis",
    )
    curator, verdict = dn.Curator.in_memory(), dn.check(panel)
    stream = curator.start(plan, history=panel.first(70), acknowledge=verdict.digest, accept_worse=True)
    stream.report(panel.after(70))
    return curator, stream, panel, verdict


@pytest.fixture(scope="module")
def chromium():
    """A browser without a network."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


class Opened:
    """A page in a browser, with all that went wrong."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(offline=True, accept_downloads=True, **options)
        self.page, self.problems, self.asked = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#series canvas, .empty")
        self.page.wait_for_timeout(300)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def range(self) -> float:
        """How many seconds the chart shows."""
        return self.page.evaluate("diurnal.state.to - diurnal.state.from")

    def inked(self, selector: str) -> int:
        """How many pixels of a canvas are drawn."""
        script = """e => { const d = e.getContext('2d').getImageData(0, 0, e.width, e.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }"""
        return self.page.eval_on_selector(selector, script)


@pytest.fixture(scope="module")
def public_file(town, tmp_path_factory):
    """The public page as a file."""
    path = tmp_path_factory.mktemp("page") / "public.html"
    path.write_text(public_page(*town[:2]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def custodian_file(town, tmp_path_factory):
    """The custodian's page as a file."""
    path = tmp_path_factory.mktemp("page") / "custodian.html"
    path.write_text(custodian_page(*town[:2], truth=town[2], verdict=town[3]), encoding="utf-8")
    return path


def test_the_page_opens_offline_and_draws(chromium, public_file):
    """From a file, without a network, nothing goes wrong, nothing else is asked for, and the charts are drawn."""
    with Opened(chromium, public_file) as opened:
        assert opened.problems == []
        assert opened.asked == [public_file.as_uri()]
        assert opened.inked("#series canvas") > 5000
        assert opened.inked("#overview canvas") > 500


def test_the_series_is_zoomed_by_button_key_and_mouse(chromium, public_file):
    """Range buttons, keys and dragging change what is shown; Reset and a double click show all again."""
    with Opened(chromium, public_file) as opened:
        page, day = opened.page, 86400
        assert opened.range() == 7 * day
        page.click("[data-range='1']")
        assert opened.range() == day
        assert page.get_attribute("[data-range='1']", "aria-pressed") == "true"
        page.click("[data-move='reset']")
        whole = opened.range()
        assert whole == 40 * day
        page.focus("#series")
        page.keyboard.press("+")
        assert opened.range() == whole / 2
        before = page.evaluate("diurnal.state.from")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("diurnal.state.from") < before
        page.keyboard.press("0")
        assert opened.range() == whole
        page.locator("#series").scroll_into_view_if_needed()
        box = page.locator("#series .u-over").bounding_box()
        page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=4)
        page.mouse.up()
        assert opened.range() == pytest.approx(whole / 4, rel=0.02)
        page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 60)
        assert opened.range() == whole
        assert opened.problems == []


def test_what_is_shown_is_said(chromium, public_file, town):
    """The chart has words beside it: which series, from when to when, and how large."""
    with Opened(chromium, public_file) as opened:
        opened.page.select_option("#choose", label="Mill")
        opened.page.wait_for_timeout(300)
        said = opened.page.inner_text("#shown")
        assert said.startswith("Mill: 336 reports from ")
        values = [float(row.value) for row in town[1].rows() if row.group == "Mill"][-336:]
        assert f"mean {short(float(np.mean(values)))}," in said


def test_the_download_is_the_release(chromium, public_file, town):
    """The CSV has every row, word for word as it was released."""
    with Opened(chromium, public_file) as opened:
        with opened.page.expect_download() as coming:
            opened.page.click("#download")
        with open(coming.value.path(), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert rows == [{name: str(value) for name, value in row.to_json().items()} for row in town[1].rows()]
        assert len({row["time"][-6:] for row in rows}) == 2
        assert opened.problems == []


@pytest.mark.parametrize("which", ["public_file", "custodian_file"])
def test_a_phone_shows_the_page_without_scrolling_sideways(chromium, which, request):
    """At 390 pixels nothing sticks out, on either page."""
    with Opened(chromium, request.getfixturevalue(which), viewport={"width": 390, "height": 800}) as opened:
        for each in opened.page.query_selector_all("summary"):
            each.click()
        assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= 390
        assert opened.problems == []


def test_the_dark_page_is_dark(chromium, public_file):
    """The scheme that the reader prefers decides, and charts follow when it changes."""
    with Opened(chromium, public_file, color_scheme="light") as opened:
        paper = "getComputedStyle(document.body).backgroundColor"
        pixels = "document.querySelector('#series canvas').toDataURL()"
        light = opened.page.evaluate(paper), opened.page.evaluate(pixels)
        opened.page.emulate_media(color_scheme="dark")
        opened.page.wait_for_timeout(300)
        dark = opened.page.evaluate(paper), opened.page.evaluate(pixels)
        assert light[0] != dark[0]
        assert light[1] != dark[1]
        assert opened.range() == 7 * 86400
        assert opened.problems == []


def test_without_scripts_the_last_day_is_there(chromium, public_file, town):
    """A reader without JavaScript has the last day's rows as a table."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(public_file.as_uri())
    last = town[1].rows()[-1]
    assert page.locator("noscript p").is_visible()
    page.get_by_text("The last day as a table").click()
    assert page.locator("details[open] tbody tr").count() == 5 * 48
    assert page.get_by_role("cell", name=last.value, exact=True).first.is_visible()
    context.close()


def test_the_custodians_charts_are_drawn(chromium, custodian_file):
    """Heatmap, histogram and lags are drawn, quickly, and the banner is in sight wherever one looks."""
    with Opened(chromium, custodian_file) as opened:
        assert opened.problems == []
        for chart in ("#heat", "#sizes", "#lags"):
            assert opened.inked(f"{chart} canvas") > 500, chart
        opened.page.evaluate("scrollTo(0, 3000)")
        assert opened.page.get_by_role("alert").bounding_box()["y"] == 0


def test_a_year_of_half_hours_is_a_small_page(silence):
    """A year of half hours of one group is below one and a half million bytes."""
    readings = np.random.default_rng(1).integers(0, 3000, size=(375 * 48, 16))
    panel = dn.Panel.from_array(readings)
    plan = dn.Plan(epsilon="1", domain=(0, 8000), history=10, level="pattern", mechanism="laplace")
    curator = dn.Curator.in_memory()
    stream = curator.start(plan, history=panel.first(10), acknowledge="untested", accept_worse=True)
    stream.report(panel.after(10))
    page = public_page(curator, stream)
    assert len(data_of(page)["series"]["values"][0].split()) == 365 * 48
    assert len(page.encode()) < 500_000
    assert Fraction(data_of(page)["series"]["values"][0].split()[0]) == Fraction(stream.rows()[0].value)
