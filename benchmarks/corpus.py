"""Corpus: the inputs of the fuzzing, each made from a seed and a number alone."""

from __future__ import annotations

import gzip
import io
import itertools
import pathlib
import random
import tempfile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import diurnal as dn
from benchmarks.damage import damaged
from diurnal.readings.formats.ausgrid import COLUMNS, HALF_HOURS, QUALITY

FILES = {
    "ausgrid": "homes.csv",
    "umass": "Apt1_2012.csv",
    "long": "homes.csv",
    "parquet": "homes.parquet",
    "wide": "homes.csv",
    "nem12": "homes.csv",
    "greenbutton": "homes.xml",
    "register": "list.csv",
}
"""Formats, and what their files are called; a register is a list of meters, groups, tenancies or calendar days."""

ZONES = ["UTC", "Australia/Sydney", "Australia/Lord_Howe", "Europe/London", "America/New_York", "Pacific/Apia"]

READ_OPTIONS: dict[str, dict[str, list[Any]]] = {
    "": {
        "unit": ["kWh", "Wh", "MWh", "kW", "W", "MW", "J"],
        "minutes": [1, 5, 15, 30, 60, 1440, 0, 7],
        "label": ["start", "end", "middle"],
        "zone": [*ZONES, "Nowhere/Here", ""],
        "time_format": ["%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M", "%Y", "%z", "%", "%d %d", "%Y-%m-%dT%H:%M:%S%z"],
    },
    "ausgrid": {"channel": ["net", "generation", "consumption", "all"]},
    "nem12": {"channel": ["net", "generation", "consumption", "all"], "qualities": ["A", "AE", "S", "", "V"]},
    "greenbutton": {"channel": ["net", "generation", "all"], "household": ["file", "usagepoint", "x"]},
    "long": {"groups": [["suburb"], "suburb", ["time"], ["none"]], "meter": ["household", "suburb", "none"]},
    "parquet": {"groups": [["suburb"], ["time"]], "household": ["suburb", "kwh"], "value": ["kwh", "time"]},
    "wide": {"time": ["interval_start", "home 1", "none"]},
}
"""What `dn.read` may be told: of every format, and of each."""

PANEL_OPTIONS: dict[str, list[Any]] = {
    "zone": [*ZONES, None, "Nowhere/Here", "../UTC", ""],
    "interval": ["30min", "15min", "1h", "5min", 1, 1440, "7min", "x"],
    "period": ["1d", "7d", 1, 5, "90min", "x"],
    "unit": ["Wh", "kWh", "W"],
    "anchor": ["2012-10-06", "2012-10-06T00:10", "0001-01-01", "9999-12-31T23:30", "now"],
    "until": ["2012-10-08", "2012-10-06", "9999-12-31", "0001-01-01T00:30", "2012-10-07T00:00+10:00"],
    "domain": [(0, 100), (-(10**6), 10**6), (5, 1), (0, 1 << 70), (-(1 << 62), 1 << 62)],
    "fold": ["first", "mean", "calendar", "last"],
    "on_duplicate": ["first", "last", "refuse"],
    "calendar": [[("2012-10-06", "2012-10-07")], [("2012-10-06", "")], [("9999-12-31", "")], [("x", "y")], []],
    "meters": [{"home 1": "a", "home 2": "a"}, {}],
    "groups": [{"suburb": {"home 1": "a", "home 2": "b"}}, {}],
}
"""What `dn.panel` may be told."""

REGISTERS = {
    "meters": b"meter,household,from,until\nhome 1,a,,2012-10-07\nhome 2,a,2012-10-07 12:00,\n",
    "groups": b'household,suburb,"tariff, old"\nhome 1,Hill,A\nhome 2,"Hill ""top""",B\n',
    "tenancies": b"household,from\nhome 1,2012-10-07\nhome 2,2012-10-07 12:00\n",
    "calendar": b"from,until,why\n2012-10-07 02:00,2012-10-07 03:00,test\n2012-10-06,,outage\n",
}


def format_of(number: int) -> str:
    """The format of an input."""
    return list(FILES)[number % len(FILES)]


def case(seed: int, number: int) -> tuple[str, bytes, dict[str, Any], dict[str, Any]]:
    """An input: the file's name, its bytes, and what `dn.read` and `dn.panel` are told."""
    rng = random.Random(f"{seed}/{number}")
    name = format_of(number)
    reading, making = _options(name, rng)
    if name == "register":
        kind = rng.choice(sorted(REGISTERS))
        return f"{kind}.csv", damaged(REGISTERS[kind], rng), {}, making
    if name == "parquet" and rng.random() < 0.7:
        reading |= {"as frame": True} if rng.random() < 0.4 else {}
        return FILES[name], strange_table(rng), reading, making
    reading |= {"after another": True} if rng.random() < 0.05 else {}
    return FILES[name], damaged(rng.choice(corpus()[name]), rng), reading, making


