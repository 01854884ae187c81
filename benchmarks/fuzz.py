"""Fuzzing the readers: damaged files of every format must end in a panel that adds up or in an error of diurnal.

    python -m benchmarks.fuzz --count 100000 --seed 1
    python -m benchmarks.fuzz --seed 1 --first 4711 --count 1

An input is made from the seed and its number alone, so the second line makes one input of the first run again.
Workers have ten seconds and two gigabytes for an input; warnings count as failures, and so does an error whose text
shows a value of the file.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import multiprocessing
import multiprocessing.connection
import pathlib
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq

import diurnal as dn
from benchmarks.corpus import FILES, case, corpus, format_of
from benchmarks.damage import SECRET
from diurnal.errors import DiurnalError

SECONDS = 10
MEMORY = 2 << 30
PROCESSES = 2

_IGNORED: list[str] = []
"""What a library had no way to raise."""


def fuzz(
    count: int, seed: int, *, first: int = 0, report: Callable[[str], None] | None = None
) -> dict[str, collections.Counter[str]]:
    """What became of so many damaged inputs.

    Args:
        count: How many inputs.
        seed: What they are made from.
        first: The number of the first.
        report: Gets a text for every kind of failure; they go to stderr unless given.

    Returns:
        For each format how many inputs ended how: in a panel, in an error of diurnal by its name, or as a failure,
        whose names begin with an exclamation mark.
    """
    counts: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in FILES}
    say = report or (lambda text: print(f"\n{text}", file=sys.stderr))
    kinds: set[tuple[str, ...]] = set()
    for done, (number, outcome, trace) in enumerate(_outcomes(range(first, first + count), seed), start=1):
        name = format_of(number)
        counts[name][outcome] += 1
        if outcome.startswith("!") and (kind := (outcome, *_place(trace))) not in kinds:
            kinds.add(kind)
            say(f"{name}, seed {seed}, number {number}: {outcome}\n{trace}saved as {_save(seed, number)}\n")
        if not done % 1000:
            print(f"\r{done:,} of {count:,}, {len(kinds)} kinds of failure", end="", file=sys.stderr, flush=True)
    return counts


def attempt(seed: int, number: int, folder: pathlib.Path) -> str:
    """Read an input as a user would; how that ended, if it ended well."""
    filename, data, reading, making = case(seed, number)
    path, good = folder / filename, folder / f"good {filename}"
    path.write_bytes(data)
    source: Any = path
    if format_of(number) == "register":
        making[path.stem], source = path, good
        good.write_bytes(corpus()["long"][0])
    elif reading.pop("as frame", False):
        source = pq.ParquetFile(path).read()
    elif reading.pop("after another", False):
        source = [good, path]
        good.write_bytes(corpus()[format_of(number)][0])
    if "out" in making:
        making["out"] = folder / making["out"]
    try:
        panel = dn.panel(dn.read(source, **reading), **making)
    except DiurnalError as error:
        # Names of columns may be shown.
        if SECRET in str(error) and SECRET.encode() not in b"".join(data.splitlines()[:3]):
            raise AssertionError("the error shows a value") from error
        return type(error).__name__
    check(panel)
    return "panel"


def check(panel: dn.Panel) -> None:
    """A panel adds up."""
    quality, there = panel.quality, panel.readings[panel.present]
    assert quality is not None
    assert panel.domain is not None
    assert quality.rows == quality.kept + sum(quality.set_aside.values()), "rows are kept or set aside"
    assert all(count > 0 for count in quality.set_aside.values()), "every reason has rows"
    assert quality.kept > 0, "readings are made of rows"
    assert quality.readings == len(there) > 0, "readings are counted"
    assert panel.domain[0] <= there.min() <= there.max() <= panel.domain[1], "readings lie within the domain"
    assert not panel.present[sorted(panel.calendar)].any(), "steps on the calendar have no readings"
    assert not panel.readings[~panel.present].any(), "what is missing is zero"


def _outcomes(numbers: range, seed: int) -> Iterator[tuple[int, str, str]]:
    """For each input its number, how it ended, and a trace if it failed; in no particular order.

    A worker that dies, by a fault in a library or by hanging where no signal is heard, is followed by another one.
    """
    workers = dict(_start(numbers[k::PROCESSES], seed) for k in range(min(PROCESSES, len(numbers))))
    while workers:
        ready: list[Any] = multiprocessing.connection.wait(list(workers))
        for pipe in ready:
            left, process = workers[pipe]
            try:
                found = pipe.recv()
            except EOFError:
                process.join()
                del workers[pipe]
                if left:
                    yield left[0], f"!died with {process.exitcode}", ""
                if left[1:]:
                    workers.update([_start(left[1:], seed)])
            else:
                workers[pipe] = left[1:], process
                yield found


def _start(numbers: range, seed: int) -> Any:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(numbers, seed, theirs), daemon=True)
    process.start()
    theirs.close()
    return ours, (numbers, process)


def _work(numbers: range, seed: int, pipe: Any) -> None:
    signal.signal(signal.SIGALRM, _too_slow)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("error")
    sys.unraisablehook = lambda ignored: _IGNORED.append(repr(ignored.exc_value))
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            pipe.send((number, *_limited(seed, number, pathlib.Path(folder))))


def _limited(seed: int, number: int, folder: pathlib.Path) -> tuple[str, str]:
    # Signals are heard between two steps of Python; a library that never comes back is ended from a thread.
    faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
    signal.alarm(SECONDS)
    try:
        outcome = attempt(seed, number, folder)
        if _IGNORED:
            raise AssertionError(f"ignored: {_IGNORED.pop()}")
        return outcome, ""
    except Exception as cause:
        return f"!{type(cause).__name__}", traceback.format_exc()
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"it takes more than {SECONDS} s")


def _place(trace: str) -> list[str]:
    """Where in diurnal something failed: one cause is told once."""
    return re.findall(r'diurnal/(\S+)", line (\d+)', trace)[-1:]


def _save(seed: int, number: int) -> str:
    filename, data, reading, making = case(seed, number)
    path = pathlib.Path(tempfile.mkdtemp(prefix=f"fuzz-{seed}-{number}-")) / filename
    path.write_bytes(data)
    return f"{path}, read with {reading}, made with {making}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz the readers.")
    for name, default in (("count", 100_000), ("seed", 1), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    counts = fuzz(given.count, given.seed, first=given.first)
    print(file=sys.stderr)
    for name, outcomes in counts.items():
        ends = ", ".join(f"{n:,} {what}" for what, n in outcomes.most_common())
        print(f"{name:<12}{outcomes.total():>8,}: {ends}")
    return int(any(what.startswith("!") for outcomes in counts.values() for what in outcomes))


if __name__ == "__main__":
    sys.exit(main())
