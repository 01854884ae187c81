import gzip
import random

import numpy as np
import pytest

import support
from diurnal import Grid, Panel
from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.formats import Aside
from diurnal.readings.formats.nem12 import Nem12
from diurnal.readings.source import Frame, TextFile
from support import refuses

HEADER = "100,NEM12,201207020000,MDP,RETAILER"
HALF_HOURS = [f"0.{i:03d}" for i in range(1, 49)]
JULY_FIRST = 15522 * 86400


def stream(nmi="4103000001", suffix="E1", unit="kWh", length="30"):
    return f"200,{nmi},E1B1,,{suffix},N1,METER1,{unit},{length},"


def day(values=HALF_HOURS, date="20120701", flag="A"):
    return ",".join(["300", date, *values, flag, "", "", "20120702000000", ""])


def file(tmp_path, *records, header=HEADER, end="900"):
    path = tmp_path / "meters.csv"
    path.write_text(
        "".join(f"{record}\r\n" for record in (header, *records, end) if record is not None), newline=""
    )
    return TextFile(path)


def read(part, **options):
    return list(Nem12(**options).read(part))


def staged(part, **options):
    return support.staged(Nem12(**options), part)


def refusal(part, **options):
    return support.refusal(Nem12(**options), part)


def test_a_day_begins_at_market_midnight(tmp_path):
    """Intervals begin at midnight of their date, by the wall clock of UTC+10, with the line of their record."""
    (rows,) = read(file(tmp_path, stream(), day()))
    assert rows.time.tolist() == [JULY_FIRST + 1800 * i for i in range(48)]
    assert not rows.instants
    assert Nem12().zone == "Australia/Brisbane"
    assert rows.value.to_pylist() == HALF_HOURS
    assert set(rows.household.to_pylist()) == {"4103000001"}
    assert set(rows.meter.to_pylist()) == {"4103000001/E1"}
    assert set(rows.minutes) == {30}
    assert set(rows.line) == {3}


def test_streams_may_have_their_own_lengths(tmp_path):
    """A file may mix intervals of 5, 15 and 30 minutes, and each row says how long it is."""
    (rows,) = read(
        file(
            tmp_path,
            stream(length="5"),
            day(["1"] * 288),
            stream("4103000002", length="15"),
            day(["1"] * 96),
            stream("4103000003"),
            day(),
        )
    )
    assert {int(m): int((rows.minutes == m).sum()) for m in np.unique(rows.minutes)} == {5: 288, 15: 96, 30: 48}
    assert rows.time.tolist()[:2] == [JULY_FIRST, JULY_FIRST + 300]


@pytest.mark.parametrize(
    ("unit", "text", "unit_of_rows", "micro"),
    [
        ("kWh", "0.123", "kWh", 123_000_000),
        ("KWH", "0.123", "kWh", 123_000_000),
        ("Wh", "123.000001", "kWh", 123_000_001),
        ("wh", "123", "Wh", 123_000_000),
        ("MWh", ".000123", "kWh", 123_000_000),
        ("kWh", "0.123", "Wh", 123_000_000),
    ],
)
def test_units_are_converted_exactly(tmp_path, unit, text, unit_of_rows, micro):
    """Wh, kWh and MWh give the same energy to a millionth of a Wh, whatever the case of their letters."""
    found, _ = staged(file(tmp_path, stream(unit=unit), day([text, *HALF_HOURS[1:]])), unit=unit_of_rows)
    assert found["4103000001", "4103000001/E1"][JULY_FIRST] == micro


