"""Options: what a user may say about a panel to be made, checked before any row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from diurnal.errors import ReadingsError
from diurnal.exact import whole
from diurnal.readings.clock import EARLIEST, LATEST
from diurnal.readings.formats.base import MICRO
from diurnal.readings.grid import minutes_of, slots_of
from diurnal.readings.register import (
    MeterList,
    calendar_list,
    group_list,
    meter_list,
    tenancy_list,
    wall_seconds,
)
from diurnal.readings.resampling import Fold, OnDuplicate

SUPPLY_KW = 100
"""A home's supply in kW: readings beyond it are set aside unless a domain is given."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a panel is to be made."""

    minutes: int
    """The length of a step."""
    slots: int
    """How many steps a cycle has."""
    unit: str
    """What one whole number is."""
    zone: str
    """The wall clock of the homes."""
    anchor: int | None
    """When step 0 begins, in seconds of the wall clock since 1970; the first complete local day unless given."""
    from_first_row: bool
    """Whether step 0 is that of the first row instead, however little of its day there is."""
    until: int | None
    """When the last step ends; after the last row unless given."""
    window: tuple[int, int] | None
    """Between which times rows may start that are for a stream; others are set aside, and stretch no panel."""
    domain: tuple[int, int]
    """Between which values a reading lies, in whole units."""
    calendar: tuple[tuple[int, int], ...]
    """Spans of the wall clock whose true totals are public."""
    fold: Fold
    """What becomes of the hour that a clock change doubles."""
    on_duplicate: OnDuplicate
    """What to do with different values for one meter and time."""
    meters: MeterList | None
    """Which household each meter belongs to."""
    groups: Mapping[str, Mapping[str, str]] = field(repr=False)
    """For each partition the group of each household."""
    tenancies: tuple[tuple[str, int], ...] | None = field(repr=False)
    """Households and when their tenancy changed."""

    @classmethod
    def of(
        cls,
        *,
        period: str | int,
        interval: str | int,
        unit: str,
        zone: str | None,
        anchor: str | None,
        from_first_row: bool,
        until: str | None,
        window: tuple[str, str] | None,
        domain: tuple[int, int] | None,
        calendar: str | Path | Iterable[tuple[str, str]] | None,
        fold: Fold,
        on_duplicate: OnDuplicate,
        meters: str | Path | Mapping[str, str] | None,
        groups: str | Path | Mapping[str, Mapping[str, str]] | None,
        tenancies: str | Path | Mapping[str, str] | None,
    ) -> Options:
        """What the user said, read and checked.

        Raises:
            ReadingsError: Some of it makes no sense.
        """
        minutes = minutes_of(interval)
        if unit not in ("Wh", "kWh"):
            raise ReadingsError("panel-unit-unknown", unit=unit)
        return cls(
            minutes=minutes,
            slots=slots_of(period, minutes),
            unit=unit,
            zone=_zone(zone),
            anchor=_wall(anchor, "anchor"),
            from_first_row=from_first_row,
            until=_wall(until, "until"),
            window=None if window is None else _window(*window),
            domain=_domain(domain, unit, minutes),
            calendar=() if calendar is None else tuple(calendar_list(calendar)),
            fold=_one_of(fold, "fold", ("calendar", "first", "mean")),
            on_duplicate=_one_of(on_duplicate, "on_duplicate", ("refuse", "first", "last")),
            meters=None if meters is None else meter_list(meters),
            groups={} if groups is None else group_list(groups),
            tenancies=None if tenancies is None else tuple(tenancy_list(tenancies)),
        )


def _window(start: str, stop: str) -> tuple[int, int]:
    """Two times of the wall clock, as far as there are panels at them."""
    low, high = (wall_seconds(each) or 0 for each in (start, stop))
    return max(low, EARLIEST), min(high, LATEST)


def _domain(domain: tuple[int, int] | None, unit: str, minutes: int) -> tuple[int, int]:
    if domain is None:
        return 0, SUPPLY_KW * minutes * 10**9 // (60 * MICRO[unit])
    if isinstance(domain, str) or not isinstance(domain, Iterable) or len(bounds := tuple(domain)) != 2:
        raise ReadingsError("domain-not-pair")
    low, high = (whole(bound, "domain", least=-(10**12), error=ReadingsError) for bound in bounds)
    if low > high:
        raise ReadingsError("domain-order")
    return low, high


def _zone(zone: str | None) -> str:
    try:
        ZoneInfo(zone or "")
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ReadingsError("zone-missing" if zone is None else "panel-zone-unknown", zone=zone) from None
    return str(zone)


def _wall(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    seconds = wall_seconds(text)
    if seconds is None or seconds % 60 or not EARLIEST <= seconds < LATEST:
        raise ReadingsError("time-not-local", name=name)
    return seconds


def _one_of(value: Any, name: str, values: tuple[str, ...]) -> Any:
    if value not in values:
        raise ReadingsError("argument-unknown-value", name=name, choices=", ".join(values), example=values[0])
    return value
