"""Metrics: what an operator's Prometheus reads.

There are two sets. The public one, at /metrics, is about public routes alone. How many batches come in, and what
was set aside of them, tells how many meters speak: that is the custodian's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from diurnal.curator.status import StreamStatus

SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Between which durations are counted."""


class Metrics:
    """What is counted in one process."""

    def __init__(self) -> None:
        self._public, self._all = CollectorRegistry(), CollectorRegistry()
        self._known: dict[tuple[str, str, int], list[tuple[Counter, Histogram]]] = {}
        names = ("method", "route", "status")
        about = "Requests to public routes, by route and answer."
        self._requests = Counter("diurnal_http_requests", about, names, registry=self._public)
        about = "How long public routes took to answer."
        self._seconds = Histogram("diurnal_http_seconds", about, ("route",), buckets=SECONDS, registry=self._public)
        about = "Who waits for events."
        self.listeners = Gauge("diurnal_event_listeners", about, registry=self._public)
        about = "Streams, by whether they run."
        self._streams = Gauge("diurnal_streams", about, ("state",), registry=self._public)
        about = "Pages of reports that were had from the cache, or had to be made."
        pages = Counter("diurnal_pages", about, ("from",), registry=self._public)
        self.from_cache, self.from_store = pages.labels("cache"), pages.labels("store")
        about = "Limits that the public has met on public routes."
        self._limits = Counter("diurnal_limits_met", about, ("limit",), registry=self._public)
        about = "Limits that were met, by who met them."
        self._every_limit = Counter("diurnal_all_limits_met", about, ("limit", "who"), registry=self._all)
        about = "Requests to all routes, by route and answer."
        self._every = Counter("diurnal_all_requests", about, names, registry=self._all)
        about = "How long all routes took to answer."
        self._every_second = Histogram(
            "diurnal_all_seconds", about, ("route",), buckets=SECONDS, registry=self._all
        )
        about = "What streams have set aside, by stream and reason."
        self._aside = Gauge("diurnal_set_aside", about, ("stream", "reason"), registry=self._all)
        about = "Steps that are held open, by stream."
        self._held = Gauge("diurnal_held_steps", about, ("stream",), registry=self._all)
        about = "Steps that are held ahead of what other homes have sent, by stream."
        self._stray = Gauge("diurnal_stray_steps", about, ("stream",), registry=self._all)
        about = "For how long readings of the oldest open cycle have been coming, by stream."
        self._age = Gauge("diurnal_held_seconds", about, ("stream",), registry=self._all)
        about = "Cycles that are past their deadline and still open, by stream."
        self._overdue = Gauge("diurnal_overdue_cycles", about, ("stream",), registry=self._all)
        about = "Whether readings look a thousand times too small or too large, since the service began."
        self._units = Gauge("diurnal_units_alarm", about, ("stream", "looks"), registry=self._all)
        about = "Households that looked plausible, too small or too large, batch by batch, since the service began."
        self._looked = Gauge("diurnal_units_looked", about, ("stream", "looks"), registry=self._all)
        about = "Batches that were refused for their unit, since the service began."
        self._refused = Gauge("diurnal_units_refused", about, ("stream",), registry=self._all)

    def request(self, method: str, route: str, status: int, seconds: float, *, public: bool) -> None:
        """Count a request that was answered."""
        names = (method if method in ("GET", "POST", "OPTIONS", "HEAD") else "other", route, status)
        if names not in self._known:
            # Looking them up by name takes longer than to count: they are few, and kept.
            sets = ((self._every, self._every_second), *(((self._requests, self._seconds),) if public else ()))
            self._known[names] = [(count.labels(*names), took.labels(route)) for count, took in sets]
        for count, took in self._known[names]:
            count.inc()
            took.observe(seconds)

    def limit(self, limit: str, who: str, *, public: bool) -> None:
        """Count a limit that was met."""
        self._every_limit.labels(limit, who).inc()
        if public:
            self._limits.labels(limit).inc()

    def streams(self, ended: Iterable[bool]) -> None:
        """Say how many streams run, and how many do not."""
        states = list(ended)
        self._streams.labels("running").set(states.count(False))
        self._streams.labels("stopped").set(states.count(True))

    def set_aside(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Say what streams have set aside. For the custodian."""
        for stream, reasons in counts.items():
            for reason, number in reasons.items():
                self._aside.labels(stream[:12], reason).set(number)

    def held(self, streams: Iterable[StreamStatus], now: datetime) -> None:
        """Say what streams hold, and for how long. For the custodian."""
        for stream in streams:
            name = stream.plan[:12]
            since = None if stream.held_since is None else datetime.fromisoformat(stream.held_since)
            self._held.labels(name).set(stream.open_steps)
            self._stray.labels(name).set(stream.stray_steps)
            self._age.labels(name).set(0 if since is None else max(0.0, (now - since).total_seconds()))
            self._overdue.labels(name).set(stream.overdue)

    def units(self, stream: str, alarms: Iterable[str], refused: int, looked: Mapping[str, int]) -> None:
        """Say how what was sent to a stream looks. For the custodian."""
        looks = set(alarms)
        for each in ("too small", "too large"):
            self._units.labels(stream[:12], each).set(each in looks)
        self._refused.labels(stream[:12]).set(refused)
        for each, number in looked.items():
            self._looked.labels(stream[:12], each).set(number)

    def public_text(self) -> bytes:
        """What everybody may read."""
        return generate_latest(self._public)

    def all_text(self) -> bytes:
        """What the custodian may read."""
        return generate_latest(self._public) + generate_latest(self._all)
