"""Everything at once for ten minutes, on SQLite and on PostgreSQL; writes docs/soak.md and its picture.

Afterwards a head-end with every fault is simulated, which takes most of an hour: see benchmarks/headend.py.

A head-end sends readings, and each batch again until it is answered; readers ask for finished ranges, the newest
page, the promise, and listen to events. Meanwhile the service is killed, told to stop, and begun again; an operator
backs the store up and verifies its ledger; and attackers try what they can. In the end every answer that was ever
given is compared with the store. Who comes, and what is compared, is in benchmarks/soaking.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.headend import everything
from benchmarks.soaking import PATIENCE, attackers, city, compared, headend, house, readers
from benchmarks.soaking.house import House
from benchmarks.soaking.seen import Seen

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs" / "soak.md", ROOT / "docs" / "images" / "soak.svg"

MINUTES = 10.0
EVERY = 15.0
"""About how many seconds pass until the service is ended again."""

FLAT = 0.15
"""By which share memory may grow in the calm at the end, while pages that were read are still being kept."""

WORKERS = {"SQLite": 1, "PostgreSQL": 2}
"""On which databases, and by how many processes."""

HEAD = """# A service under load, killed and attacked

Written by `make soak`: {minutes:g} minutes on each of SQLite, with one process, and PostgreSQL, with two. All of
this at once:

- A head-end sends {homes} readings a step, as Arrow, CSV, JSON and gzip, as fast as it is answered, and repeats
  each batch with its key until it is answered. Some come in halves, late, twice, corrected, with wrong readings,
  under a used key, or cannot be read.
- Readers ask for ranges in every format, the newest page, the plan, the promise and the pages for people. One
  listens to events, disconnects now and then, and resumes where it was.
- About every {every:g} seconds the service is stopped and restarted on the same store: all its processes killed
  (SIGKILL), told to stop (SIGTERM), killed once more while it begins; on PostgreSQL one of its two processes as
  well. In the last quarter of the time it is left alone, so that memory can settle.
- An operator runs `diurnal backup`, `ledger --verify` and `status` beside it.
- Attackers try what the last table lists, each kind from an address of its own. For bodies and heads that do not
  come, the service has {patience:g} seconds of patience here instead of 60 and 20.

Names and readings of the homes are chosen so that they are distinguishable from everything else, and so are sums,
tokens, digests and the noisy profile. Every answer to the public, to the head-end and to an attack, and the log, is
searched for them.

At the end every public answer is compared with the store: each row, each finished range, each event, the plan and
the promise. So is every batch: those that were answered are in the store, and the store has set aside exactly what
it had to set aside, so that none was taken twice. The ledger is verified, up to heads that were published on the
way. Every backup opens behind a fence, is sound, and has the same rows. A run that finds a difference fails, and
writes no page. Machines differ and are shared: the zeros are what counts.

## What was seen

| what | {kinds} |
|---|{lines}|
{rows}

![Memory of the service over time, and when it was ended](images/soak.svg)

## Attacks, and how they were answered

Every answer is an intended one. *Hung up* is intended if a client sends nothing, or far too much, or disconnects
itself; otherwise the service was stopped meanwhile.

