"""Readers: those who read reports as they are meant to be read, and remember all they were told."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from typing import Any

import httpx

from benchmarks.soaking.city import FIRST, GRID
from benchmarks.soaking.house import House
from benchmarks.soaking.seen import Seen
from diurnal.client import Client

FORMATS = ("json", "csv", "arrow", "parquet")
LATELY = 6 * GRID.slots
"""How many of the last steps the newest page has."""


def _client(house: House, seen: Seen, who: str, address: str, end: threading.Event) -> Client:
    def wait(seconds: float) -> None:
        if end.wait(seconds):
            raise TimeoutError("the end has come")

    transport, hooks = httpx.HTTPTransport(local_address=address), seen.hook(who)
    return Client(house.url, patience=120, timeout=30, wait=wait, transport=transport, event_hooks=hooks)


def read_ranges(house: House, seen: Seen, end: threading.Event) -> None:
    """Ask for ranges in every format; those that are finished are never other than they were."""
    with _client(house, seen, "ranges", "127.0.0.4", end) as client:
        for form in itertools.cycle(FORMATS):
            start = random.randrange(FIRST, max(seen.rows, default=FIRST) + 1)
            name = (start, start + random.choice((1, 4, 24)), form)
            query = {"start": str(name[0]), "stop": str(name[1]), "format": form}
            answer = client._asked("GET", f"/v1/streams/{house.city.stream}/reports", params=query)
            if "immutable" in answer.headers["cache-control"]:
                seen.range_shown(name, answer.content)
            if end.wait(0.02):
                return


def read_newest(house: House, seen: Seen, end: threading.Event) -> None:
    """Read the newest page again and again."""
    with _client(house, seen, "newest page", "127.0.0.5", end) as client:
        while not end.wait(0.1):
            last = client.streams()[0]["last_step"]
            rows = list(client.reports(house.city.stream, start=max(FIRST, last - LATELY)))
            # Of several processes one may have looked at the store a second before the other.
            assert house.workers > 1 or rows[-1]["step"] >= last, "a page is behind the list of streams"
            seen.shown(rows)


def read_promise(house: House, seen: Seen, end: threading.Event) -> None:
    """Read the plan, the promise, and the pages for people; they are what they were."""
    base = f"/v1/streams/{house.city.stream}"
    with _client(house, seen, "plan, promise and pages", "127.0.0.6", end) as client:
        while not end.wait(0.3):
            seen.plans.add(_text(client._asked("GET", base).json()["plan"]))
            seen.promises.add(_text(client.promise(house.city.stream)))
            for path in ("/", f"/streams/{house.city.stream}", "/custodian", "/metrics", "/openapi.json"):
                client._asked("GET", path)


def listened(house: House, seen: Seen, end: threading.Event) -> None:
    """Listen to events from the first on; hang up now and then, and go on where one was."""
    last = "0"
    with _client(house, seen, "events", "127.0.0.7", end) as client:
        while not end.is_set():
            until = time.monotonic() + random.uniform(1, 8)
            for event in client.events(house.city.stream, after=last):
                seen.search("events", json.dumps(event).encode())
                seen.shown(event["rows"])
                seen.told += [row["step"] for row in event["rows"]]
                last = event["id"]
                if time.monotonic() > until:
                    break


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True)
