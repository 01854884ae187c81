"""The head-end of `make soak`, for a day or two; and an oracle that sees what is wrong."""

from datetime import timedelta

import pytest
from benchmarks import headend
from benchmarks.fleet import desk
from benchmarks.fleet.faults import FAULTS, Fault
from benchmarks.fleet.simulation import simulate
from benchmarks.fleet.town import Town

import diurnal as dn
from diurnal.curator import closing, intake, taking
from diurnal.curator.store import Store
from diurnal.curator.taking import OpenState, Scores

EVERY = timedelta(hours=6)
SLOTWISE = ("half hours",)


def simulated(*names, days=0.5, rate=1.0, **more):
    """Half of the day on which clocks go forward, or more; something is wrong with a tenth of 40 homes."""
    town = Town(homes=40, days=days, start="2022-03-27", faulty=0.1, rate=rate)
    options = {"grace": 2, "plans": SLOTWISE, "every": EVERY, "folder": headend.quick_disk()}
    return simulate(names, town=town, **{**options, **more})


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_comes_to_what_the_oracle_says(name):
    """Of a morning with a fault every answer, row, counter and held step is as the rules say."""
    found = simulated(name)
    assert found.rows >= 46
    assert found.latest["half hours"] <= 48 + 6 + 0.5 or name == "a past filled in"


def test_all_faults_at_once_come_to_what_the_oracle_says():
    """So it is with all of them over a clock change, in a stream of half hours and in one of whole days."""
    found = simulated(*headend.ALL, days=1.5, plans=tuple(desk.PLANS))
    assert found.counted["late"] > 0
    assert found.refused > 0


def test_it_is_the_same_on_postgresql():
    """A fleet with lost and doubled batches comes to the same on either database."""
    one, two = (simulated("batches lost", "batches doubled", kind=kind) for kind in ("SQLite", "PostgreSQL"))
    one.kind = two.kind
    assert one == two


def closed_by_a_stray_clock(patch):
    patch.setattr(closing, "FEW", 1000)


def deadline_too_late(patch):
    patch.setattr(closing, "waits", lambda record: timedelta(days=3))


def row_left_out(patch):
    rows = dn.Stream.rows
    patch.setattr(dn.Stream, "rows", lambda *given: [row for row in rows(*given) if row.step != 110])


def row_changed(patch):
    patch.setitem(desk.SILENT, "laplace", lambda size, scale: [1] * size)


def last_reading_counts(patch):
    merged = taking._with_more

    def last(held, readings, present, counts):
        found = merged(held, readings, present, counts)
        found.readings[present] = readings[present]
        return found

    patch.setattr(taking, "_with_more", last)


def nothing_counted(patch):
    count = Store.count
    dropped = "ahead_of_clock", "late"

    def some(self, plan, counts):
        count(self, plan, {what: number for what, number in counts.items() if what not in dropped})

    patch.setattr(Store, "count", some)


def batch_taken_twice(patch):
    patch.setattr(intake, "_has_taken", lambda *given: False)
    patch.setattr(Store, "take", lambda *given: None)
    patch.setattr(dn.Stream, "remember", lambda *given: None)


def digests_kept(patch):
    patch.setattr(OpenState, "forget_over", lambda *given: None)


PLANTED = {
    closed_by_a_stray_clock: ["clocks hours ahead"],
    deadline_too_late: ["clocks hours back"],
    row_left_out: ["nothing"],
    row_changed: ["nothing"],
    last_reading_counts: ["clocks minutes off", "readings corrected"],
    nothing_counted: ["batches doubled"],
    batch_taken_twice: ["batches doubled"],
    digests_kept: ["clocks minutes off"],
}


@pytest.mark.parametrize("defect", PLANTED, ids=lambda defect: defect.__name__)
def test_the_oracle_sees_a_planted_defect(defect, monkeypatch):
    """A product that closes, keeps, counts or says something else than the rules do fails the run."""
    defect(monkeypatch)
    with pytest.raises(AssertionError):
        simulated(*PLANTED[defect], grace=4, rate=4)


def test_batches_in_kwh_are_refused_as_the_oracle_says(monkeypatch):
    """Of batches that are a thousand times too small the second is refused; who takes it fails the run."""
    assert simulated("units that change", days=1.3).refused == 1
    monkeypatch.setattr(Scores, "_refusal", lambda *given: None)
    with pytest.raises(AssertionError, match="in kWh"):
        simulated("units that change", days=1.3)


def test_a_fault_is_a_class_and_a_line(monkeypatch):
    """A new fault is known by its name alone, on its own and after others."""

    class Twice(Fault):
        """Everything is sent twice."""

        def sent(self, batch):
            return [batch, batch]

    monkeypatch.setitem(FAULTS, "twice", Twice)
    assert simulated("strangers", "twice").again > 20


def test_the_page_tells_of_every_run(tmp_path, monkeypatch):
    """The page has a column for each database, a row for each fault, and says what each fault is."""
    monkeypatch.setattr(headend, "PAGE", tmp_path / "headend.md")
    found = [(simulated("nothing"), 60.0)]
    jobs = [*headend.years(homes=40, days=1), *headend.singles(homes=40, days=1, graces=(2,))]
    headend.write(found, found, jobs)
    page = (tmp_path / "headend.md").read_text()
    assert "| nothing | 2 | 22 | 0 | 880 | 46 |" in page
    assert all(f"- **{name}**: " in page for name in FAULTS)