@pytest.mark.parametrize(
    ("channel", "signs", "aside"),
    [
        ("consumption", {"E1": 1, "E2": 1}, 96),
        ("generation", {"B1": 1}, 144),
        ("net", {"E1": 1, "E2": 1, "B1": -1}, 48),
    ],
)
def test_a_channel_takes_its_streams(tmp_path, channel, signs, aside):
    """Consumption is E, generation is B, net is both with B negative; whatever else there is, is counted."""
    records = [record for suffix in ("E1", "B1", "E2", "Q1") for record in (stream(suffix=suffix), day())]
    found, asides = staged(file(tmp_path, *records), channel=channel)
    first = {meter.split("/")[1]: rows[JULY_FIRST] for (_, meter), rows in found.items()}
    assert first == {suffix: sign * 1_000_000 for suffix, sign in signs.items()}
    assert asides == {"another_channel": aside}


def test_reactive_energy_is_another_channel(tmp_path):
    """A stream in kVArh is set aside, with the line of its first day."""
    assert read(file(tmp_path, stream(unit="kVArh"), day(), day(date="20120702"))) == [
        Aside(reason="another_channel", rows=96, line=3)
    ]


def test_qualities_that_are_not_taken_are_counted(tmp_path):
    """With qualities="A" estimated and substituted days are set aside by flag; without, they are taken."""
    part = file(tmp_path, stream(), day(), day(date="20120702", flag="E52"), day(date="20120703", flag="S14"))
    found, asides = staged(part, qualities="A")
    assert asides == {"quality_flag_E": 48, "quality_flag_S": 48}
    assert sum(map(len, found.values())) == 48
    assert staged(part)[1] == {}


def test_no_data_is_a_gap(tmp_path):
    """A day of flag N keeps its rows, without values."""
    (rows,) = read(file(tmp_path, stream(), day(["0"] * 48, flag="N")))
    assert rows.value.to_pylist() == [None] * 48


def test_a_blank_value_is_a_gap(tmp_path):
    """A blank among the values of a day is a gap, in a scaled unit too."""
    for unit in ("kWh", "Wh"):
        found, _ = staged(file(tmp_path, stream(unit=unit), day(["", " ", *HALF_HOURS[2:]])))
        (rows,) = found.values()
        assert [rows[JULY_FIRST], rows[JULY_FIRST + 1800]] == [None, None]
        assert rows[JULY_FIRST + 3600] is not None


def test_events_say_the_quality_of_ranges(tmp_path):
    """On a day of flag V the 400 records say which intervals are gaps, taken or set aside."""
    events = ["400,1,10,A,,", "400,11,20,N,,", "400,21,48,S14,32,"]
    found, asides = staged(file(tmp_path, stream(), day(flag="V"), *events, "500,O,S1,,"), qualities="A")
    (rows,) = found.values()
    assert [rows[JULY_FIRST + 1800 * i] is None for i in range(20)] == [False] * 10 + [True] * 10
    assert len(rows) == 20
    assert asides == {"quality_flag_S": 28}


def test_files_may_follow_one_another(tmp_path):
    """After 900 another 100 begins a file of its own."""
    part = file(tmp_path, stream(), day(), "900", HEADER, stream("4103000002"), day())
    assert {household for household, _ in staged(part)[0]} == {"4103000001", "4103000002"}
    assert "before a 300" not in refusal(file(tmp_path, stream(), day(), "900", day()))
    assert "before a 300" in refusal(file(tmp_path, stream(), day(), "900", HEADER, day()))


def test_padding_is_no_record(tmp_path):
    """Lines of commas, quotes and trailing fields, as spreadsheets leave them, change nothing."""
    plain, _ = staged(file(tmp_path, stream(), day()))
    padded = file(tmp_path, stream().replace("4103000001", '"4103000001"'), day() + ",,", ",,,", end="900,,,")
    assert staged(padded)[0] == plain


def test_many_days_come_in_several_batches(tmp_path, monkeypatch):
    """Rows are handed on in batches, each with the lines of its own records."""
    monkeypatch.setattr("diurnal.readings.formats.nem12.BATCH", 96)
    batches = read(file(tmp_path, stream(), *[day(date=f"201207{i:02d}") for i in range(1, 6)]))
    assert [len(rows.time) for rows in batches] == [96, 96, 48]
    assert [sorted(set(rows.line)) for rows in batches] == [[3, 4], [5, 6], [7]]