| attack | {kinds} |
|---|{lines}|
{attacks}
"""


def soak(kind: str, folder: Path, seconds: float, *, every: float = EVERY) -> Seen:
    """Soak a service for so long, and compare what was seen with what is in its store.

    Args:
        kind: The database: SQLite or PostgreSQL.
        folder: Where everything is made.
        seconds: For how long.
        every: About how many seconds pass until the service is ended again.

    Raises:
        AssertionError: A report was lost, doubled or changed; or something was answered as it should not be.
    """
    with city.place(kind, folder) as store:
        town = city.found(folder, store)
        seen, end, sending = Seen(needles=city.Needles(town)), threading.Event(), threading.Event()
        served = House(town, seen, workers=WORKERS[kind])
        served.begin()
        try:
            served.wait(seen.now())
            # It is the service that is soaked for so long, not its beginning.
            seen.began, seen.lives[0].began = seen.began + seen.now(), 0.0
            listening = _run(served, seen, end, sending, seconds=seconds, every=every)
            compared.compare(town, seen, served.url)
            served.stop("in the end")
            listening.join(timeout=30)
            seen.answers["lines of the log"] = compared.compare_log(town, seen)
        finally:
            if served.process.poll() is None:
                served.kill("in the end")
    return seen


def _run(
    served: House, seen: Seen, end: threading.Event, sending: threading.Event, *, seconds: float, every: float
) -> threading.Thread:
    """Let everybody come until the time is over; then let events be heard to the last. Returns who hears them."""
    jobs: list[Callable[[], None]] = [
        lambda: readers.read_ranges(served, seen, end),
        lambda: readers.read_newest(served, seen, end),
        lambda: readers.read_promise(served, seen, end),
        lambda: house.measured(served, seen, end),
        lambda: house.operated(served, seen, end, pause=every / 3),
        lambda: attackers.attacked(served, seen, end, attackers.QUICK, first=1, pause=0.1),
        lambda: attackers.attacked(served, seen, end, attackers.SLOW[:3], first=101, pause=0.1),
        lambda: attackers.attacked(served, seen, end, attackers.SLOW[3:], first=104, pause=0.1),
        lambda: house.haunted(served, seen, end, seconds=seconds, every=every),
    ]
    threads = [threading.Thread(target=seen.watched, args=(job, end), daemon=True) for job in jobs]
    hearing, never = threading.Event(), threading.Event()
    head_end = threading.Thread(
        target=seen.watched, args=(lambda: headend.sent(served, seen, sending), never), daemon=True
    )
    listening = threading.Thread(
        target=seen.watched, args=(lambda: readers.listened(served, seen, hearing), hearing), daemon=True
    )
    for thread in (*threads, head_end, listening):
        thread.start()
    while seen.now() < seconds and not seen.failed:
        end.wait(0.5)
    end.set()
    for thread in threads:
        thread.join(timeout=90)
    sending.set()
    head_end.join(timeout=150)
    _heard(served, seen)
    hearing.set()
    return listening


def _heard(served: House, seen: Seen) -> None:
    """Wait until whoever listens has heard all there is."""
    kept = len(served.city.curator().stream(served.city.stream).rows())
    for _ in range(200):
        if len(seen.told) >= kept or seen.failed:
            return
        threading.Event().wait(0.1)


def rows(seen: Seen) -> Iterator[tuple[str, str]]:
    """What was seen, in words."""
    lasted = seen.lives[-1].memory[-1][0] if seen.lives[-1].memory else seen.now()
    yield "batches answered", f"{sum(seen.batches.values()) - seen.batches[LOST]:,}"
    yield "good batches a second, all pauses included", f"{len(seen.took) / lasted:.1f}"
    quantiles = statistics.quantiles(seen.took, n=100)
    yield "a batch took", f"median {1000 * quantiles[49]:.0f} ms, at most {max(seen.took):.1f} s"
    yield "of them " + LOST, f"{seen.batches[LOST]:,}"
    for what in ("sent twice", "late", "repeated", "corrected", "some readings wrong"):
        yield f"of them {what}", f"{seen.batches[what]:,}"
    yield "of them refused (422), as is meant", f"{seen.batches['cannot be read']:,}"
    yield "of them others under a key that was used", f"{seen.batches['another under its key']:,}"
    yield "ended: killed", f"{seen.ends['killed']:,}"
    yield "ended: killed while it began", f"{seen.ends['killed while it begins']:,}"
    yield "ended: told to stop, code 0", f"{seen.ends['told to stop']:,}"
    yield "one of its processes killed", f"{seen.ends['one of its processes killed']:,}"
    away = seen.away[1:] or seen.away
    yield "no answer after a stop", f"median {statistics.median(away):.1f} s, at most {max(away):.1f} s"
    yield "ranges read, finished or not", f"{seen.answers['ranges 200']:,}"
    yield "different finished ranges, each compared", f"{len(seen.ranges):,}"
    yield "answers to readers of the newest page", f"{seen.answers['newest page 200']:,}"
    yield "rows that came as events, each once", f"{len(seen.told):,}"
    yield "answers with plan, promise and pages", f"{seen.answers['plan, promise and pages 200']:,}"
    yield (
        "backups beside it, verifications, looks",
        ", ".join(f"{seen.beside[verb]:,}" for verb in ("backup", "ledger", "status")),
    )
    yield "attacks answered", f"{sum(map(Counter.total, seen.attacks.values())):,}"
    yield "answers of 500 and above", "0"
    yield "rows lost, doubled or changed", "0"
    yield "batches lost or taken twice", "0"
    yield "private words in answers and log", f"0, in {seen.scanned / 2**20:,.0f} MB"
    peaks = seen.peaks
    yield "most memory, life by life", f"{min(peaks):.0f} to {max(peaks):.0f} MB" if peaks else TOO_SHORT
    yield "memory in the calm at the end", TOO_SHORT if seen.growth is None else f"{100 * seen.growth:+.1f} %"


LOST = "taken, though no answer came the first time"
TOO_SHORT = "too short to say"


def _table(columns: list[dict[str, str]]) -> str:
    names = dict.fromkeys(name for column in columns for name in column)
    return "\n".join(f"| {name} | {' | '.join(column.get(name, '-') for column in columns)} |" for name in names)


def _answers(seen: Seen) -> dict[str, str]:
    return {
        attack.kind: ", ".join(
            f"{answer}: {number:,}" for answer, number in sorted(seen.attacks[attack.kind].items())
        )
        or "-"
        for attack in (*attackers.QUICK, *attackers.SLOW)
    }


def write(found: dict[str, Seen], minutes: float, *, every: float) -> None:
    """Write the page and its picture."""
    PAGE.write_text(
        HEAD.format(
            minutes=minutes,
            homes=city.HOMES,
            every=every,
            patience=PATIENCE,
            kinds=" | ".join(found),
            lines="|".join("---" for _ in found),
            rows=_table([dict(rows(seen)) for seen in found.values()]),
            attacks=_table([_answers(seen) for seen in found.values()]),
        )
    )
    _draw(found)


def _draw(found: dict[str, Seen]) -> None:
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(7.2, 2.4 * len(found)), layout="constrained")
    grid = figure.subplots(len(found), sharex=True, squeeze=False)
    for axes, (kind, seen) in zip(grid[:, 0], found.items(), strict=True):
        for life in seen.lives:
            axes.plot([at / 60 for at, _ in life.memory], [size for _, size in life.memory], color="#24508f")
            if life.end != "in the end":
                colour = "#999999" if life.end == "told to stop" else "#b3261e"
                at = life.memory[-1][0] if life.memory else life.began
                axes.axvline(at / 60, color=colour, linewidth=0.8, linestyle=":")
        axes.set(ylabel="memory (MB)", ylim=(0, None), title=kind)
        axes.grid(alpha=0.3)
    grid[-1, 0].set(xlabel="minutes (dotted: killed in red, told to stop in grey)")
    about: dict[str, Any] = {"Date": None}
    figure.savefig(PICTURE, metadata=about)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=MINUTES, help="For how long in all, on both databases.")
    asked.add_argument("--only", choices=list(WORKERS), help="One database; nothing is written.")
    asked.add_argument("--no-headend", action="store_true", help="Without the simulated head-end afterwards.")
    said = asked.parse_args()
    kinds = list(WORKERS) if said.only is None else [said.only]
    each, found = said.minutes / len(kinds), {}
    # A short soak has its ends, too.
    every = min(EVERY, 60 * each / 12)
    for kind in kinds:
        with tempfile.TemporaryDirectory(prefix="diurnal-soak-", ignore_cleanup_errors=True) as name:
            found[kind] = soak(kind, Path(name), 60 * each, every=every)
        print(kind, *(f"{what}: {words}" for what, words in rows(found[kind])), sep="\n  ", flush=True)
        print(*(f"{what}: {words}" for what, words in _answers(found[kind]).items()), sep="\n  ", flush=True)
    if said.only is None:
        write(found, each, every=every)
    for kind, seen in found.items():
        growth = seen.growth
        assert growth is None or growth < FLAT, f"memory is not flat on {kind}: {100 * growth:+.1f} %"
    if said.only is None and not said.no_headend:
        everything()


if __name__ == "__main__":
    main()