_CORPUS: dict[str, list[bytes]] = {}


def corpus() -> dict[str, list[bytes]]:
    """For each format some files that are whole: as written here, and as others write them."""
    if not _CORPUS:
        with tempfile.TemporaryDirectory() as folder:
            _CORPUS.update(_written(pathlib.Path(folder)))
        for name, text in _by_hand().items():
            _CORPUS[name].append(text.encode())
    return _CORPUS


def _written(folder: pathlib.Path) -> dict[str, list[bytes]]:
    files: dict[str, list[bytes]] = {name: [] for name in FILES if name != "register"}
    for number, (zone, start) in enumerate([("Australia/Sydney", "2012-10-06"), ("UTC", "2013-04-06")]):
        panel = _panel(zone, start, number)
        for name, found in files.items():
            path = folder / FILES[name]
            dn.write(panel, folder if name == "umass" else path, format="long" if name == "parquet" else name)
            if name == "umass":
                found.append(gzip.decompress((folder / f"home 1_{start[:4]}.csv.gz").read_bytes()))
            else:
                found.append(path.read_bytes())
    return files


def _panel(zone: str, start: str, seed: int) -> dn.Panel:
    rng = np.random.default_rng(seed)
    return dn.Panel.from_array(
        rng.integers(0, 3000, (96, 2)),
        present=rng.random((96, 2)) < 0.95,
        households=["home 1", "home 2"],
        grid=dn.Grid(slots=48, zone=zone, anchor=f"{start}T00:00"),
        groups={"suburb": ["Hill", "Lake"]},
    )


def _by_hand() -> dict[str, str]:
    """Files with quotes, blank lines, CRLF, byte-order marks, NaN, revisions, other channels and other orders."""
    hours = [f"2012-10-06 {hour:02d}" for hour in range(24)]
    marks = ["0.5", "", "NaN", " 1e-3", "2"]
    days = itertools.product(("GC", "CL", "GG"), ("6/10/2012", "7-Oct-12", "08-Oct-2012"))
    return {
        "ausgrid": "\ufeffSolar homes" + "," * 53 + "\r\n" + ",".join([*COLUMNS, *HALF_HOURS, QUALITY]) + "\r\n\r\n"
        + "".join(f'"1",3.78,2076,{kind},{day},{"0.125," * 47},\r\n' for kind, day in days),
        "umass": "".join(
            f"{hour}:{minute:02d}:00,{mark}\r\n"
            for hour in hours
            for minute, mark in zip((0, 15, 30, 31, 45), marks, strict=True)
        ),
        "long": '"Meter ID";"household";"End time";"energy_wh";"suburb"\r\n\r\n'
        + "".join(
            f'"m{meter}";1;{hour.replace(" ", "T")}:00:00+10:00;"{marks[i % 5]}";"a ""b"""\r\n'
            for meter in (1, 2)
            for i, hour in enumerate(reversed(hours))
        ),
        "wide": "timestamp_end|17|18\n"
        + "".join(
            f"{hour}:{minute}|0.25|{marks[i % 5]}\n" for i, hour in enumerate(hours) for minute in ("00", "30")
        ),
        "nem12": _NEM12,
        "greenbutton": _GREEN_BUTTON,
    }  # fmt: skip