V_DAY = day(flag="V")


@pytest.mark.parametrize(
    ("records", "line", "says"),
    [
        ([day()], 2, "Expected a 200 record before a 300"),
        ([stream(), day(HALF_HOURS[:47])], 3, "IntervalValue: Expected 48 values before the flag, got 47"),
        ([stream(), day([*HALF_HOURS, "1"])], 3, "got 49"),
        ([stream(length="15"), day()], 3, "Expected 96 values before the flag, got 48"),
        ([stream(), "300,20120701,0.1"], 3, "got no flag"),
        ([stream(), day(flag="X")], 3, "got no flag"),
        ([stream(), day(date="20120231")], 3, "IntervalDate: Expected a date that exists"),
        ([stream(), day(date="1/07/2012")], 3, "IntervalDate"),
        ([stream(), day(), day(["0.1", "secret", *HALF_HOURS[2:]])], 4, "column value: Expected a number"),
        ([stream(unit="Wh"), day(), day(["0.1", "secret", *HALF_HOURS[2:]])], 4, "column value: Expected a number"),
        ([stream(length="7")], 2, "IntervalLength"),
        ([stream(length="0")], 2, "IntervalLength"),
        ([stream(length="7.5")], 2, "IntervalLength"),
        ([stream(length="")], 2, "IntervalLength"),
        ([stream(nmi=" ")], 2, "NMI: Expected a name"),
        ([stream(suffix="")], 2, "NMISuffix: Expected a name"),
        ([stream(unit="")], 2, "UOM: Expected a name"),
        ([stream(), "400,1,48,A,,"], 3, "Expected a 300 record before a 400"),
        ([stream(), V_DAY, "400,1,49,A,,"], 4, "EndInterval: Expected a range within 1 to 48"),
        ([stream(), V_DAY, "400,0,48,A,,"], 4, "StartInterval"),
        ([stream(), V_DAY, "400,9,8,A,,"], 4, "StartInterval"),
        ([stream(), V_DAY, "400,one,8,A,,"], 4, "StartInterval"),
        ([stream(), V_DAY, "400,1,48,V,,"], 4, "QualityMethod"),
        ([stream(), V_DAY, "400"], 4, "StartInterval"),
        ([stream(), V_DAY, "400,1,20,A,,", "400,22,48,A,,"], 3, "no 400 record covers interval 21"),
        ([stream(), V_DAY, day()], 3, "no 400 record covers interval 1"),
        ([stream(), "600,1"], 3, "RecordIndicator"),
        ([stream(), day(), "900", "junk"], 5, "Expected nothing after the 900 record"),
        ([stream(), HEADER], 3, "Expected a 900 record before another 100"),
    ],
)
def test_a_wrong_record_is_named_by_its_line(tmp_path, records, line, says):
    """Whatever is wrong with a record is said with its line and field, and shows no value."""
    message = refusal(file(tmp_path, *records))
    assert message.startswith(f"meters.csv, line {line}: ")
    assert says in message
    assert "secret" not in message
    assert "0.0" not in message


@pytest.mark.parametrize("header", [None, "100,NEM13,201207020000,MDP,RETAILER"])
def test_a_file_without_its_header_is_refused(tmp_path, header):
    """The first record must be 100,NEM12."""
    assert "before the record 100,NEM12" in refusal(file(tmp_path, stream(), day(), header=header))


def test_a_file_that_was_cut_short_is_refused(tmp_path):
    """Without its 900 record a file is not whole; a file of blank lines has no header either."""
    assert "line 3: Expected a 900 record" in refusal(file(tmp_path, stream(), day(), end=None))
    assert "Expected a record 100,NEM12 at the beginning" in refusal(file(tmp_path, header=",,", end=None))


