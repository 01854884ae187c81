import gzip
import random

import numpy as np
import pyarrow as pa
import pytest

import support
from diurnal import Grid, Panel
from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.formats import Aside
from diurnal.readings.formats.greenbutton import GreenButton
from diurnal.readings.source import Frame, TextFile
from support import refuses

START = 1341115200
POINT = "RetailCustomer/9/UsagePoint/01"


def entry(kind, content, own, up, *related):
    links = "".join(f'<link rel="related" href="{href}"/>' for href in related)
    return (
        f'<entry>\n<id>urn:uuid:{own}</id><link rel="self" href="{own}"/><link rel="up" href="{up}"/>{links}\n'
        f'<content><{kind} xmlns="http://naesb.org/espi">{content}</{kind}></content></entry>'
    )


def point(href=POINT):
    return entry("UsagePoint", "", href, href.rpartition("/")[0], f"{href}/MeterReading", "LocalTimeParameters/01")


def meter(number="1", of=POINT, kind="ReadingType/1"):
    own = f"{of}/MeterReading/{number}"
    return entry("MeterReading", "", own, f"{of}/MeterReading", f"{own}/IntervalBlock", kind)


def kind(number="1", **fields):
    says = {"accumulationBehaviour": 4, "flowDirection": 1, "powerOfTenMultiplier": 0, "uom": 72, **fields}
    content = "".join(f"<{name}>{text}</{name}>" for name, text in says.items() if text is not None)
    return entry("ReadingType", content, f"ReadingType/{number}", "ReadingType")


def reading(value="<value>250</value>", start=f"<start>{START}</start>", duration="<duration>1800</duration>"):
    return f"<IntervalReading>\n<timePeriod>{duration}{start}</timePeriod>{value}</IntervalReading>"


def block(*readings, number="1", of=POINT, meter="1"):
    up = f"{of}/MeterReading/{meter}/IntervalBlock"
    content = f"<interval><duration>86400</duration><start>7</start></interval>{''.join(readings)}"
    return entry("IntervalBlock", content, f"{up}/{number}", up)


def feed(tmp_path, *entries, name="home.xml", before=""):
    text = "\n".join([f'{before}<feed xmlns="http://www.w3.org/2005/Atom">', *entries, "</feed>\n"])
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return TextFile(path)


def simple(tmp_path, *readings, **fields):
    return feed(tmp_path, point(), meter(), kind(**fields), block(*readings or [reading()]))


def staged(part, **options):
    return support.staged(GreenButton(**options), part)


def refusal(part, **options):
    return support.refusal(GreenButton(**options), part)


def test_readings_are_moments_of_the_world(tmp_path):
    """A reading gives its start as a moment, its length, its value, its usage point and its line."""
    (rows,) = GreenButton().read(simple(tmp_path, reading(), reading("", start=f"<start>{START + 1800}</start>")))
    assert rows.instants
    assert rows.time.tolist() == [START, START + 1800]
    assert rows.minutes.tolist() == [30, 30]
    assert rows.household.to_pylist() == rows.meter.to_pylist() == ["01", "01"]
    assert rows.line.tolist() == [13, 14]
    assert staged(simple(tmp_path))[0] == {("01", "01"): {START: 250_000_000}}


def test_a_reading_without_a_value_is_a_gap(tmp_path):
    """No value and an empty one are gaps."""
    for value in ("", "<value/>", "<value> </value>"):
        assert staged(simple(tmp_path, reading(value)))[0] == {("01", "01"): {START: None}}


def test_entries_come_in_any_order(tmp_path):
    """A block may stand before its meter reading, its type and its usage point."""
    entries = [block(reading()), kind(), meter(), point()]
    assert staged(feed(tmp_path, *entries)) == staged(feed(tmp_path, *reversed(entries)))


def test_links_may_follow_the_content_and_name_the_meter_itself(tmp_path):
    """Links are found after the content too, and a block's `up` may be the meter reading's own address."""
    up = f"{POINT}/MeterReading/1"
    late = (
        f'<entry><content><b:IntervalBlock xmlns:b="http://naesb.org/espi">{reading()}</b:IntervalBlock></content>'
        f'<link rel="up" href="{up}/"/></entry>'
    ).replace("<IntervalReading>", '<IntervalReading xmlns="http://naesb.org/espi">')
    assert staged(feed(tmp_path, point(), meter(), kind(), late))[0] == {("01", "01"): {START: 250_000_000}}


@pytest.mark.parametrize(
    ("power", "unit", "micro"),
    [
        (0, "Wh", 250 * 10**6),
        (-3, "Wh", 250_000),
        (-6, "Wh", 250),
        (3, "kWh", 250 * 10**9),
        (None, "kWh", 250 * 10**6),
    ],
)
def test_powers_of_ten_are_exact(tmp_path, power, unit, micro):
    """The power of ten is applied exactly, whatever unit is asked for."""
    part = simple(tmp_path, powerOfTenMultiplier=power)
    assert staged(part, unit=unit)[0]["01", "01"][START] == micro


