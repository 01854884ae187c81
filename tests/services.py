"""What tests of the service need: a store full of numbers to look for, tokens, the application, a real process."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import httpx
import numpy as np
import pyarrow as pa

import diurnal as dn
from diurnal.show.web import tokens

HOUSEHOLD = "Q-secret-household-77"
SECRET = 765_432
GRID = dn.Grid(slots=4, minutes=360, zone="Australia/Sydney", anchor="2022-07-01T00:00")
HOMES, CYCLES, HISTORY = 20, 40, 6
FIRST = HISTORY * 4
"""The first step that is reported."""
NEXT = FIRST + 32
"""The first step that a city has not reported."""

ROLES = ("public", "ingest", "custodian")
ARROW = "application/vnd.apache.arrow.stream"


def panel():
    """Readings of six digits, one home's always the same, and a household with a name to look for."""
    rng = np.random.default_rng(3)
    usual = rng.integers(3 * 10**5, 6 * 10**5, size=HOMES)
    readings = usual + rng.integers(-(10**5), 10**5, size=(CYCLES * 4, HOMES))
    readings[:, 7] = SECRET
    names = [f"secret-home-{number:02}" for number in range(HOMES)]
    names[7] = HOUSEHOLD
    groups = {"side": ["left" if number < 10 else "right" for number in range(HOMES)]}
    return dn.Panel.from_array(readings, households=names, grid=GRID, groups=groups)


def plan(**more):
    fields = {
        "query": dn.Mean(),
        "grid": GRID,
        "domain": (0, 9 * 10**5),
        "history": HISTORY,
        "epsilon": "1",
        "level": "strong",
        "mechanism": "cube",
        "cycle_mechanism": "cube",
        "variation_bound": 10**5,
        "minimum_group": 2,
    }
    return dn.Plan(**{**fields, **more})


def found_city(folder, *, reported=8, where=None, **more):
    """A store with a stream that has reported some cycles, the panel beside it, and tokens of every role."""
    homes = panel()
    dn.save_panel(homes, folder / "homes.parquet")
    store = folder / "city.db" if where is None else where
    curator = dn.Curator.open(store, dn.Budget(pattern="9", cycle="9"), profiles=folder / "profiles")
    stream = curator.start(plan(**more), history=homes.first(HISTORY), acknowledge="untested", accept_worse=True)
    if reported:
        stream.report(homes.between(FIRST, FIRST + 4 * reported))
    made = {role: tokens.make(folder / "tokens.json", name=role, role=role) for role in ROLES}
    (folder / "made.json").write_text(json.dumps(made))
    return stream.plan.hash


def shown(folder):
    """The tokens by role."""
    return json.loads((folder / "made.json").read_text())


def bearer(folder, role):
    return {} if role is None else {"Authorization": f"Bearer {shown(folder)[role]}"}


def rows_of(part):
    """Readings of a panel, a row each."""
    return [
        {"household": name, "time": part.grid.wall(step).isoformat(), "value": str(int(value))}
        for step, line in zip(part.steps, part.readings, strict=True)
        for name, value in zip(part.households, line, strict=True)
    ]


def arrow_of(rows):
    table = pa.table({("wh" if name == "value" else name): [row[name] for row in rows] for name in rows[0]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def csv_of(rows):
    return "\n".join(["household,time,wh", *(",".join(row.values()) for row in rows)]).encode() + b"\n"


def json_of(rows):
    return json.dumps({"readings": rows}).encode()


BODIES = {"application/json": json_of, "text/csv": csv_of, ARROW: arrow_of}


class Process:
    """A service in a process of its own."""

    def __init__(self, folder, *more, store=None, port=0, script=None):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "log.jsonl"
        command = [
            *((sys.executable, "-c", RUN) if script is None else (sys.executable, str(script))),
            *("serve", "--store", str(store or self.folder / "city.db"), "--port", str(port), "--json"),
            *("--profiles", str(self.folder / "profiles"), "--tokens", str(self.folder / "tokens.json")),
            *("--panel", str(self.folder / "homes.parquet"), "--log-level", "info", *map(str, more)),
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=dict(os.environ))
        line = self.process.stdout.readline()
        assert line, self.log.read_text()[-2000:]
        self.url = json.loads(line)["address"]
        self.port = int(self.url.rpartition(":")[2])

    def http(self, role=None, *, timeout=30):
        return httpx.Client(base_url=self.url, headers=bearer(self.folder, role), timeout=timeout)

    def wait_until_ready(self, **more):
        for _ in range(200):
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", **more).status_code == 200:
                    return self
            time.sleep(0.05)
        raise AssertionError(self.log.read_text()[-2000:])

    def end(self, number=signal.SIGTERM):
        """End it; its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=40)
        self.process.stdout.close()
        return code


RUN = "from diurnal.show.cli import main; main()"


@contextlib.contextmanager
def running(folder, *more, **said):
    """A service that runs, and is ended."""
    process = Process(folder, *more, **said).wait_until_ready()
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)
        process.process.stdout.close()


def lines_of(process, event):
    """What a service has logged of an event."""
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    return [line for line in lines if line["event"] == event]