def test_only_a_nem12_file_is_recognised(tmp_path):
    """A text file whose first record is 100,NEM12 is recognised; another one or a frame is not, nor read."""
    assert Nem12().recognises(file(tmp_path, stream())) == "its first record is 100,NEM12"
    assert Nem12().recognises(file(tmp_path, stream(), header="household,time,kwh")) is None
    frame = Frame(as_frame())
    assert Nem12().recognises(frame) is None
    with refuses(ReadingsError, "nem12-not-text"):
        list(Nem12().read(frame))


def as_frame():
    import pyarrow as pa

    return pa.table({"100": ["200"], "NEM12": ["x"]})


@pytest.mark.parametrize("options", [{"channel": "both"}, {"qualities": ""}, {"qualities": "AN"}, {"unit": "kW"}])
def test_wrong_options_are_refused(options):
    """An unknown channel, a flag that cannot be taken and a unit of power are refused at once."""
    with pytest.raises(ReadingsError, match=f"Expected {next(iter(options))} to be"):
        Nem12(**options)


def panel_of(readings, households=("4103000001",), present=None, **grid):
    settings = {"zone": "Australia/Brisbane", "anchor": "2012-07-01T00:00", **grid}
    return Panel.from_array(readings, households=households, present=present, grid=Grid(**settings))


def written(tmp_path, panel, name="out.csv", **options):
    path = tmp_path / name
    Nem12(**options).write(panel, path)
    return TextFile(path)


def test_what_is_written_is_read_back(tmp_path):
    """Readings and gaps of several households come back exactly; whole days, gaps where there was nothing."""
    values = np.arange(1, 121).reshape(60, 2)
    present = np.ones((60, 2), dtype=bool)
    present[5:8, 0] = False
    panel = panel_of(values, ("4103000001", "home 2"), present)
    found, asides = staged(written(tmp_path, panel))
    assert not asides
    for column, name in enumerate(panel.households):
        rows = found[name, f"{name}/E1"]
        assert len(rows) == 96
        given = zip(values[:, column].tolist(), present[:, column], strict=True)
        expected = [10**6 * value if there else None for value, there in given]
        assert [rows[JULY_FIRST + 1800 * i] for i in range(60)] == expected
        assert {rows[JULY_FIRST + 1800 * i] for i in range(60, 96)} == {None}


def test_a_written_file_is_plain_nem12(tmp_path):
    """Lines end in CRLF, full days have flag A, empty ones N, others V with 400 records."""
    present = np.ones((144, 1), dtype=bool)
    present[48:96] = False
    present[100:110] = False
    part = written(tmp_path, panel_of(np.full((144, 1), 1500), present=present))
    raw = part.path.read_bytes()
    assert raw.count(b"\r\n") == raw.count(b"\n") == 9
    lines = raw.decode().split("\r\n")
    assert lines[0] == "100,NEM12,201207040000,DIURNAL,DIURNAL"
    assert lines[1] == "200,4103000001,E1,,E1,,,kWh,30,"
    assert lines[2] == ",".join(["300", "20120701", *["1.5"] * 48, "A,,,20120704000000,"])
    assert lines[3] == ",".join(["300", "20120702", *[""] * 48, "N,,,20120704000000,"])
    assert lines[5:] == ["400,1,4,A,,", "400,5,14,N,,", "400,15,48,A,,", "900", ""]


def test_net_is_written_as_two_streams(tmp_path):
    """Net readings go out as E1 and B1 and come back; another channel refuses what is negative."""
    panel = panel_of([[5], [-7], [0]] * 16)
    found, _ = staged(written(tmp_path, panel, channel="net"), channel="net")
    streams = [
        [found["4103000001", f"4103000001/{s}"][JULY_FIRST + 1800 * i] for i in range(3)] for s in ("E1", "B1")
    ]
    assert streams == [[5_000_000, 0, 0], [0, -7_000_000, 0]]
    with refuses(ReadingsError, "write-negative"):
        written(tmp_path, panel)
    exported, _ = staged(written(tmp_path, panel_of([[5]] * 48), channel="generation"), channel="generation")
    assert list(exported) == [("4103000001", "4103000001/B1")]


