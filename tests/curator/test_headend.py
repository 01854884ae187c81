"""What the simulated head-end (benchmarks/headend.py) has found, each as small as it gets."""

from contextlib import suppress
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

import diurnal as dn
import support
from diurnal.curator import intake
from diurnal.curator.intake import Sent
from diurnal.errors import ReadingsError
from diurnal.readings.grid import Clock

HOMES = tuple(f"h{number:02}" for number in range(20))


class Feed:
    """Twenty homes in Berlin, a stream of half hours, and a head-end that sends a batch at a time."""

    def __init__(self, start, **plan):
        self.grid = dn.Grid(zone="Europe/Berlin", anchor=start)
        history = dn.Panel.from_array(np.full((96, 20), 50), households=HOMES, grid=self.grid)
        self.now = datetime.fromisoformat(self.grid.time(96))
        self.curator = dn.Curator.in_memory(support.ROOMY, clock=lambda: self.now)
        plan = support.plan_for(history, history=2, **{**support.SLOTWISE, **plan})
        self.stream = self.curator.start(plan, history=history, acknowledge="untested", accept_worse=True)

    def send(self, times, homes=HOMES, values=None):
        """Send a reading of each home at each time of the world."""
        rows = [(home, time) for time in times for home in homes]
        columns = {
            "household": pa.array([home for home, _ in rows]),
            "time": pa.array([time for _, time in rows], pa.timestamp("s", "UTC")),
            "wh": pa.array([50] * len(rows) if values is None else values),
        }
        return self.send_table(pa.table(columns))

    def send_table(self, table):
        steps = self.stream.takes()
        rows = dn.read(table, format="long", minutes=30)
        panel = dn.panel(rows, like=self.grid, steps=steps, domain=(0, 100), on_duplicate="first")
        sent = Sent(sender="head-end", key=None, content="")
        return intake.take(self.curator, sent, panel)

    def live(self, hours):
        """Send every half hour when it has ended, and let all deadlines pass."""
        for _ in range(2 * hours):
            begin, self.now = self.now, self.now + timedelta(minutes=30)
            # On the calendar alone it is refused.
            with suppress(ReadingsError):
                self.send([begin])
        self.now += timedelta(days=4)
        self.stream.close_overdue()
        return {row.time[:16] for row in self.stream.rows()}


@pytest.mark.parametrize("change", ["2022-03-27", "2022-10-30"])
def test_a_clock_change_has_no_rows_however_batches_are_cut(change):
    """Where a head-end sends every half hour by itself no batch spans the change, so that none puts it on the
    calendar: no deadline reports its steps all the same. Their totals are known to everybody.
    """
    start = datetime.fromisoformat(change) - timedelta(days=2)
    rows = Feed(start.isoformat()).live(12)
    assert not rows.intersection({f"{change}T02:00", f"{change}T02:30"})


def test_the_custodian_is_told_what_an_import_set_aside():
    """Rows of a batch that are ahead of the clock, or off the grid, are counted for the custodian."""
    feed = Feed("2022-05-01T00:00")
    begin, feed.now = feed.now, feed.now + timedelta(minutes=30)
    table = {
        "household": pa.array([*HOMES, "h00", "h01"]),
        "time": pa.array(
            [*([begin] * 20), begin + timedelta(days=9), begin - timedelta(minutes=7)], pa.timestamp("s", "UTC")
        ),
        "wh": pa.array([50] * 22),
    }
    feed.send_table(pa.table(table))
    assert sum(feed.stream.quality().values()) == 2


@pytest.mark.parametrize("year", [1899, 2200, 2255])
def test_a_clock_in_another_century_does_not_stop_the_others(year):
    """One row that is dated before 1900 or after 2199 is set aside, and the others are taken."""
    feed = Feed("2022-05-01T00:00")
    begin, feed.now = feed.now, feed.now + timedelta(minutes=30)
    times = pa.array([*([begin] * 19), begin.replace(year=year)], pa.timestamp("s", "UTC"))
    table = pa.table({"household": pa.array(HOMES), "time": times, "wh": pa.array([50] * 20)})
    assert feed.send_table(table)[0].taken == 19


def test_a_meter_that_contradicts_itself_does_not_stop_the_others():
    """Two values of one meter and time, as after a clock that was set back, do not refuse what all others sent."""
    feed = Feed("2022-05-01T00:00")
    begin, feed.now = feed.now, feed.now + timedelta(minutes=30)
    assert feed.send([begin], homes=[*HOMES, "h00"], values=[50] * 20 + [51])[0].taken >= 19


def test_names_that_no_row_uses_are_no_households():
    """A frame that was filtered has names of other homes in its dictionary: these are not in the panel, and a batch
    of strangers is refused.
    """
    names = pa.DictionaryArray.from_arrays(pa.array([2] * 48, pa.int32()), pa.array(["a", "b", "c"]))
    times = np.datetime64("2022-05-01T00:00:00") + np.arange(48) * np.timedelta64(30, "m")
    table = pa.table({"household": names, "time": pa.array(times), "wh": pa.array([5] * 48)})
    assert dn.panel(dn.read(table, format="long", minutes=30), zone="UTC").households == ("c",)


def test_a_row_of_1970_has_no_half_century_looked_up(monkeypatch):
    """Clock changes are looked up near the steps that a stream takes, however far off a row is dated."""
    spans, of = [], Clock.of
    monkeypatch.setattr(Clock, "of", lambda zone, first, last: spans.append(last - first) or of(zone, first, last))
    feed = Feed("2022-05-01T00:00")
    begin, feed.now = feed.now, feed.now + timedelta(minutes=30)
    times = [*([begin] * 18), begin.replace(year=1970), begin.replace(year=2170)]
    table = {
        "household": pa.array(HOMES),
        "time": pa.array(times, pa.timestamp("s", "UTC")),
        "wh": pa.array([50] * 20),
    }
    assert feed.send_table(pa.table(table))[0].taken == 18
    assert max(spans) < timedelta(days=9).total_seconds()
