"""From rows to a panel: which span, grid and unit it has, and what is refused."""

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings import quality
from halfhours import START, frame, half_hours, make
from support import refuses


@given(micro=st.integers(-(10**12) + 1, 10**12 - 1), as_text=st.booleans())
def test_nine_decimals_of_a_kwh_are_exact(micro, as_text):
    """A decimal of a kWh with nine places is taken exactly, from text and from the nearest float."""
    from diurnal.readings.formats import micro_values

    text = f"{'-' if micro < 0 else ''}{abs(micro) // 10**9}.{abs(micro) % 10**9:09d}"
    column = pa.array([text]) if as_text else pa.array([float(text)])
    values, wrong = micro_values(column, "kWh")
    assert wrong is None
    assert values[0] == micro


def test_the_first_complete_day():
    """Step 0 is the first midnight after the first row; rows before it are counted."""
    panel = make(half_hours(100, start=START + timedelta(hours=22)))
    assert panel.grid.anchor == "2012-07-02T00:00"
    assert panel.quality.set_aside == {quality.EARLY: 4}


def test_a_span_that_is_asked_for():
    """With anchor and until, steps without rows are gaps and rows outside are counted."""
    panel = make(half_hours(10), anchor="2012-06-30T00:00", until="2012-07-01T04:00")
    assert panel.n_steps == 56
    assert panel.quality.set_aside == {quality.AFTER: 2}
    assert panel.quality.gaps == 48


def test_groups_from_columns():
    """Groups may be columns of the rows; a household with two of them is an error that names the row."""
    table = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill", "Hill", "Lake", "Lake"])
    panel = dn.panel(dn.read(table, minutes=30, groups=["suburb"]), zone="UTC")
    assert panel.groups == {"suburb": ("Hill", "Lake")}
    table = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill", "Hill", "Lake", "Hill"])
    with pytest.raises(ReadingsError, match="the frame, row 4: column suburb: Expected one group"):
        dn.panel(dn.read(table, minutes=30, groups=["suburb"]), zone="UTC")


@pytest.mark.parametrize("homes", [1, 3])
def test_readings_of_another_unit_are_refused(homes, tmp_path):
    """If a hundred rows and most of all lie above the domain, nothing is made: the unit is another, surely."""
    wrong = [row for home in range(homes) for row in half_hours(150, 400.0, str(home))]
    right = half_hours(100, 0.4, "right")
    with pytest.raises(ReadingsError, match=f"{150 * homes} rows are above .* and only 100 are not") as error:
        make(wrong + right, out=tmp_path / "homes.parquet")
    assert "read as kWh" in error.value.hint
    assert not list(tmp_path.iterdir())
    assert make(half_hours(99, 400.0) + right).quality.set_aside == {quality.OUTSIDE_DOMAIN: 99}
    assert make(half_hours(100, 400.0) + right).quality.set_aside == {quality.OUTSIDE_DOMAIN: 100}
    assert make(half_hours(150, -0.4) + right).quality.set_aside == {quality.OUTSIDE_DOMAIN: 150}


def test_one_wrong_date_does_not_make_a_panel_of_decades():
    """A single date forty years off is refused, because the rows would fill almost nothing."""
    rows = [*(row for home in "abcdefgh" for row in half_hours(48, home=home)), ("a", datetime(1972, 1, 1), 0.1)]
    with pytest.raises(ReadingsError, match="less than 1 in 100"):
        make(rows)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"interval": "7min"}, "divides a day"),
        ({"interval": "fortnight"}, "as a length"),
        ({"interval": "15min"}, "Rows of 30 minutes cannot be split"),
        ({"period": "45min"}, "whole intervals"),
        ({"unit": "J"}, "'Wh' or 'kWh'"),
        ({"zone": "Mars/Olympus"}, "Expected an IANA time zone"),
        ({"anchor": "noon"}, "anchor as a local time"),
        ({"anchor": "0001-01-01T00:00"}, "from 1900 to 2199"),
        ({"until": "2012-07-01T00:10"}, "whole steps"),
        ({"domain": (5, 1)}, "low at most high"),
        ({"domain": 7}, "smallest and the largest"),
        ({"fold": "add"}, "calendar, first, mean"),
        ({"on_duplicate": "sum"}, "refuse, first, last"),
        ({"out": "/"}, "cannot be written"),
        ({"domain": (900, 1000)}, "All readings were set aside"),
    ],
)
def test_mistakes_in_options(options, match):
    """An option that makes no sense is an error that says what would."""
    with pytest.raises(ReadingsError, match=match):
        make(half_hours(48), **options)


def test_a_clock_must_be_said():
    """Times without a zone are refused until the user says by which clock the homes live."""
    with refuses(ReadingsError, "zone-missing"):
        dn.panel(dn.read(frame(half_hours(48)), minutes=30))