@pytest.mark.parametrize(("first", "skipped", "doubled"), [("2012-10-07", 2, 0), ("2013-04-07", 0, 2)])
def test_clock_changes_are_written_in_market_time(tmp_path, first, skipped, doubled):
    """Sydney's skipped hour is left out; of its doubled hour the first has the readings, the second is a gap."""
    panel = panel_of(np.arange(1, 97).reshape(96, 1), zone="Australia/Sydney", anchor=f"{first}T00:00")
    ((_, rows),) = staged(written(tmp_path, panel))[0].items()
    values = [rows[time] for time in sorted(rows)]
    inside = values[next(i for i, v in enumerate(values) if v) :]
    inside = inside[: max(i for i, v in enumerate(inside) if v) + 1]
    if skipped:
        assert inside == [10**6 * v for v in range(1, 97) if v not in (5, 6)]
    else:
        assert inside == [10**6 * v for v in range(1, 7)] + [None, None] + [10**6 * v for v in range(7, 97)]
    # Summer time is an hour ahead of the market: the day begins or ends at 23:00 there.
    assert min(time for time in rows if rows[time]) % 86400 == (0 if skipped else 23 * 3600)


def test_gzip_is_written_where_the_name_says_so(tmp_path):
    """A path that ends in .gz gets a gzip file, which reads back."""
    part = written(tmp_path, panel_of([[5]] * 48), name="out.csv.gz")
    assert gzip.decompress(part.path.read_bytes()).startswith(b"100,NEM12")
    assert len(staged(part)[0]) == 1


@pytest.mark.parametrize(
    "panel",
    [
        panel_of([[1]], minutes=60),
        panel_of([[1]], unit="W"),
        panel_of([[1]], unit="mWh"),
        panel_of([[1]], anchor="2012-07-01T00:10"),
        panel_of([[1]], zone="Asia/Kathmandu"),
        *(panel_of([[1]], households=[name]) for name in ("secret,1", "secret\n", "", " secret", 'secret"')),
    ],
)
def test_a_panel_that_does_not_fit_is_refused(tmp_path, panel):
    """Other lengths, units, half intervals and names that would break a record are refused; no name is shown."""
    with pytest.raises(ReadingsError, match="Expected") as caught:
        written(tmp_path, panel)
    assert "secret" not in str(caught.value)


def test_an_empty_panel_is_a_file_without_days(tmp_path):
    """A panel of no steps is written as a file that reads as nothing."""
    assert read(written(tmp_path, panel_of(np.zeros((0, 1), dtype=int)))) == []


def test_no_mutation_breaks_the_reader(tmp_path):
    """Of a file with random damage come rows, or an error of diurnal's own: either happens, and nothing else."""
    text = file(
        tmp_path,
        stream(length="60", unit="Wh"),
        day(HALF_HOURS[:24]),
        day(HALF_HOURS[:24], date="20120702", flag="V"),
        "400,1,10,A,,",
        "400,11,24,N,,",
        stream(suffix="B1", length="60"),
        day(HALF_HOURS[:24]),
    ).path.read_bytes()
    random_, refused = random.Random(12), 0
    for _ in range(600):
        damaged = bytearray(text)
        for _ in range(random_.randint(1, 4)):
            place = random_.randrange(len(damaged))
            new = random_.choice([b"", b",", b"\r\n", b"400", b"V", b"-", b"e9", b"nan", b"\xff", b"9" * 20, b'"'])
            damaged[place : place + random_.choice([0, 1, 1, 3, 40])] = new
        path = tmp_path / "damaged.csv"
        path.write_bytes(bytes(damaged) or b"1")
        try:
            staged(TextFile(path), channel="net", qualities="A")
        except DiurnalError:
            refused += 1
    assert 10 < refused < 590