def _options(name: str, rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    making = {key: rng.choice(values) for key, values in PANEL_OPTIONS.items() if rng.random() < 0.03}
    making.setdefault("zone", rng.choice(ZONES))
    making.setdefault("interval", rng.choice(["30min", "1h"]))
    making |= {"out": "panel.parquet"} if rng.random() < 0.05 else {}
    reading: dict[str, Any] = {}
    if rng.random() < 0.25:
        known = READ_OPTIONS[""] | READ_OPTIONS.get(name, {})
        reading = {key: rng.choice(values) for key, values in known.items() if rng.random() < 0.25}
    if rng.random() < 0.3:
        reading["format"] = "long" if name == "parquet" else name
    elif rng.random() < 0.03:
        reading["format"] = rng.choice(["ausgrid", "umass", "long", "wide", "nem12", "greenbutton"])
    return reading, making


def strange_table(rng: random.Random) -> bytes:
    """A Parquet file whose columns have types that nobody expects."""
    n = rng.choice([0, 1, 48, 96, 96, 96])
    usual = {"household": _names(n), "time": _times(n, rng), "kwh": _numbers(n, rng), "suburb": _names(n)}
    columns = {name: rng.choice(_anything(n) if rng.random() < 0.1 else some) for name, some in usual.items()}
    names = [name if rng.random() > 0.03 else rng.choice(["time", "kwh", "", "a\nb", "value"]) for name in columns]
    file = io.BytesIO()
    pq.write_table(pa.table(list(columns.values()), names=names), file)
    return file.getvalue()


def _times(n: int, rng: random.Random) -> list[pa.Array]:
    start = 1349474400 + rng.choice([0, 0, 0, 1, -(10**10), 10**11, 10**14])
    seconds = pa.array([start + 1800 * i for i in range(n)], pa.int64())
    texts = pa.array([str(np.datetime64(1349474400 + 1800 * i, "s")) for i in range(n)], pa.string())
    zone = rng.choice([None, None, "UTC", "Europe/London", "+05:30"])
    moments = [seconds.cast(pa.timestamp("s", zone)).cast(pa.timestamp(unit, zone), safe=False) for unit in _UNITS]
    return [*moments, texts, texts.dictionary_encode(), texts.cast(pa.large_string())]


def _numbers(n: int, rng: random.Random) -> list[pa.Array]:
    values = [rng.choice([None, 0, 1, 1, 2, -3]) for _ in range(n)]
    kinds = [pa.int8(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(38, 9), pa.string()]
    odd = [pa.array([value] * n, pa.float64()) for value in (float("nan"), float("inf"), 1e300, -1e-300)]
    texts = pa.array([str(value) for value in values], pa.string())
    return [*(pa.array(values, pa.int64()).cast(kind) for kind in kinds), *odd, texts, texts.dictionary_encode()]


def _names(n: int) -> list[pa.Array]:
    names = pa.array([f"home {1 + i // 48}" for i in range(n)], pa.string())
    others = [names.cast(kind) for kind in (pa.large_string(), pa.binary())]
    return [names, names, *others, names.dictionary_encode(), pa.array([i // 48 for i in range(n)], pa.int16())]


def _anything(n: int) -> list[pa.Array]:
    values: list[tuple[Any, pa.DataType]] = [
        *[(True, pa.bool_()), ([1, None], pa.list_(pa.int64())), ({"a": 1}, pa.struct([("a", pa.int64())]))],
        *[(0, pa.date32()), (0, pa.time64("us")), (0, pa.duration("s")), (2**63 - 1, pa.int64())],
        *[(2**64 - 1, pa.uint64()), (b"\xff", pa.binary()), ("\0", pa.string()), (" ", pa.string())],
        *[(None, pa.null()), (None, pa.string()), (None, pa.timestamp("s"))],
    ]
    mixed = pa.array([None if i % 3 else "home 1" for i in range(n)], pa.string())
    return [*(pa.array([value] * n, kind) for value, kind in values), mixed, mixed.dictionary_encode()]


_UNITS = ("s", "ms", "us", "ns")

_NEM12 = (
    "100,NEM12,201210070000,A,B\r\n200,4103000001,E1B1,,E1,N1,S,kWh,30,\r\n\r\n"
    f"300,20121006,{'0.11,' * 48}V,,,20121007000000,\r\n400,1,20,A,,\r\n400,21,48,S14,51,\r\n"
    f"300,20121007,{'0.12,' * 47},E52,,,20121007000000,\r\n500,O,S1,20121007,1\r\n"
    f'200,"4103000001",E1B1,,B1,N1,S,wh,60,\r\n300,20121006,{"110," * 24}A,,,,\r\n900\r\n'
    "100,NEM12,201210070000,A,B\r\n200,4103000002,E1,,E1,N1,S,MWH,15,\r\n"
    f"300,20121006,{'0,' * 96}N,,,,\r\n300,20121006,{'0,' * 96}a,,,,\r\n900\r\n"
)

_BLOCK = "".join(
    f"\r\n<IntervalReading><cost>1</cost><timePeriod><start>{1349445600 + 3600 * hour}</start></timePeriod>"
    f"<value> <![CDATA[{hour}]]></value><ReadingQuality><quality>8</quality></ReadingQuality></IntervalReading>"
    for hour in range(24)
)

_ENTRIES = [
    ("IntervalBlock", "M/1/B/1", ["M/1/B"], _BLOCK),
    ("UsagePoint", "U/1/UsagePoint/home&#32;1", ["U", "M"], "<ServiceCategory><kind>0</kind></ServiceCategory>"),
    ("MeterReading", "M/1", ["M", "M/1/B", "T/1"], ""),
    ("ReadingType", "T/1", ["T"], "<intervalLength>3600</intervalLength>\r\n<uom>72</uom>"),
]

_GREEN_BUTTON = (
    '\ufeff<?xml version="1.0"?>\r\n<!-- a comment -->\r\n<a:feed xmlns:a="http://www.w3.org/2005/Atom">\r\n'
    + "".join(
        f'<a:entry><a:id>{number}</a:id><a:link rel="self" href="{own}/"/>\r\n'
        + "".join(f'<a:link href="{href}" rel="{"related" if i else "up"}"/>' for i, href in enumerate(others))
        + f'<a:content><{kind} xmlns="http://naesb.org/espi">{content}</{kind}></a:content></a:entry>\r\n'
        for number, (kind, own, others, content) in enumerate(_ENTRIES)
    )
    + "</a:feed>\r\n"
)
