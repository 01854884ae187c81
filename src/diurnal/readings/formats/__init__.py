"""Formats: the layouts that meter data comes in, each with a reader and a writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.formats.ausgrid import Ausgrid
from diurnal.readings.formats.base import Aside, Format, Rows
from diurnal.readings.formats.greenbutton import GreenButton
from diurnal.readings.formats.long import Long
from diurnal.readings.formats.nem12 import Nem12
from diurnal.readings.formats.umass import UMass
from diurnal.readings.formats.wide import Wide
from diurnal.readings.part import Part
from diurnal.readings.tables import ParquetFile

FORMATS: dict[str, type[Format]] = {each.name: each for each in (Ausgrid, Nem12, GreenButton, UMass, Long, Wide)}
"""By name, in the order in which `auto` asks them: the particular before the general."""


def format_of(format: str | Format, parts: Sequence[Part], options: dict[str, Any]) -> tuple[Format, str]:  # noqa: A002
    """The format of a source, and by what it was recognised.

    Raises:
        ReadingsError: No format recognises the source, or a part of it is of another one.
    """
    if isinstance(format, Format):
        if options:
            raise ReadingsError("format-options")
        return format.settle(parts[0]), "as you say"
    if format != "auto":
        return named(format, options).settle(parts[0]), "as you say"
    check_options(options)
    if isinstance(parts[0], ParquetFile) and parts[0].has_metadata(b"diurnal"):
        raise parts[0].fault("panel-already-kept")
    refused: ReadingsError | None = None
    for kind in FORMATS.values():
        if not set(options) <= set(kind.__dataclass_fields__):
            continue
        try:
            candidate = kind(**options)
        except ReadingsError as cause:
            # What one format refuses another may take, such as unit='W' or household='id'.
            refused = refused or cause
            continue
        reason = candidate.recognises(parts[0])
        if reason is not None:
            settled = candidate.settle(parts[0])
            _check_all(settled, parts)
            return settled, reason
    if refused is not None:
        raise refused
    raise parts[0].fault("format-unrecognised", formats=", ".join(FORMATS))


def named(name: str, options: dict[str, Any]) -> Format:
    """The format of a name.

    Raises:
        ReadingsError: There is none of that name, or it has no such option.
    """
    kind = FORMATS.get(name)
    if kind is None:
        raise ReadingsError("format-unknown", name=name, choices=", ".join(FORMATS))
    unknown = set(options) - set(kind.__dataclass_fields__)
    if unknown:
        raise ReadingsError(
            "format-unknown-option",
            format=name,
            option=sorted(unknown)[0],
            choices=", ".join(kind.__dataclass_fields__),
        )
    return kind(**options)


def check_options(options: dict[str, Any]) -> None:
    """Refuse options that no format has.

    Raises:
        ReadingsError: No format has all of them.
    """
    if not any(set(options) <= set(kind.__dataclass_fields__) for kind in FORMATS.values()):
        every = {name for kind in FORMATS.values() for name in kind.__dataclass_fields__}
        raise ReadingsError("option-unknown", options=", ".join(sorted(options)), choices=", ".join(sorted(every)))


def rows_of(format_: Format, part: Part) -> Iterator[Rows | Aside]:
    """What a format reads; a format of somebody's own may fail in ways of its own."""
    rows, failure = format_.read(part), None
    while failure is None:
        try:
            given = next(rows, None)
        except Exception as cause:
            if isinstance(cause, (DiurnalError, OSError, MemoryError)) or type(format_) in FORMATS.values():
                raise
            failure = type(cause).__name__
        else:
            if given is None:
                return
            yield given
    # Not from what failed: its message may show what it could not read.
    raise part.fault("format-reader-failed", format=format_.name, reason=failure)


def _check_all(format_: Format, parts: Sequence[Part]) -> None:
    for part in parts[1:]:
        if format_.recognises(part) is None:
            raise part.fault("format-mixed", format=format_.name, first=parts[0].name)
