"""Headend: sends readings, and each batch again by its key until it is answered.

Most batches are a whole step. Some come in halves, the second after the next step; some are sent twice, late,
corrected, with readings that are wrong, under a key that was used; some cannot be read. Of each it is known before
what the stream will set aside of it, so that a batch that was taken twice would be counted.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import numpy as np

import diurnal as dn
from benchmarks.soaking.city import GRID, HOMES, NAMES, REPORTED, TOP, steps
from benchmarks.soaking.house import House
from benchmarks.soaking.seen import Seen
from diurnal.client import ARROW, Client, _arrow
from diurnal.errors import ServiceError

HALF = HOMES // 2


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What is sent, and what should become of it."""

    what: str
    """What it is like."""
    key: str
    """What it goes by."""
    body: bytes
    """Its bytes."""
    kind: str = ARROW
    """How it is written."""
    packed: bool = False
    """Whether as gzip."""
    status: int = 200
    """How it should be answered."""
    aside: Counter[str] = field(default_factory=Counter)
    """What the stream should set aside of it."""
    beyond: Counter[str] = field(default_factory=Counter)
    """What should be set aside before any stream sees it."""


def sent(house: House, seen: Seen, end: threading.Event) -> None:
    """Send batch after batch until the end, and then a few whole steps, so that none stays open."""
    # From an address of its own: limits are for each.
    transport, token = httpx.HTTPTransport(local_address="127.0.0.3"), house.city.tokens["ingest"]
    hooks = seen.hook("head-end")
    with Client(house.url, token=token, patience=120, timeout=30, transport=transport, event_hooks=hooks) as client:
        for step in range(REPORTED, REPORTED + 10**6):
            if end.is_set():
                break
            seen.needles.sums(steps(step, step + 1))
            for batch in _day(step):
                _send(client, batch, seen)
        for last in range(step, step + 3):
            _send(client, _whole(last, what="whole"), seen)


def _send(client: Client, batch: Batch, seen: Seen) -> None:
    headers = {"Content-Type": batch.kind, "Idempotency-Key": batch.key}
    body = gzip.compress(batch.body, 1) if batch.packed else batch.body
    if batch.packed:
        headers["Content-Encoding"] = "gzip"
    began = time.perf_counter()
    seen.departed.set()
    try:
        query = {"minutes": str(GRID.minutes)}
        answer = client._asked("POST", "/v1/readings", content=body, headers=headers, params=query).json()
        status = 200
    except ServiceError as error:
        answer, status = {"error": error.message}, error.status or 0
    assert status == batch.status, f"a batch ({batch.what}) was answered {status}: {answer}"
    seen.batches[batch.what] += 1
    if status != 200:
        return
    seen.took.append(time.perf_counter() - began)
    seen.heads.append(answer["head"])
    if batch.key in seen.keys:
        assert answer["again"], "a batch was taken twice"
        return
    seen.keys.add(batch.key)
    seen.aside += batch.aside
    seen.aside.update({f"batch_{what}": number for what, number in batch.beyond.items()})
    if answer["again"]:
        # It was taken, and whoever took it was killed before they could say so.
        seen.batches["taken, though no answer came the first time"] += 1
        return
    said = Counter(answer["streams"][0]["set_aside"])
    assert said == batch.aside, f"of a batch ({batch.what}) {said} was set aside, not {batch.aside}"
    assert Counter(answer["set_aside"]) == batch.beyond, (
        f"of a batch ({batch.what}) {answer['set_aside']} was wrong"
    )


def _day(step: int) -> Iterator[Batch]:
    """What is sent at a step."""
    turn = step % 12
    if turn == 1:
        yield _part(step, 0, HALF, what="half")
        if step % 24 == 1:
            yield _part(step, 20, 50, what="repeated", aside={"held_before": 30})
            yield _part(step, 20, 50, what="corrected", add=1, aside={"held_before": 30})
        return
    yield _wrong(step) if turn == 4 else _whole(step, what="whole")
    if turn == 2:
        yield _part(step - 1, HALF, HOMES, what="half, after the next step")
    elif turn == 3:
        yield _whole(step, what="sent twice")
    elif turn == 5:
        aside = {"late": HOMES, "steps_published_before": 1}
        yield _part(step - 3, 0, HOMES, what="late", aside=aside)
    elif turn == 7:
        yield Batch(
            what="cannot be read", key=f"bad {step}", body=b"household,time\n1", kind="text/csv", status=422
        )
    elif turn == 9:
        other = _part(step, 0, HOMES, what="another under its key", add=2)
        yield Batch(what=other.what, key=f"step {step}", body=other.body)


def _whole(step: int, *, what: str) -> Batch:
    """All readings of a step, in one of the ways there are to write them."""
    panel = steps(step, step + 1)
    if step % 5 == 1:
        return Batch(what=what, key=f"step {step}", body=_csv(panel), kind="text/csv", packed=step % 2 == 1)
    if step % 5 == 3:
        return Batch(what=what, key=f"step {step}", body=_json(panel), kind="application/json")
    return Batch(what=what, key=f"step {step}", body=_arrow(panel))


def _part(
    step: int, start: int, stop: int, *, what: str, add: int = 0, aside: dict[str, int] | None = None
) -> Batch:
    """Readings of some homes."""
    whole = steps(step, step + 1)
    panel = dn.Panel.from_array(
        whole.readings[:, start:stop] + add, households=NAMES[start:stop], grid=GRID, first_step=step
    )
    return Batch(what=what, key=f"{what} {step}", body=_arrow(panel), aside=Counter(aside or {}))


def _wrong(step: int) -> Batch:
    """A step of which some readings are beyond what a meter can read, and one is of a home that is not there."""
    whole = steps(step, step + 1)
    readings = np.array(whole.readings)
    readings[:, 20:23] = TOP + 7
    names = [*NAMES[:-1], "stranger"]
    panel = dn.Panel.from_array(readings, households=names, grid=GRID, first_step=step)
    aside, beyond = Counter({"unknown_household": 1}), Counter({"outside_domain": 3})
    return Batch(what="some readings wrong", key=f"step {step}", body=_arrow(panel), aside=aside, beyond=beyond)


def _rows(panel: dn.Panel) -> Iterator[dict[str, str]]:
    for step, line in zip(panel.steps, panel.readings.tolist(), strict=True):
        time = panel.grid.wall(step).isoformat()
        yield from (
            {"household": name, "time": time, "value": str(value)}
            for name, value in zip(panel.households, line, strict=True)
        )


def _csv(panel: dn.Panel) -> bytes:
    return "\n".join(["household,time,wh", *(",".join(row.values()) for row in _rows(panel)), ""]).encode()


def _json(panel: dn.Panel) -> bytes:
    return json.dumps({"readings": list(_rows(panel))}).encode()
