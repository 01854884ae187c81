"""Damage: what becomes of files on their way, and what people do to them in editors."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

SECRET = "86753.09125"
"""A value that no error may show."""

_WORDS = (
    "NaN|nan|-NaN|inf|-Infinity|null|None|true|#N/A|-|.|e5|x|V|N|1e400|-1e400|1e-400|1e308|0x10|1_000|1,5|1 000|"
    "--1|+5|-5|1e9|0.1234567890123456789|1e|1d5|\u0663|\u22121|\uff11\uff12|\u00bd|\u200b1|\u00a0|\0|\ufeff|\u2028|\x85|"
    '\x0c|\x1a|\xe9|e\u0301|\u202e|\\|&amp;|&#0;|&lt;a&gt;|<a>|</a>|]]>|\'|"|""|"a""b"|"a\nb"|"a,b"|"x|x"|'
    "2012-02-30|0000-00-00|2012-10-06|9999-12-31 23:59:59|0001-01-01 00:00|20121006|2012-W40-6|2012-10-06T00:30Z|"
    "2012-10-06T00:30+14:00|0001-01-01T00:00+14:00|9999-12-31T23:59-14:00|2012-10-06T00:30+23:59:59.999999|"
    "2012-10-06 24:00|2012-10-06 00:30:00.5|2012-10-07 02:30|1970-01-01|24:00|31/02/2012|29/02/2100|1-Feb-12|"
    "31-Feb-12|1/1/1|99991231|00010101|20120230|1/10/9999|0|1|-1|7|19|38|72|100|200|300|400|500|900|1440|48|49|"
    "3600|2147483647|-2147483648|253402300800|-62135596800|999999999999|-999999999999|kWh|W|time|household|suburb|"
    "home 1|NEM12|E1|B1|GG|CL|IntervalBlock|../x"
)

WORDS = [
    *_WORDS.split("|"),
    *["", " ", "\U0001f600" * 9, "9" * 19, "9" * 30, "9" * 400, "0" * 5000 + "1", "a" * 70_000],
    *[SECRET, SECRET, f"{SECRET}x", f"-{SECRET}", f"x{SECRET}"],
]
"""What may stand where a field was."""


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Some bytes after a few accidents; now and then after none."""
    for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 2, 2, 3, 8])):
        data = rng.choice(_ACCIDENTS)(data, rng)
    return rng.choice(_WRAPPERS)(data, rng) if rng.random() < 0.06 else data


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20]) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.choice([1, 2, 4, 8])) + data[place + 4 :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + _word(rng) + data[place:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[place + rng.choice([1, 1, 3, 10, 100]) :]


def _truncate(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] if rng.random() < 0.8 else data[place:]


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    here, there = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(7):
        case 0:
            del lines[here]
        case 1:
            lines.insert(there, lines[here])
        case 2:
            lines[here], lines[there] = lines[there], lines[here]
        case 3:
            rng.shuffle(lines)
        case 4:
            lines.insert(here, rng.choice([b"", b" ", b"\r", b",,,", b'""', b"\t"]))
        case 5:
            lines[here] += lines[there]
        case _:
            lines = lines[min(here, there) : max(here, there) + 1] * rng.choice([1, 2])
    return b"\n".join(lines)


def _fields(data: bytes, rng: random.Random) -> bytes:
    """Damage to the fields of one line, or of one column, at commas or, in XML, at tags."""
    lines, mark = data.split(b"\n"), b"<" if data.lstrip()[:1] == b"<" else b","
    chosen = rng.randrange(len(lines))
    column, word, kind = rng.randrange(lines[chosen].count(mark) + 1), _word(rng), rng.randrange(6)
    for number in range(len(lines)) if rng.random() < 0.1 else [chosen]:
        fields = lines[number].split(mark)
        here = min(column, len(fields) - 1)
        if kind < 3:
            fields[here] = fields[here].partition(b">")[0] + b">" + word if mark == b"<" else word
        elif kind == 3:
            del fields[here]
        elif kind == 4:
            fields.insert(here, fields[here])
        else:
            fields[here - 1], fields[here] = fields[here], fields[here - 1]
        lines[number] = mark.join(fields)
    return b"\n".join(lines)


def _replace(data: bytes, rng: random.Random) -> bytes:
    """One text for another, everywhere."""
    old, new = rng.choice(_CHANGES)
    return data.replace(old, new) if rng.random() < 0.7 else data.replace(old, new, 1)


def _quote(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    here = rng.randrange(len(lines))
    quoted = b'"' + b'","'.join(lines[here].split(b",")) + b'"'
    lines[here] = quoted if rng.random() < 0.6 else b'"' + quoted + rng.choice([b'"', b"", b'""'])
    return b"\n".join(lines)


def _word(rng: random.Random) -> bytes:
    if rng.random() < 0.1:
        return "".join(
            chr(rng.choice([rng.randrange(32, 0xD800), rng.randrange(1, 128)])) for _ in range(5)
        ).encode()
    return rng.choice(WORDS).encode()


def _packed(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(data, mtime=0)


def _badly_packed(data: bytes, rng: random.Random) -> bytes:
    return rng.choice([_flip, _truncate, _overwrite, _cut])(gzip.compress(data, mtime=0), rng)


def _unpacked(data: bytes, rng: random.Random) -> bytes:
    return b"\x1f\x8b" + data


def _twice(data: bytes, rng: random.Random) -> bytes:
    return gzip.compress(data, mtime=0) + rng.choice([data, gzip.compress(data, mtime=0), b"\0\0", b"x"])


def _utf16(data: bytes, rng: random.Random) -> bytes:
    return data.decode("latin-1").encode("utf-16")


_CHANGES = [
    *((b"\n", other) for other in (b"\r\n", b"\r", b"\n\n", b",\n", b" \n")),
    *((b",", other) for other in (b";", b"\t", b"|", b", ", b",,")),
    *((b"2012", other) for other in (b"2013", b"9999", b"0001", b"12")),
    *[(b"\r\n", b"\n"), (b".", b","), (b"-", b"/"), (b" ", b"T"), (b'"', b""), (b"0", b"1"), (b"1", b"-1")],
    *[(b":00,", b":00+10:00,"), (b":00,", b":00Z,"), (b":30,", b":30:01,"), (b":00:00", b""), (b":", b"")],
    *[
        (b"home 1", b"home 2"),
        (b"home 1", b""),
        (b"kWh", b"MWh"),
        (b"kwh", b"kw"),
        (b"wh", b"w"),
        (b",30,", b",1,"),
    ],
    *[(b",A,", b",V,"), (b",V,", b",N,"), (b"1800", b"60"), (b"1800", b"0"), (b"espi:", b""), (b"Block", b"x")],
    *[(b'"up"', b'"self"'), (b"ReadingType", b"UsagePoint"), (b"</", b"<"), (b"<feed", b"<!DOCTYPE a><feed")],
]

_ACCIDENTS: list[Callable[[bytes, random.Random], bytes]] = [
    *[_flip, _overwrite, _insert, _insert, _cut, _truncate, _lines, _lines, _lines],
    *[_fields, _fields, _fields, _fields, _fields, _replace, _replace, _quote],
]

_WRAPPERS: list[Callable[[bytes, random.Random], bytes]] = [
    *[_packed, _badly_packed, _badly_packed, _unpacked, _twice, _utf16],
]
