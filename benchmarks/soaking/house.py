"""House: the service as processes that are begun, stopped, killed and begun again on the same store."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx

from benchmarks.soaking.city import City, free_port
from benchmarks.soaking.seen import Life, Seen

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from diurnal.show.cli import main; main()")

CALM = 0.25
"""In which last share of the time nobody ends the service, so that memory can settle."""


class House:
    """One service, at one address for as long as it is soaked."""

    def __init__(self, city: City, seen: Seen, *, workers: int) -> None:
        self.city, self.workers, self.port = city, workers, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = city.folder / "log.jsonl"
        self.ends = 0
        """How many ends have begun: who was hung up on may look whether there was one."""
        self.is_up = False
        self._seen = seen

    def begin(self) -> None:
        """Begin, on the store as it is; it may not answer yet."""
        folder = self.city.folder
        command = [
            *(sys.executable, "-m", "benchmarks.soaking.serving", "serve", "--store", self.city.store),
            *("--profiles", str(self.city.profiles), "--tokens", str(folder / "tokens.json")),
            *("--panel", str(folder / "homes.parquet"), "--port", str(self.port), "--json"),
            *("--max-body", "2", "--max-rows", "5000", "--workers", str(self.workers), "--log-level", "info"),
        ]
        self._seen.lives.append(Life(began=self._seen.now()))
        with self.log.open("ab") as log:
            # A session of its own, so that a signal reaches all its processes.
            self.process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=log, cwd=ROOT, env=_environment(), start_new_session=True
            )

    def wait(self, since: float) -> None:
        """Wait until it answers.

        Args:
            since: When nobody answered any more.
        """
        for _ in range(1200):
            assert self.process.poll() is None, f"the service ended by itself: {self.log.read_text()[-1000:]}"
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("the service did not begin within a minute")
        now = self._seen.now()
        self._seen.lives[-1].ready = now
        self._seen.away.append(now - since)
        self.is_up = True

    def kill(self, how: str = "killed") -> None:
        """Kill all its processes at once, wherever they are."""
        self._ending(how)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self, how: str = "told to stop") -> None:
        """Tell it to stop: it ends in order, and soon."""
        self._ending(how)
        self.process.terminate()
        code = self.process.wait(timeout=40)
        if code:
            self._seen.fail(f"told to stop, it ended with code {code}")

    def kill_one(self) -> None:
        """Kill one of several processes: another one takes its place, and the rest go on."""
        workers = [pid for pid in _children(self.process.pid) if "spawn_main" in _line(pid)]
        if workers:
            self.ends += 1
            self.is_up = False
            self._seen.ends["one of its processes killed"] += 1
            with suppress(ProcessLookupError):
                os.kill(random.choice(workers), signal.SIGKILL)
            time.sleep(1)
            self.is_up = True

    def memory(self) -> float:
        """How many MB all its processes have."""
        return sum(map(_size, (self.process.pid, *_children(self.process.pid))))

    def _ending(self, how: str) -> None:
        self.ends += 1
        self.is_up = False
        self._seen.ends[how] += 1
        self._seen.lives[-1].end = how


def haunted(house: House, seen: Seen, end: threading.Event, *, seconds: float, every: float) -> None:
    """End the service again and again, and begin it at once; leave it alone in the last part of the time."""
    ways = ["killed", *(["one"] if house.workers > 1 else []), "told to stop", "killed while it begins"]
    for way in itertools.cycle(ways):
        if end.wait(every * random.uniform(0.5, 1.5)) or seen.now() > (1 - CALM) * seconds:
            return
        # A moment while a batch is being taken: at any other there is little to lose.
        seen.departed.clear()
        seen.departed.wait(2)
        time.sleep(random.uniform(0, 0.06))
        since = seen.now()
        if way == "one":
            house.kill_one()
            continue
        house.stop() if way == "told to stop" else house.kill()
        house.begin()
        if way == "killed while it begins":
            time.sleep(random.uniform(0.2, 2.0))
            house.kill(way)
            house.begin()
        house.wait(since)


def measured(house: House, seen: Seen, end: threading.Event) -> None:
    """Look at the memory every second."""
    while not end.wait(1):
        if house.is_up:
            seen.lives[-1].memory.append((seen.now(), house.memory()))


def operated(house: House, seen: Seen, end: threading.Event, *, pause: float) -> None:
    """What an operator does beside the service: back the store up, verify its ledger, look how it stands."""
    city = house.city
    where = ["--store", city.store, "--profiles", str(city.profiles), "--json"]
    for number in itertools.count():
        out = city.folder / f"backup-{number}.db"
        for words in (["backup", "--out", str(out)], ["ledger", "--verify"], ["status"]):
            done = subprocess.run([*COMMAND, *words, *where], capture_output=True, text=True, env=_environment())
            seen.beside[words[0]] += 1
            if done.returncode:
                seen.fail(f"diurnal {words[0]} beside the service: {done.stdout[-300:]} {done.stderr[-300:]}")
            else:
                content = json.loads(done.stdout)
                seen.heads.append(content["head"])
                assert content.get("sound", True)
            if end.wait(pause):
                return


def _environment() -> dict[str, str]:
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _children(pid: int) -> list[int]:
    try:
        own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [each for child in map(int, own) for each in (child, *_children(child))]


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _size(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return 0.0