def test_a_length_may_stand_in_the_type(tmp_path):
    """A reading without a duration is as long as its type says."""
    (rows,) = GreenButton().read(simple(tmp_path, reading(duration=""), intervalLength=900))
    assert rows.minutes.tolist() == [15]


@pytest.mark.parametrize(
    ("channel", "signs", "asides"),
    [
        ("consumption", {"01": 1}, {"another_channel": 2}),
        ("generation", {"01": 1}, {"another_channel": 2}),
        ("net", {"01/delivered": 1, "01/received": -1}, {"another_channel": 1}),
    ],
)
def test_a_channel_takes_its_directions(tmp_path, channel, signs, asides):
    """Consumption is delivered, generation received, net both with a sign; other directions are counted."""
    flows = {"1": 1, "2": 19, "3": 4}
    part = feed(
        tmp_path,
        point(),
        *(kind(number, flowDirection=flow) for number, flow in flows.items()),
        *(meter(number, kind=f"ReadingType/{number}") for number in flows),
        *(block(reading(), meter=number) for number in flows),
    )
    found, counted = staged(part, channel=channel)
    assert found == {("01", name): {START: sign * 250_000_000} for name, sign in signs.items()}
    assert counted == asides


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"uom": 169}, "another_channel"),
        ({"commodity": 7}, "another_channel"),
        ({"flowDirection": 20}, "another_channel"),
        ({"accumulationBehaviour": 3}, "counting_meter"),
    ],
)
def test_other_quantities_are_set_aside(tmp_path, fields, reason):
    """Gas, other units and registers that count up are set aside with their line."""
    assert list(GreenButton().read(simple(tmp_path, **fields))) == [Aside(reason=reason, rows=1, line=13)]


def test_power_is_read_only_when_asked_for(tmp_path):
    """A feed of W needs unit="W", a feed of Wh refuses it; beside readings of energy, power is set aside."""
    part = simple(tmp_path, uom=38)
    with refuses(ReadingsError, "greenbutton-uom") as caught:
        staged(part)
    assert "unit='W'" in caught.value.hint
    assert staged(part, unit="W")[0] == {("01", "01"): {START: 250_000_000}}
    assert "Expected power" in refusal(simple(tmp_path), unit="kW")
    both = feed(
        tmp_path,
        point(),
        kind(),
        kind("2", uom=38),
        meter(),
        meter("2", kind="ReadingType/2"),
        block(reading()),
        block(reading(), meter="2"),
    )
    assert staged(both) == ({("01", "01"): {START: 250_000_000}}, {"another_channel": 1})


def test_a_household_is_a_usage_point_or_a_file(tmp_path):
    """Usage points give households their names, unquoted; household="file" adds those of a file up."""
    points = ["UsagePoint/Hill%2F1", "UsagePoint/2"]
    entries = [one for href in points for one in (point(href), meter(of=href), block(reading(), of=href))]
    part = feed(tmp_path, kind(), *entries, name="customer 7.xml.gz")
    assert list(staged(part)[0]) == [("Hill/1", "Hill/1"), ("2", "2")]
    names = list(staged(part, household="file")[0])
    assert names == [("customer 7", "customer 7/Hill/1"), ("customer 7", "customer 7/2")]


def test_a_usage_point_without_an_address_is_called_by_its_id(tmp_path):
    """Where no address ends in UsagePoint/name the entry's id is the name."""
    href = "somewhere/else"
    part = feed(tmp_path, kind(), point(href), meter(of=href), block(reading(), of=href))
    assert list(staged(part)[0]) == [(f"urn:uuid:{href}", f"urn:uuid:{href}")]


def test_two_usage_points_of_one_name_are_refused(tmp_path):
    """Two customers' usage points are never taken for one."""
    other = "RetailCustomer/10/UsagePoint/01"
    part = feed(tmp_path, kind(), point(), point(other), meter(), block(reading()))
    assert "home.xml, line 8: UsagePoint: Expected a unique name" in refusal(part)


