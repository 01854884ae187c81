"""Seen: what was seen from outside while a service ran, was killed and was attacked."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx

from benchmarks.soaking.city import Needles, as_text


@dataclass
class Life:
    """A service from its beginning to its end."""

    began: float
    """When, in seconds since the soak began."""
    ready: float | None = None
    """When it answered."""
    end: str = ""
    """How it ended."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """When, and how many MB all its processes had."""


@dataclass
class Seen:
    """What was seen."""

    needles: Needles
    """What must not be."""
    began: float = field(default_factory=time.monotonic)
    """When it all began."""
    took: list[float] = field(default_factory=list)
    """How many seconds each good batch took to be answered, kills and all."""
    batches: Counter[str] = field(default_factory=Counter)
    """Batches, by what they were like."""
    aside: Counter[str] = field(default_factory=Counter)
    """What the batches should have set aside, by the stream's counters."""
    keys: set[str] = field(default_factory=set)
    """The key of every batch that was taken."""
    heads: list[str] = field(default_factory=list)
    """Heads of the ledger, as they were published."""
    rows: dict[int, str] = field(default_factory=dict)
    """Every row that was ever answered."""
    ranges: dict[tuple[int, int, str], bytes] = field(default_factory=dict)
    """Every finished range that was ever answered, by its edges and format."""
    told: list[int] = field(default_factory=list)
    """The steps that came as events, in their order."""
    plans: set[str] = field(default_factory=set)
    """What the stream said its plan is."""
    promises: set[str] = field(default_factory=set)
    """What it said it promises."""
    answers: Counter[str] = field(default_factory=Counter)
    """Answers to those who mean well, by what was asked and status."""
    attacks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Answers to attacks, by their kind."""
    beside: Counter[str] = field(default_factory=Counter)
    """What the command line did beside the service."""
    lives: list[Life] = field(default_factory=list)
    """Every service that ran, one after the other."""
    ends: Counter[str] = field(default_factory=Counter)
    """How services ended, and single processes."""
    away: list[float] = field(default_factory=list)
    """How many seconds nobody answered, after each end."""
    scanned: int = 0
    """How many bytes of answers and of the log were searched for what is private."""
    failed: list[str] = field(default_factory=list)
    """What went wrong."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.departed = threading.Event()
        """Set whenever a batch is sent: that is when a kill hurts."""

    def now(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    def fail(self, words: str) -> None:
        """Something went wrong."""
        with self._lock:
            self.failed.append(f"{self.now():.1f} s: {words}")

    def watched(self, job: Callable[[], None], end: threading.Event) -> None:
        """Do a job; what goes wrong with it is remembered, unless the end has come."""
        try:
            job()
        except Exception as error:
            if not end.is_set():
                self.fail(f"{type(error).__name__}: {error}")

    def hook(self, who: str) -> dict[str, list[Callable[[httpx.Response], None]]]:
        """What a client of httpx is given, so that every answer to it is looked at."""

        def look(answer: httpx.Response) -> None:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                self.search(who, json.dumps(dict(answer.headers)).encode())
            else:
                self.look(who, answer)

        return {"response": [look]}

    def look(self, who: str, answer: httpx.Response) -> None:
        """Look at an answer: it is never an error of the service, and has nothing private in it."""
        content = answer.read()
        with self._lock:
            self.answers[f"{who} {answer.status_code}"] += 1
        if answer.status_code >= 500:
            self.fail(f"{who} was answered {answer.status_code}: {content[:300]!r}")
        self.search(who, content, json.dumps(dict(answer.headers)).encode())

    def search(self, who: str, *answers: bytes) -> None:
        """Look for what is private."""
        self.scanned += sum(map(len, answers))
        for each in self.needles.found_in(*answers):
            self.fail(f"{who} was told {each}")

    def attacked(self, kind: str, answer: str, content: bytes, *, expected: Iterable[str], excused: bool) -> None:
        """An attack was answered.

        Args:
            kind: Which.
            answer: The status, or that the connection was hung up.
            content: What came back.
            expected: The answers that are meant.
            excused: Whether a service that ended meanwhile explains that it hung up.
        """
        with self._lock:
            self.attacks[kind][answer] += 1
        if answer not in expected and not (excused and answer == HUNG_UP):
            self.fail(f"{kind}: answered {answer}, {content[:200]!r}")
        self.search(kind, content)

    def shown(self, rows: Iterable[dict[str, Any]]) -> None:
        """Rows were answered: none may be other than it was."""
        for row in rows:
            words = as_text(row)
            if self.rows.setdefault(row["step"], words) != words:
                self.fail(f"the row of step {row['step']} has changed")

    def range_shown(self, name: tuple[int, int, str], content: bytes) -> None:
        """A finished range was answered: it may never be other than it was."""
        if self.ranges.setdefault(name, content) != content:
            self.fail(f"the finished range {name} has changed")

    @property
    def peaks(self) -> list[float]:
        """The most memory of every life that lasted."""
        return [max(size for _, size in life.memory) for life in self.lives if len(life.memory) > 3]

    @property
    def growth(self) -> float | None:
        """By which share memory grew in the longest life: the last fifth over the third; None if it was short."""
        longest = max((life.memory for life in self.lives), key=len)
        part = len(longest) // 5
        if part < 10:
            return None
        sizes = [size for _, size in longest]
        return statistics.median(sizes[-part:]) / statistics.median(sizes[2 * part : 3 * part]) - 1


HUNG_UP = "hung up"
"""What an attack is answered where there is no status."""
