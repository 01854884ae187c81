"""Walk: which way one reading goes through the house.

    python tools/walk.py            the report of a complete day, a day posted to the service, and a page

Printed are the modules that are passed, in the order in which they are met, and how often the store is called: a
call of a method of `Store` from a module that is no part of it.
"""

from __future__ import annotations

import argparse
import dis
import json
import math
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import diurnal as dn
from diurnal.show.page import public_page

HOUSE = str(Path(dn.__file__).parent)
STORE = "curator.store"
"""The module of the store."""
HOMES, HISTORY = 30, 28


@dataclass
class Walk:
    """What was passed."""

    modules: dict[str, int] = field(default_factory=dict)
    """Calls by module, in the order in which they were met."""
    store: Counter[str] = field(default_factory=Counter)
    """Calls of the store, by method."""

    def met(self, frame: FrameType) -> None:
        """Note a call."""
        module = _module(frame)
        if module is None or frame.f_lasti >= _first_yield(frame.f_code):
            # A generator that goes on is not called again.
            return
        self.modules[module] = self.modules.get(module, 0) + 1
        kind, _, name = frame.f_code.co_qualname.partition(".")
        if kind == "Store" and not name.startswith("_") and "<" not in name and _module(frame.f_back) != STORE:
            self.store[name] += 1

    def forget(self) -> None:
        """Begin anew."""
        self.modules.clear()
        self.store.clear()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "modules": len(self.modules),
            "calls of functions": sum(self.modules.values()),
            "calls of the store": sum(self.store.values()),
            "by module": self.modules,
            "by method": dict(self.store.most_common()),
        }


@cache
def _first_yield(code: CodeType) -> float:
    """Where a generator's first yield is; beyond every function that has none."""
    yields = (each.offset for each in dis.get_instructions(code) if each.opname == "YIELD_VALUE")
    return next(yields, math.inf)


def _module(frame: FrameType | None) -> str | None:
    """The module of a frame, without the package's name; None outside the house."""
    name = "" if frame is None else frame.f_code.co_filename
    if not name.startswith(HOUSE):
        # A context manager's function is called by the standard library's.
        return _module(frame.f_back) if frame is not None and name.endswith("contextlib.py") else None
    return name[len(HOUSE) + 1 : -3].replace("/", ".")


@contextmanager
def walking() -> Iterator[Walk]:
    """Follow every call inside, in all threads."""
    walk = Walk()

    def trace(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            walk.met(frame)

    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def homes() -> dn.Panel:
    """Readings of nobody."""
    rng = np.random.default_rng(1)
    readings = rng.integers(100, 900, size=((HISTORY + 5) * 48, HOMES))
    grid = dn.Grid(slots=48, minutes=30, zone="Australia/Sydney", anchor="2022-07-01T00:00")
    return dn.Panel.from_array(readings, grid=grid)


def started(folder: Path, panel: dn.Panel) -> tuple[dn.Curator, Any]:
    """A strong plan whose days are reported as a whole, with a day that was reported before."""
    draft = dn.Plan(epsilon="1", domain=(0, 8000), history=HISTORY, grid=panel.grid)
    plan = dn.choose(dn.with_public_bounds(draft, panel, mean_reading=400), panel)
    curator = dn.Curator.open(folder / "city.db", dn.Budget(pattern="1", cycle="1"))
    stream = curator.start(plan, history=panel.first(HISTORY), acknowledge="untested", accept_worse=True)
    stream.report(panel.between(HISTORY * 48, (HISTORY + 1) * 48))
    return curator, stream


def a_report(folder: Path) -> Walk:
    """The report of a day that is complete when it comes."""
    panel = homes()
    _, stream = started(folder, panel)
    day = panel.between((HISTORY + 1) * 48, (HISTORY + 2) * 48)
    with walking() as walk:
        stream.report(day)
    return walk


def a_post(folder: Path) -> Walk:
    """A day that is complete when it comes, posted as JSON to a service that has taken the day before it."""
    from starlette.testclient import TestClient

    from diurnal.show.web import tokens
    from diurnal.show.web.app import application
    from diurnal.show.web.settings import Settings

    panel = homes()
    curator, _ = started(folder, panel)
    curator.close()
    dn.save_panel(panel, folder / "homes.parquet")
    token = tokens.make(folder / "tokens.json", name="head-end", role="ingest")
    settings = Settings(
        store=str(folder / "city.db"), tokens=folder / "tokens.json", panel=str(folder / "homes.parquet")
    )
    days = [panel.between(day * 48, (day + 1) * 48) for day in (HISTORY + 1, HISTORY + 2)]
    bodies = [{"readings": list(_rows(day))} for day in days]
    with TestClient(application(settings)) as client:
        client.get("/v1/streams")
        # Threads that are at work already are not followed: those that take readings begin with the first post.
        with walking() as walk:
            for body in bodies:
                walk.forget()
                answer = client.post("/v1/readings", json=body, headers={"Authorization": f"Bearer {token}"})
    assert answer.json()["streams"][0]["reports"] == 48, answer.text
    return walk


def _rows(panel: dn.Panel) -> Iterator[dict[str, str]]:
    for row, step in enumerate(panel.steps):
        for home, value in zip(panel.households, panel.readings[row], strict=True):
            yield {"household": home, "time": panel.grid.time(step), "value": str(value)}


def a_page(folder: Path) -> Walk:
    """A public page."""
    curator, stream = started(folder, homes())
    with walking() as walk:
        public_page(curator, stream)
    return walk


WALKS: dict[str, Callable[[Path], Walk]] = {"report": a_report, "post": a_post, "page": a_page}


def main() -> None:
    """Print the walks that were asked for."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("walks", nargs="*", default=list(WALKS), help=f"{', '.join(WALKS)}; all unless given.")
    asked.add_argument("--json", action="store_true", help="All of it, as JSON.")
    given = asked.parse_args()
    found = {}
    for name in given.walks:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = WALKS[name](Path(folder)).to_json()
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, walk in found.items():
        print(f"{name}: {walk['modules']} modules, {walk['calls of functions']} calls, ", end="")
        print(f"{walk['calls of the store']} of them of the store")
        print(f"  {', '.join(f'{module} {calls}' for module, calls in walk['by module'].items())}")
        print(f"  store: {', '.join(f'{method} {calls}' for method, calls in walk['by method'].items())}")


if __name__ == "__main__":
    main()