def test_an_entry_may_be_repeated(tmp_path):
    """The same type or usage point twice is the same; two that differ at one address are refused."""
    assert staged(feed(tmp_path, kind(), kind(), point(), point(), meter(), block(reading())))[0]
    part = feed(tmp_path, kind(), kind(flowDirection=19), point(), meter(), block(reading()))
    assert "Expected exactly one ReadingType for this IntervalBlock in the feed, got none or several" in refusal(
        part
    )


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (reading("<value>secret</value>"), "value: Expected a whole number"),
        (reading("<value>1.5</value>"), "value: Expected a whole number"),
        (reading(start=""), "start: Expected a whole number"),
        (reading(start="<start>2012-07-01</start>"), "start: Expected a whole number"),
        (reading(start=f"<start>{10**18}</start>"), "start: Expected a whole number"),
        (reading(duration="<duration>90</duration>"), "duration: Expected whole minutes"),
        (reading(duration="<duration>0</duration>"), "duration: Expected whole minutes"),
        (reading(duration="<duration>-60</duration>"), "duration: Expected whole minutes"),
        (reading(duration=""), "duration: Expected a whole number"),
    ],
)
def test_a_wrong_reading_is_named_by_its_line(tmp_path, one, says):
    """Whatever is wrong with a reading is said with its line and field, and shows no value."""
    message = refusal(simple(tmp_path, reading(), one))
    assert message.startswith("home.xml, line 14: field ")
    assert says in message
    assert "secret" not in message


@pytest.mark.parametrize(
    ("gone", "says"),
    [
        (0, "Expected exactly one UsagePoint for this IntervalBlock"),
        (1, "Expected exactly one MeterReading for this"),
        (2, "Expected exactly one ReadingType for this"),
        (3, "no IntervalReading"),
    ],
)
def test_a_feed_must_be_whole(tmp_path, gone, says):
    """Without its usage point, meter reading, type or intervals a feed is refused."""
    entries = [point(), meter(), kind(), block(reading())]
    del entries[gone]
    assert says in refusal(feed(tmp_path, *entries))


@pytest.mark.parametrize("fields", [{"uom": None}, {"powerOfTenMultiplier": "x"}, {"powerOfTenMultiplier": 99}])
def test_a_wrong_type_is_refused(tmp_path, fields):
    """A type without a unit, or with a power of ten that is none, is refused with its line."""
    assert refusal(simple(tmp_path, **fields)).startswith("home.xml, line 8: ")


def test_broken_xml_is_refused_with_its_line(tmp_path):
    """A feed that was cut short or has a wrong tag says where, and shows nothing of it."""
    part = simple(tmp_path)
    text = part.path.read_text()
    part.path.write_text(text[: text.index("<value>")])
    assert "home.xml, line 14: Expected complete XML" in refusal(part)
    part.path.write_text(text.replace("</value>", "</secret>"))
    assert (
        refusal(part)
        == "home.xml, line 14: Expected complete XML, got XML that is broken or cut short (mismatched tag)."
    )


def test_a_block_within_a_block_is_refused(tmp_path):
    """Blocks do not nest; a feed in which they do is refused with the line."""
    nested = f"<IntervalBlock>{reading()}</IntervalBlock>"
    assert refusal(simple(tmp_path, nested)) == "home.xml, line 14: Expected no IntervalBlock inside another."


def test_a_doctype_is_refused(tmp_path):
    """A feed that could define entities is refused before any is expanded."""
    bomb = '<?xml version="1.0"?>\n<!DOCTYPE feed [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;">]>\n'
    part = feed(tmp_path, point(), meter(), kind(), block(reading("<value>&b;</value>")), before=bomb)
    assert "line 2: Expected no DOCTYPE" in refusal(part)


def test_only_a_feed_is_recognised(tmp_path):
    """An Atom feed with ESPI entries is recognised; another feed, text or a frame is not, nor is a frame read."""
    assert GreenButton().recognises(simple(tmp_path)) == "an Atom feed with ESPI entries"
    assert GreenButton().recognises(feed(tmp_path)) is None
    (tmp_path / "long.csv").write_text("household,time,kwh\n")
    assert GreenButton().recognises(TextFile(tmp_path / "long.csv")) is None
    frame = Frame(pa.table({"a": ["b"]}))
    assert GreenButton().recognises(frame) is None
    with refuses(ReadingsError, "greenbutton-not-xml"):
        list(GreenButton().read(frame))


@pytest.mark.parametrize("options", [{"channel": "both"}, {"household": "meter"}, {"unit": "therm"}])
def test_wrong_options_are_refused(options):
    """An unknown channel, household or unit is refused at once."""
    with pytest.raises(ReadingsError, match=f"Expected {next(iter(options))} to be"):
        GreenButton(**options)


def test_many_readings_come_in_several_batches(tmp_path, monkeypatch):
    """Rows are handed on in batches, each with the lines of its own readings."""
    monkeypatch.setattr("diurnal.readings.formats.greenbutton.BATCH", 2)
    part = feed(tmp_path, point(), meter(), kind(), *(block(reading(), number=str(i)) for i in range(5)))
    assert [len(rows.time) for rows in GreenButton().read(part)] == [2, 2, 1]


