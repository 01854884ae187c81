"""What goes on the page: released rows and public facts, and nothing private."""

import dataclasses
import itertools
import re
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import PrivateError, StreamError
from diurnal.promise import noise
from diurnal.show.page import content as page_content
from diurnal.show.page import custodian_page, public_page
from pages import CYCLES, GRID, HISTORY, LEVELS, SECRET, data_of, secret_panel, secrets_of, seen, started, text_of

# One worker runs all tests of pages.
pytestmark = pytest.mark.xdist_group("page")


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


def test_the_data_are_the_released_rows():
    """Values and deviations on the page are the released texts, steps left out stay out."""
    curator, stream, _ = started("slotwise")
    rows, series = stream.rows(), data_of(public_page(curator, stream))["series"]
    assert series["values"] == [" ".join(row.value for row in rows)]
    assert [step for first, last in series["runs"] for step in range(first, last + 1)] == [row.step for row in rows]
    assert all(series["std"][0][row.step % 4] == row.std for row in rows)


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
