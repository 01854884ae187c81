"""Settings: what an operator decides about a service."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from diurnal.curator.store import Clock, utc_now
from diurnal.promise.budget import Budget

MEGABYTE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of everything is taken, so that nobody can wear the service out."""

    body: int = 64 * MEGABYTE
    """The largest batch of readings, in bytes, sent or unpacked."""
    json: int = 8 * MEGABYTE
    """The largest batch of JSON: reading it keeps everybody waiting, as reading CSV or Arrow does not."""
    question: int = 256 * 1024
    """The largest body of any other request: a plan, mostly."""
    rows: int = 2_000_000
    """The most rows of a batch."""
    page: int = 10_000
    """The most rows of a page of reports."""
    pages: int = 32
    """How many pages are being made at a time, at most."""
    client_pages: int = 8
    """How many of them for one client."""
    patience: float = 60.0
    """How many seconds a body may take to arrive."""
    requests: float = 100.0
    """How many requests a client may make in a second, in the long run; 0 for any number."""
    burst: int = 400
    """How many at once, after a rest."""
    guesses: int = 10
    """How many wrong tokens a client may show at once; one more every twelve seconds."""
    at_once: int = 500
    """How many requests of the public are worked on at a time, those that wait for events apart."""
    kept: int = 64
    """How many places nobody else can take: for health, and for who shows a token of ingest or a custodian."""
    batches: int = 4
    """How many batches are in the house at a time: each may be as large as a body."""
    listeners: int = 1000
    """How many may wait for events, all together."""
    client_listeners: int = 8
    """How many of one client."""
    replays: int = 16
    """How many of those who wait for events are told of what is long past, at a time."""
    client_replays: int = 4
    """How many of one client."""
    replay: float = 300.0
    """How many seconds that may take; who has not come to the end then is hung up on, and may come back."""
    cache: int = 64 * MEGABYTE
    """How many bytes of pages, answers and events are kept."""

    @property
    def connections(self) -> int:
        """How many connections there may be: as many as are answered at a time, of every kind."""
        return self.at_once + self.kept + self.listeners


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What an operator decides."""

    store: str
    """The store: a file, or an address of PostgreSQL."""
    budget: Budget | None = None
    """The caps with which it is made, where there is none yet."""
    profiles: str | None = None
    """The folder of private profiles; beside the file unless given."""
    panel: str | None = None
    """The panel of the homes, for check, plan and start. Private."""
    without: tuple[str, ...] = ()
    """Households that are left out of it; `@` and a path for a file of names, which is read each time."""
    open_data: str | None = None
    """Public readings of other homes, for predicted errors."""
    tokens: Path | None = None
    """The file of tokens; without one there is nobody but the public."""
    reads_need_token: bool = False
    """Whether the public needs a token as well."""
    trust_units: bool = False
    """Whether batches are taken although they look a thousand times too small or too large."""
    secure: bool = False
    """Whether clients come over TLS, here or at a proxy."""
    poll: float = 1.0
    """How many seconds until something that another process wrote is seen."""
    heartbeat: float = 15.0
    """After how many quiet seconds who waits for events hears that they still can."""
    overdue_every: float = 60.0
    """After how many seconds it is looked again for what is past its deadline."""
    overdue_after: float = 600.0
    """For how many seconds after its start a service leaves what is past its deadline open: senders that could not
    reach it may have more."""
    clock: Clock = utc_now
    """What time it is, with an offset."""
    limits: Limits = field(default_factory=Limits)
    """How much of everything."""