def panel_of(readings, households=("home",), present=None, **grid):
    settings = {"zone": "America/New_York", "anchor": "2012-07-01T00:00", **grid}
    return Panel.from_array(readings, households=households, present=present, grid=Grid(**settings))


def written(tmp_path, panel, name="out.xml", **options):
    path = tmp_path / name
    GreenButton(**options).write(panel, path)
    return TextFile(path)


@pytest.mark.parametrize(("unit", "micro"), [("Wh", 10**6), ("kWh", 10**9), ("mWh", 10**3)])
def test_what_is_written_is_read_back(tmp_path, unit, micro):
    """Readings, gaps and names of several households come back exactly, at the moments they were."""
    values = np.arange(1, 121).reshape(60, 2)
    present = np.ones((60, 2), dtype=bool)
    present[5:8, 0] = False
    panel = panel_of(values, ("Hill/1 & <é>", "2"), present, unit=unit)
    part = written(tmp_path, panel)
    assert GreenButton().recognises(part)
    found, asides = staged(part)
    assert not asides
    for column, name in enumerate(panel.households):
        given = zip(values[:, column].tolist(), present[:, column], strict=True)
        begin = 1341115200  # Midnight in New York.
        assert found[name, name] == {
            begin + 1800 * i: micro * value if there else None for i, (value, there) in enumerate(given)
        }


def test_writing_is_deterministic(tmp_path):
    """The same panel gives the same bytes; a name in .gz gives a gzip file of them."""
    panel = panel_of([[1], [2]])
    plain = written(tmp_path, panel).path.read_bytes()
    assert written(tmp_path, panel, name="again.xml").path.read_bytes() == plain
    assert gzip.decompress(written(tmp_path, panel, name="out.xml.gz").path.read_bytes()) == plain


def test_power_and_net_are_written(tmp_path):
    """Power goes out as W; net as two directions; another channel refuses what is negative."""
    panel = panel_of([[5], [-7], [0]])
    found, _ = staged(written(tmp_path, panel, channel="net"), channel="net")
    assert list(found["home", "home/delivered"].values()) == [5_000_000, 0, 0]
    assert list(found["home", "home/received"].values()) == [0, -7_000_000, 0]
    with refuses(ReadingsError, "write-negative"):
        written(tmp_path, panel)
    power = written(tmp_path, panel_of([[5]], unit="W"))
    assert list(staged(power, unit="W")[0]["home", "home"].values()) == [5_000_000]


@pytest.mark.parametrize(
    ("day", "expected"), [("2012-03-11", [1, 2, 3, 4, 7, 8]), ("2012-11-04", [1, 2, 3, 4, 0, 0, 5, 6])]
)
def test_clock_changes_are_written_as_moments(tmp_path, day, expected):
    """The skipped hour is left out; of the doubled hour the first has the readings, the second is a gap."""
    part = written(tmp_path, panel_of(np.arange(1, 49).reshape(48, 1), anchor=f"{day}T00:00"))
    rows = staged(part)[0]["home", "home"]
    times = sorted(rows)
    assert [(rows[time] or 0) // 10**6 for time in times[: len(expected)]] == expected
    assert set(np.diff(times)) == {1800}


def test_an_empty_panel_has_no_intervals(tmp_path):
    """A panel of no steps is written as a feed without intervals, which says so when read."""
    assert "no IntervalReading" in refusal(written(tmp_path, panel_of(np.zeros((0, 1), dtype=int))))


@pytest.mark.parametrize("panel", [panel_of([[1]], unit="therm"), panel_of([[1]], households=[" "])])
def test_a_panel_that_does_not_fit_is_refused(tmp_path, panel):
    """Units that the format lacks and blank names are refused."""
    with pytest.raises(ReadingsError, match="Expected"):
        written(tmp_path, panel)


def test_no_mutation_breaks_the_reader(tmp_path):
    """Of a feed with random damage come rows, or an error of diurnal's own: either happens, and nothing else."""
    text = feed(tmp_path, point(), meter(), kind(), block(*[reading()] * 3)).path.read_bytes()
    random_, refused = random.Random(12), 0
    scraps = [
        b"",
        b"<",
        b">",
        b"&amp;",
        b"<!DOCTYPE a>",
        b"-",
        b"9" * 40,
        b"\xff",
        b"\0",
        b"</entry>",
        b"<entry>",
        b"x",
    ]
    for _ in range(600):
        damaged = bytearray(text)
        for _ in range(random_.randint(1, 3)):
            place = random_.randrange(len(damaged))
            damaged[place : place + random_.choice([0, 1, 1, 3, 40])] = random_.choice(
                [*scraps, b"7", b"1e5", b" "]
            )
        path = tmp_path / "damaged.xml"
        path.write_bytes(bytes(damaged))
        try:
            staged(TextFile(path), channel="net")
        except DiurnalError:
            refused += 1
    assert 10 < refused < 590