def test_the_length_of_rows_does_not_depend_on_their_order():
    """With hourly rows first and half-hourly ones after, the half hours add up whole, whatever comes first."""
    hourly = half_hours(24, 1.0, "A", minutes=60)
    halves = half_hours(48, 0.5, "B")
    for rows in ([hourly, halves], [halves, hourly]):
        table = pa.concat_tables([frame(part) for part in rows])
        panel = dn.panel(dn.read(table), zone="UTC", interval="1h")
        assert panel.readings[:, 1].tolist() == [1000] * 24
        assert not panel.present[:, 0].any()
        assert panel.quality.set_aside == {quality.INCOMPLETE: 24}


def test_the_calendar_covers_the_whole_span():
    """Clock changes after the last row, but before the end that is asked for, are on the calendar."""
    panel = make(half_hours(48, start=datetime(2012, 10, 1)), zone="Australia/Sydney", until="2012-10-10T00:00")
    assert panel.calendar == {6 * 48 + 4, 6 * 48 + 5}


def test_groups_of_columns_follow_the_meters():
    """Groups that the source says by meter hold for the household that a list gives the meter to."""
    rows = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill"] * 4)
    panel = dn.panel(dn.read(rows, minutes=30, groups=["suburb"]), zone="UTC", meters={"a": "H", "b": "H"})
    assert panel.groups == {"suburb": ("Hill",)}
    rows = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill", "Hill", "Lake", "Lake"])
    with refuses(ReadingsError, "groups-across-meters"):
        dn.panel(dn.read(rows, minutes=30, groups=["suburb"]), zone="UTC", meters={"a": "H", "b": "H"})


def test_rows_of_odd_seconds_say_no_length():
    """Times that are 45 seconds apart do not say how many minutes a row lasts."""
    rows = [("a", START + timedelta(seconds=45 * i), 0.1) for i in range(9)]
    with refuses(ReadingsError, "row-length-unknown"):
        dn.panel(dn.read(frame(rows)), zone="UTC")


def test_the_right_rows_are_named_in_a_later_bucket(monkeypatch):
    """A refused duplicate is named by its own rows when its household is not in the first bucket."""
    from diurnal.readings import importing

    monkeypatch.setattr(importing, "BUCKET", 100)
    homes = [f"h{i:02d}" for i in range(30)]
    rows = [row for home in homes for row in half_hours(48, home=home)]
    rows.append(("h23", START + timedelta(minutes=30), 0.9))
    with pytest.raises(ReadingsError, match=f"row {23 * 48 + 2} and the frame, row {len(rows)}: Two values"):
        make(rows)


def test_a_reader_of_one_s_own_that_fails_shows_nothing():
    """What goes wrong in somebody's own reader is named by its kind; what it could not read stays hidden."""

    class Broken(dn.Format):
        name = "broken"

        def read(self, part):
            yield dn.Rows(meter="a", time=[str(START)], value=[float("0,7654321")], line=1)

    with pytest.raises(ReadingsError, match=r"reader of the format broken failed \(ValueError\)") as error:
        dn.panel(dn.read(frame(half_hours(1)), format=Broken(minutes=30)), zone="UTC")
    assert error.value.__context__ is None


def test_net_needs_a_domain(tmp_path):
    """Net readings are refused until a domain says what they may be."""
    dn.write(make(half_hours(48)), tmp_path / "year.csv", format="ausgrid")
    with refuses(ReadingsError, "panel-net-domain"):
        dn.panel(dn.read(tmp_path / "year.csv", channel="net"))


def test_nothing_private_is_in_a_repr():
    """What holds readings or names on the way of an import shows none of them in its repr."""
    from diurnal.readings.resampling import Roster
    from diurnal.readings.row_buffer import RowBuffer
    from diurnal.readings.side_tables import meter_list
    from diurnal.readings.source import Table

    rows = half_hours(48, 0.7654321, "secret-home")
    homes = dn.read(frame(rows), minutes=30)
    panel = dn.panel(homes, zone="UTC", unit="Wh")
    buffer = RowBuffer(None, homes.format)
    with buffer.spill:
        for batch in homes.format.read(homes.parts[0]):
            buffer.add(homes.parts[0], batch)
            shown = [batch, buffer]
        shown += [
            panel,
            panel.data,
            panel.quality,
            next(panel.blocks()),
            homes,
            homes.parts[0],
            Table(frame(rows), 1),
        ]
        shown += [Roster.of(buffer.meters), meter_list({"secret-home": "secret-home"})]
    for each in shown:
        for text in (repr(each), str(each)):
            assert "secret-home" not in text, type(each)
            assert "765" not in text, type(each)
