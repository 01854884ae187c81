"""Green Button: the Atom feed of North American utilities (ESPI, NAESB REQ.21).

A feed has entries of a UsagePoint (a home's connection), its MeterReadings, their ReadingTypes (which unit, power
of ten and direction) and IntervalBlocks with the readings themselves. Entries stand in any order and are tied by
their links: a block's `up` is the `related` of its MeterReading, and so on. Hence the feed is read twice, first the
ties and then the intervals.

Starts are moments of the world; the feed's LocalTimeParameters and ReadingQualities are not looked at. A reading
without a value is a gap. Other commodities and units, meters that count up, and directions other than delivered and
received are set aside and counted. If every customer's file calls its own usage point "1", say household="file".
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal
from urllib.parse import quote, unquote

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.formats import BATCH, Aside, Batch, Channel, Format, Rows, check_channel
from diurnal.readings.formats.espi import ATOM, ESPI, Entry, Feed, IntervalReading
from diurnal.readings.formats.text import blocks, check_signs, moments, open_text
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part, TextFile

UNITS = {"mWh": ("72", -3), "Wh": ("72", 0), "kWh": ("72", 3), "MWh": ("72", 6)}
UNITS |= {"W": ("38", 0), "kW": ("38", 3), "MW": ("38", 6)}
"""ESPI's number of a unit, and the power of ten."""

FLOWS = {"": "delivered", "0": "delivered", "1": "delivered", "19": "received"}
"""Directions: from the grid to the home, and from the home to the grid."""

CHANNELS = {
    "consumption": {"delivered": 1},
    "generation": {"received": 1},
    "net": {"delivered": 1, "received": -1},
}
"""The directions of a channel with their signs."""

ELECTRICITY = ("", "0", "1", "2")
COUNTING_UP = ("1", "2", "3", "9")
"""Commodities that are electricity; behaviours of values that are no interval's own."""


