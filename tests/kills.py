"""Kills: a process that starts a plan and reports is killed, again and again, and the store is looked at.

The killed process is forked from one that has everything imported, so that a kill takes milliseconds. It writes
down what it was given, once it was given it, to a pipe: what is in the pipe was shown.
"""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter

import diurnal as dn
import support

LEVELS = {
    "pattern": {"mechanism": "cube"},
    "strong": support.SLOTWISE,
    "basis": support.BASIS,
    "blocks": support.BLOCKS,
}
BUDGET = dn.Budget(pattern="1", cycle="1")
CYCLES = 8000


def town():
    return support.town(n=20, cycles=CYCLES, slots=4)


def work(open_store, level, panel, show, begin):
    """Start, and report one step after the other; show everything once it is there."""
    curator = open_store()
    plan = support.plan_for(panel, **LEVELS[level])
    stream = curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)
    show({"started": stream.plan.hash, "G": _profile(stream)})
    step = begin
    while step < panel.n_steps:
        width = 1 + step % 3
        for row in stream.report(panel.between(step, step + width)):
            show({"step": row.step, "value": row.value, "exact": str(row.exact), "std": row.std})
        step += width


def _profile(stream):
    return [str(value) for value in stream._record().groups[0].noisy_profile]


def killed(job, *, after=None, at_commit=None):
    """Run a job in a process of its own, kill it, and say what it has shown.

    Args:
        job: Takes a function that shows something.
        after: After how many seconds it is killed.
        at_commit: Instead, which commit it dies at, and on which side: (3, "before").
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            if at_commit is not None:
                _die_at(*at_commit)
            job(lambda what: os.write(write, (json.dumps(what) + "\n").encode()))
        finally:
            os._exit(0)
    os.close(write)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        shown = [json.loads(line) for line in pipe.read().splitlines() if line.endswith(b"}")]
    _, status = os.waitpid(child, 0)
    return shown, os.WIFSIGNALED(status)


def _die_at(number, side):
    """Die at the so-manyeth commit of a transaction of a store, before or after it."""
    from diurnal.curator.store import Store

    seen = Counter()
    plain = Store._commit

    def commit(self, transaction):
        seen["commits"] += 1
        if seen["commits"] == number and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        plain(self, transaction)
        if seen["commits"] == number and side == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    Store._commit = commit


class Witness:
    """Remembers everything that was ever shown, and looks whether the store still says the same."""

    def __init__(self, open_store, level, panel):
        self.open_store, self.level, self.panel = open_store, level, panel
        self.rows, self.profile, self.kills, self.shown, self.looks, self.last = {}, None, 0, 0, 0, False

    def next_step(self):
        return max(self.rows, default=15) + 1

    def see(self, shown):
        """Nothing that was shown before is shown differently."""
        for each in shown:
            if "started" in each:
                assert self.profile in (None, each["G"]), "the noisy profile was drawn again"
                self.profile = each["G"]
            else:
                told = {name: each[name] for name in ("value", "exact", "std")}
                assert self.rows.setdefault(each["step"], told) == told, "a row changed"
                self.shown += 1

    def watch(self, *, begin, **when):
        """Let a process work from a step on, kill it, and look."""
        shown, died = killed(lambda show: work(self.open_store, self.level, self.panel, show, begin), **when)
        self.kills += died
        self.see(shown)
        self.look()

    def look(self):
        """The store is sound, has every row that was shown, and has spent what was started."""
        curator = self.open_store()
        # All of it every so often, and at the end; in between the rows that were shown last.
        whole = self.looks % 20 == 0 or self.last
        self.looks += 1
        if whole:
            found = curator.verify()
            assert found.sound, str(found)
        streams, status = curator.streams(), curator.status()
        assert len(streams) <= 1
        spent = (1, 0 if self.level == "pattern" else 1) if streams else (0, 0)
        assert (status.pattern[0], status.strong[0]) == spent, "spent is not what was started"
        if self.rows:
            assert streams, "a stream was lost"
        for stream in streams:
            assert self.profile in (None, _profile(stream)), "the noisy profile was drawn again"
            last = max(self.rows, default=15)
            first = 16 if whole else max(16, last - 100)
            again = {row.step: row for row in stream.report(self.panel.between(first, last + 1))}
            for step, told in self.rows.items():
                if step < first:
                    continue
                row = again[step]
                assert told == {"value": row.value, "exact": str(row.exact), "std": row.std}, "a row changed"


def at_random(open_store, level, count, seed):
    """Kill so many times at random moments, and look at the store after each."""
    rng, panel = random.Random(seed), town()
    warm_up(level, panel)
    witness = Witness(open_store, level, panel)
    for _ in range(count):
        begin = max(16, witness.next_step() - rng.randrange(4))
        witness.watch(after=rng.uniform(0.005, 0.15), begin=begin)
    witness.last = True
    witness.look()
    return witness


def at_commits(open_store, level, count, seed):
    """Kill on each side of each of the first commits of a process, and look at the store after each."""
    panel = town()
    warm_up(level, panel)
    witness = Witness(open_store, level, panel)
    for number in range(1, count + 1):
        for side in ("before", "after"):
            witness.last = True
            witness.watch(at_commit=(number, side), begin=witness.next_step())
    return witness


DEEDS = {
    "stop": lambda curator, stream, folder: stream.stop(),
    "erase": lambda curator, stream, folder: curator.erase("3"),
    "move out": lambda curator, stream, folder: curator.move_out("3", 21),
    "raise a cap": lambda curator, stream, folder: curator.raise_cap(dn.Budget(pattern="9", cycle="9")),
    "watch": lambda curator, stream, folder: next(dn.watch_folder(stream, folder, once=True)),
}


def _state(curator):
    """What each deed changes."""
    record = curator.streams()[0]._record()
    erased = "3" not in record.households and not record.known[:, record.atoms.order == 3].any()
    held = curator.status().streams[0].open_steps
    return record.end, erased, dict(record.silenced), curator.budget, held, curator.status().head


def at_deed(deed, side, open_store, folder):
    """Kill on one side of the commit of one deed: before it nothing has happened, after it everything."""
    panel, curator = town(), open_store()
    plan = support.plan_for(panel, **LEVELS["strong"], grace=4)
    stream = curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)
    stream.report(panel.between(16, 20))
    stream.report(panel.between(20, 22).columns(range(19)))
    os.makedirs(folder)
    dn.write(panel.between(22, 26), f"{folder}/a.csv", format="long")
    before = _state(curator)

    def job(show):
        again = open_store()
        stream = again.streams()[0]
        # A watch looks first whether it has taken the file, what the plan's grid is, where its homes are, and which
        # steps it takes.
        _die_at(5 if deed == "watch" else 1, side)
        DEEDS[deed](again, stream, folder)

    _, died = killed(job)
    curator = open_store()
    found = curator.verify()
    assert found.sound, str(found)
    if side == "before":
        assert _state(curator) == before, "something of it has happened"
        DEEDS[deed](curator, curator.streams()[0], folder)
    after = _state(curator)
    assert after[-1] != before[-1]
    assert len([True for old, new in zip(before[:-1], after[:-1], strict=True) if old != new]) >= 1, "half done"
    if deed == "watch":
        assert not [taken.rows for taken in dn.watch_folder(curator.streams()[0], folder, once=True) if taken.rows]
        assert os.listdir(folder) == ["taken"]
    return died


def warm_up(level, panel):
    """Import everything here, once, so that what is killed is at work."""
    with tempfile.TemporaryDirectory() as folder:
        work(lambda: dn.Curator.open(f"{folder}/warm.db"), level, panel.first(6), lambda _: None, 16)


def main(how, level, count, where, profiles):
    """Kill, and say what came of it; an assertion that fails is the end."""
    open_store = functools.partial(dn.Curator.open, where, profiles=profiles)
    open_store(BUDGET)
    if how == "deed":
        print(json.dumps({"kills": int(at_deed(level, count, open_store, f"{profiles}-in"))}))
        return
    began = time.monotonic()
    seen = {"random": at_random, "commits": at_commits}[how](open_store, level, int(count), seed=1)
    rows, seconds = len(seen.rows), time.monotonic() - began
    print(json.dumps({"kills": seen.kills, "rows": rows, "shown": seen.shown, "seconds": round(seconds, 1)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