@dataclass(frozen=True, kw_only=True)
class GreenButton(Format):
    """Interval data of a Green Button feed."""

    name: ClassVar[str] = "greenbutton"
    unit: str = "Wh"
    """What values are converted to; W reads mean power instead of energy."""
    channel: Channel = "consumption"
    """Consumption is what is delivered, generation what is received, net the difference; it may be negative."""
    household: Literal["usagepoint", "file"] = "usagepoint"
    """What a household is called after: its usage point, or the file, whose usage points then add up."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_channel(self.channel)
        if self.household not in ("usagepoint", "file"):
            raise ReadingsError("greenbutton-household", household=self.household)

    def recognises(self, part: Part) -> str | None:
        head = " ".join(part.head) if isinstance(part, TextFile) else ""
        if re.search(r"<([\w.-]+:)?feed\b", head) and ATOM in head and (ESPI in head or "IntervalBlock" in head):
            return "an Atom feed with ESPI entries"
        return None

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        if not isinstance(part, TextFile):
            raise part.fault("greenbutton-not-xml")
        meters, n = _Meters(self, part), 0
        batches = {sign: Batch(sign=sign, instants=True) for sign in CHANNELS[self.channel].values()}
        for entry in Feed(part).entries():
            n += len(entry.readings)
            if entry.readings and (aside := self._take(meters, entry, batches)):
                yield aside
            for batch in batches.values():
                if len(batch.values) >= BATCH:
                    yield from batch.rows()
        if not n:
            raise part.fault("greenbutton-no-readings")
        for batch in batches.values():
            yield from batch.rows()

    def _take(self, meters: _Meters, entry: Entry, batches: Mapping[int, Batch]) -> Aside | None:
        meter = meters.of(entry)
        sign = CHANNELS[self.channel].get(meter.flow)
        if sign is None or meter.aside:
            reason = meter.aside or "another_channel"
            return Aside(reason=reason, rows=len(entry.readings), line=entry.readings[0].line)
        part, shift = meters.part, meter.power - UNITS[self.unit][1]
        starts = [_whole(part, reading.line, "start", reading.start) for reading in entry.readings]
        minutes = [_minutes(part, reading.line, reading.duration or meter.seconds) for reading in entry.readings]
        values = [reading.value and _value(part, reading, shift) for reading in entry.readings]
        lines = np.array([reading.line for reading in entry.readings], dtype=np.int64)
        batches[sign].add(self._name(part, meter), np.array(starts), values, line=lines, minutes=np.array(minutes))
        return None

    def _name(self, part: TextFile, meter: _Meter) -> tuple[str, str]:
        """The household and the meter."""
        flow = [meter.flow] if self.channel == "net" else []
        if self.household == "usagepoint":
            return meter.point, "/".join([meter.point, *flow])
        stem = Path(part.path.name.removesuffix(".gz")).stem
        return stem, "/".join([stem, meter.point, *flow])

    def write(self, panel: Panel, path: Path) -> None:
        """Write one feed with a usage point a household and a block a day of UTC; net ones have two meter readings.

        Args:
            panel: Its unit becomes the power of ten. Of the hour that autumn doubles the first occurrence has the
                reading, the second is a gap.
            path: Where to; gzip if it ends in .gz.

        Raises:
            ReadingsError: A unit that ESPI lacks, a blank name, or negative readings of one direction.
        """
        if panel.grid.unit not in UNITS:
            raise ReadingsError("greenbutton-write-unit", choices=", ".join(UNITS), unit=panel.grid.unit)
        if not all(name.isprintable() and name.strip() for name in panel.households):
            raise ReadingsError("greenbutton-write-names")
        check_signs(panel, self.channel)
        with open_text(path) as file:
            file.writelines(text + "\n" for text in self._texts(panel))

    def _texts(self, panel: Panel) -> Iterator[str]:
        flows = {("1" if flow == "delivered" else "19"): sign for flow, sign in CHANNELS[self.channel].items()}
        intervals = _intervals(panel)
        yield f'<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="{ATOM}" xmlns:espi="{ESPI}">'
        yield f"<id>{_identity('feed')}</id><title>Readings</title><updated>{_UPDATED}</updated>"
        for flow in flows:
            yield _entry(f"ReadingType/{flow}", "ReadingType", _type(panel, flow))
        for block in blocks(panel):
            for column, name in enumerate(block.households):
                yield from self._home(block, column, f"UsagePoint/{quote(name, safe='')}", flows, intervals)
        yield "</feed>"

    def _home(
        self, panel: Panel, column: int, point: str, flows: Mapping[str, int], intervals: tuple[Integers, Integers]
    ) -> Iterator[str]:
        """The entries of a household."""
        yield _entry(point, "UsagePoint", _KIND, f"{point}/MeterReading")
        readings, present = panel.readings[:, column], panel.present[:, column]
        for flow, sign in flows.items():
            values = np.maximum(sign * readings, 0) if self.channel == "net" else readings
            texts = [str(value) if there else "" for value, there in zip(values.tolist(), present, strict=True)]
            yield from _reading(f"{point}/MeterReading/{flow}", flow, panel.grid.minutes, intervals, texts)


@dataclass(frozen=True, kw_only=True)
class _Meter:
    """What a MeterReading is about."""

    point: str
    """The name of its usage point."""
    flow: str
    power: int
    """Of which power of ten of a Wh (or W) its values are."""
    seconds: str
    """How long its intervals are, unless they say."""
    aside: str
    """Why its readings are set aside, if they are."""


class _Meters:
    """The MeterReadings of a feed, by the addresses at which their blocks may look for them."""

    def __init__(self, format_: GreenButton, part: TextFile) -> None:
        self.part = part
        self.uom = UNITS[format_.unit][0]
        kinds: dict[str, list[Entry]] = {"UsagePoint": [], "MeterReading": [], "ReadingType": []}
        for entry in Feed(part, with_readings=False).entries():
            kinds.get(entry.kind, []).append(entry)
        self.points = _by_address((point, point.children("MeterReading")) for point in kinds["UsagePoint"])
        self.types = _by_address((kind, kind.hrefs("self")) for kind in kinds["ReadingType"])
        self.readings = _by_address((one, one.children("IntervalBlock")) for one in kinds["MeterReading"])
        self.has_unit = any(kind.fields.get("uom") == self.uom for kind in kinds["ReadingType"])
        self._check_names(kinds["UsagePoint"])
        self._known: dict[int, _Meter] = {}

    def of(self, block: Entry) -> _Meter:
        """What a block is about."""
        reading = self._linked(block, block, self.readings, "MeterReading", "up", "self")
        if id(reading) not in self._known:
            kind = self._linked(block, reading, self.types, "ReadingType", "related")
            point = self._linked(block, reading, self.points, "UsagePoint", "up", "self")
            self._known[id(reading)] = self._meter(kind, _point_name(point))
        return self._known[id(reading)]

    def _linked(self, block: Entry, entry: Entry, known: Mapping[str, Entry | None], kind: str, *by: str) -> Entry:
        found = next((there for href in entry.hrefs(*by) if (there := known.get(href))), None)
        if found is None:
            raise self.part.fault("greenbutton-link", line=block.line, wanted=kind, entry=block.kind or "entry")
        return found

    def _meter(self, kind: Entry, point: str) -> _Meter:
        says, uom = kind.fields, kind.fields.get("uom", "")
        power = _whole(self.part, kind.line, "powerOfTenMultiplier", says.get("powerOfTenMultiplier") or "0")
        if abs(power) > 12 or not uom:
            raise self.part.fault("greenbutton-reading-type", line=kind.line)
        if uom != self.uom and uom in ("38", "72") and not self.has_unit:
            has, wants = ("W", "energy") if uom == "38" else ("Wh", "power")
            raise self.part.fault("greenbutton-uom", line=kind.line, wants=wants, uom=uom, has=has)
        other = uom != self.uom or says.get("commodity", "") not in ELECTRICITY
        counts = says.get("accumulationBehaviour", "") in COUNTING_UP
        return _Meter(
            point=point,
            flow=FLOWS.get(says.get("flowDirection", ""), "other"),
            power=power,
            seconds=says.get("intervalLength", ""),
            aside="another_channel" if other else "counting_meter" if counts else "",
        )

    def _check_names(self, points: list[Entry]) -> None:
        known: dict[str, list[str]] = {}
        for point in points:
            own, name = point.hrefs("self"), _point_name(point)
            if not name or known.setdefault(name, own) != own:
                raise self.part.fault("greenbutton-usage-point", line=point.line)


def _by_address(entries: Iterable[tuple[Entry, list[str]]]) -> dict[str, Entry | None]:
    """Entries by address; None where several that differ share one."""
    known: dict[str, Entry | None] = {}
    for entry, hrefs in entries:
        for href in dict.fromkeys(hrefs):
            before = known.get(href, entry)
            known[href] = entry if before and (before.links, before.fields) == (entry.links, entry.fields) else None
    return known


def _point_name(point: Entry) -> str:
    named = (re.search(r"UsagePoint/([^/]+)$", href) for href in point.hrefs("self"))
    return next((unquote(found[1]).strip() for found in named if found), "") or point.id


def _whole(part: TextFile, line: int, name: str, text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,12}", text):
        raise part.fault("greenbutton-not-whole", line=line, field=name)
    return int(text)


def _minutes(part: TextFile, line: int, seconds: str) -> int:
    minutes, rest = divmod(_whole(part, line, "duration", seconds), 60)
    if rest or not 1 <= minutes < 1 << 31:
        raise part.fault("greenbutton-duration", line=line)
    return minutes


def _value(part: TextFile, reading: IntervalReading, power: int) -> str:
    # An exponent keeps the digits as they are; the nearest float is found once, by the row buffer.
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", reading.value):
        raise part.fault("greenbutton-not-whole", line=reading.line, field="value")
    return f"{reading.value}e{power}"


def _intervals(panel: Panel) -> tuple[Integers, Integers]:
    """When intervals begin, and which row of the panel each is; -1 for a gap in a doubled hour."""
    seconds, exists = moments(panel)
    rows, length = np.flatnonzero(exists), 60 * panel.grid.minutes
    begins = seconds[rows]
    jumps = np.flatnonzero(np.diff(begins) > length)
    more = [np.arange(begins[i] + length, begins[i + 1] - length + 1, length) for i in jumps]
    between = np.concatenate([np.zeros(0, dtype=np.int64), *more])
    order = np.argsort(np.concatenate([begins, between]), kind="stable")
    return (
        np.concatenate([begins, between])[order],
        np.concatenate([rows, np.full(len(between), -1, dtype=np.int64)])[order],
    )


def _reading(
    href: str, flow: str, minutes: int, intervals: tuple[Integers, Integers], texts: list[str]
) -> Iterator[str]:
    """The entries of a meter reading and its blocks, a day each."""
    yield _entry(href, "MeterReading", "", f"{href}/IntervalBlock", f"ReadingType/{flow}")
    seconds, rows = intervals
    cuts = np.flatnonzero(np.diff(seconds // 86400)) + 1
    for number, (begins, places) in enumerate(zip(np.split(seconds, cuts), np.split(rows, cuts), strict=True)):
        values = [texts[row] if row >= 0 else "" for row in places.tolist()]
        content = "".join(_interval(*pair, 60 * minutes) for pair in zip(begins.tolist(), values, strict=True))
        yield _entry(f"{href}/IntervalBlock/{number}", "IntervalBlock", content)


def _interval(start: int, value: str, length: int) -> str:
    return (
        f"\n<espi:IntervalReading><espi:timePeriod><espi:duration>{length}</espi:duration>"
        f"<espi:start>{start}</espi:start></espi:timePeriod>"
        f"{f'<espi:value>{value}</espi:value>' if value else ''}</espi:IntervalReading>"
    )


def _type(panel: Panel, flow: str) -> str:
    uom, power = UNITS[panel.grid.unit]
    fields = {
        "accumulationBehaviour": "4" if uom == "72" else "12",
        "commodity": "1",
        "flowDirection": flow,
        "intervalLength": str(60 * panel.grid.minutes),
        "powerOfTenMultiplier": str(power),
        "uom": uom,
    }
    return "".join(f"<espi:{name}>{text}</espi:{name}>" for name, text in fields.items())


def _entry(href: str, kind: str, content: str, *related: str) -> str:
    """An entry; its addresses are quoted, so nothing in it needs escaping."""
    links = [("self", href), ("up", href.rpartition("/")[0]), *(("related", one) for one in related)]
    return (
        f"<entry><id>{_identity(href)}</id>"
        + "".join(f'<link rel="{relation}" href="{one}"/>' for relation, one in links)
        + f"<title/><content><espi:{kind}>{content}</espi:{kind}></content><updated>{_UPDATED}</updated></entry>"
    )


def _identity(href: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{ESPI}/{href}").urn


_KIND = "<espi:ServiceCategory><espi:kind>0</espi:kind></espi:ServiceCategory>"
_UPDATED = "2000-01-01T00:00:00Z"
