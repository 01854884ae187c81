"""The contract of every store: in memory, a SQLite file, PostgreSQL."""

import contextlib
import os
import shutil
import sqlite3
import stat
from fractions import Fraction

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import database
from diurnal.curator import store as stores
from diurnal.curator.public_reader import Reader
from diurnal.curator.taking import OpenState
from diurnal.errors import BudgetError, OverlapError, PopulationError, StoreError, StreamError
from support import refuses

STRONG = support.SLOTWISE
LEVELS = {
    "pattern": {},
    "strong": STRONG,
    "basis": support.BASIS,
    "blocks": support.BLOCKS,
    "share": {"level": "cycle", "query": dn.Share(above=50), "history": 0},
}


def start(curator, panel, **fields):
    plan = support.plan_for(panel, **fields)
    return curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)


@pytest.mark.parametrize("level", LEVELS)
def test_a_stream_is_the_same_on_every_store(opens, level, silence):
    """Without noise the rows of a stream are those of the store in memory, on every kind of store."""
    panel = support.town(groups={"side": ["a"] * 15 + ["b"] * 25})
    fields = {**LEVELS[level], "groups": "side"}
    here = start(opens(budget=support.ROOMY), panel, **fields).report(panel)
    there = start(dn.Curator.in_memory(support.ROOMY), panel, **fields).report(panel)
    assert here == there


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_reported_is_there_for_whoever_opens_the_store(lasting, level):
    """Opened again, by nobody who knew it, a store gives the same rows, decimals and all, and draws nothing."""
    panel = support.town()
    stream = start(lasting(budget=support.ROOMY), panel, **LEVELS[level])
    rows = stream.report(panel.between(16, 30))
    again = lasting().stream(stream.plan.hash[:10])
    assert again.plan == stream.plan
    assert again.report(panel.between(16, 30)) == rows
    assert again.acknowledged == stream.acknowledged


@pytest.mark.parametrize("level", ["strong", "basis", "blocks"])
def test_a_cycle_begun_before_goes_on_with_its_noise(lasting, level, monkeypatch):
    """A cycle's noise is drawn once: who opens the store in its middle uses what is there, and it is erased at its
    end.
    """
    from diurnal.promise import noise

    panel = support.town()
    drawn = []
    monkeypatch.setattr(noise, "laplace", lambda size, scale: drawn.append(size) or [3] * size)
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: drawn.append(size) or [3] * size)
    stream = start(lasting(budget=support.ROOMY), panel, **LEVELS[level])
    before = len(drawn)
    stream.report(panel.between(16, 18))
    again = lasting().streams()[0]
    again.report(panel.between(18, 20))
    assert len(drawn) == before + 1
    with again._store.transaction():
        assert again._store.noisy_cycles(1) == []
        assert again._store.held_marks(1) == {}


def test_a_store_is_readable_by_its_owner_alone(on, tmp_path):
    """Database, log and profiles have mode 0600 from the first moment."""
    os.umask(0)
    panel = support.town()
    start(on("sqlite"), panel, **STRONG).report(panel)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".db", ".parquet"}
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    for path in tmp_path.rglob("*"):
        if path.is_dir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_sqlite_syncs_its_log_at_every_commit(on):
    """The file is in WAL mode, synchronous FULL, and overwrites what is erased."""
    curator = on("sqlite")
    with curator._store.transaction():
        found = [
            curator._store.connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "secure_delete")
        ]
    assert found == ["wal", 2, 1]


def test_what_fails_leaves_nothing_behind(opens, monkeypatch):
    """An error in the middle of a report takes everything back: rows, noise, counters, events."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = start(curator, panel, **STRONG)
    before = [event.hash for event in curator.ledger()]
    monkeypatch.setattr(OpenState, "write", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stream.report(panel)
    monkeypatch.undo()
    assert [event.hash for event in curator.ledger()] == before
    assert stream.quality() == {}
    with curator._store.transaction():
        assert curator._store.noisy_cycles(1) == []
        assert curator._store.rows(1, range(100)) == {}
    assert curator.verify().sound


def test_one_store_is_one_population(opens):
    """What the first plan decides holds for the second: grid, domain and channel."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    start(curator, panel)
    for change in ({"domain": (0, 50)}, {"channel": "generation"}):
        with pytest.raises(PopulationError, match=next(iter(change))):
            start(curator, panel, epsilon="2", **change)


def test_what_was_said_when_it_was_made_holds(lasting):
    """Grid, domain, calendar and budget are set when a store is made; opening it with others is refused."""
    panel = support.town()
    budget = dn.Budget(pattern="2", cycle="1")
    curator = lasting(budget=budget, grid=panel.grid, domain=(0, 100), channel="consumption", calendar=[17])
    assert lasting().budget == budget
    assert lasting(budget=dn.Budget(pattern="2", cycle="1")).budget == budget
    for wrong in ({"budget": dn.Budget(pattern="3")}, {"grid": dn.Grid(slots=8)}, {"domain": (0, 99)}):
        with pytest.raises(PopulationError, match="Hint:"):
            lasting(**wrong)
    with refuses(PopulationError, "population-differs-from-plan"):
        start(curator, panel, domain=(0, 50))
    rows = start(curator, panel).report(panel)
    assert 17 not in {row.step for row in rows}


def test_a_cap_is_raised_and_never_lowered(opens):
    """Raising a cap is an event of the ledger; lowering it, or another delta, is refused."""
    panel = support.town()
    curator = opens(budget=dn.Budget(pattern="1", cycle="1"))
    start(curator, panel).stop()
    with pytest.raises(BudgetError, match="The cap is 1, and 0 is left"):
        start(curator, panel, query=dn.Sum())
    with refuses(BudgetError, "budget-cap-lowered"):
        curator.raise_cap(dn.Budget(pattern="1/2", cycle="1"))
    with pytest.raises(BudgetError, match=r"The delta is none and cannot be changed to 0.000001") as caught:
        curator.raise_cap(dn.Budget(pattern="2", cycle="1", delta="1e-6"))
    assert "cap is" not in caught.value.message
    curator.raise_cap(dn.Budget(pattern="2", cycle="1"))
    start(curator, panel, query=dn.Sum())
    assert [event.kind for event in curator.ledger()].count("raised") == 1
    assert opens().budget == dn.Budget(pattern="2", cycle="1")
    assert curator.verify().sound


def test_the_ledger_is_a_chain_and_its_head_tells(opens):
    """Every decision is an event; a head counts them, and says what was spent and reported. The custodian's also
    says how many erasures and changes of tenancy there were, which the public one does not.
    """
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = start(curator, panel, **STRONG, epsilon="3/2", cycle_epsilon="1/4")
    stream.report(panel.between(16, 22))
    stream.report(panel.between(16, 22))
    stream.stop()
    curator.erase("3")
    told = ["created", "settled", "started", "reported", "drawn", "stopped"]
    assert [event.kind for event in curator.ledger()] == [*told, "erased", "forgotten"]
    _, number, digest, *parts = curator.head.split(":")
    assert (number, *parts) == ("6", "21", "1.5", "0.25", "", "s")
    assert curator.ledger()[5].hash.startswith(digest)
    _, number, digest, *parts = curator.status().head.split(":")
    assert (number, *parts) == ("8", "21", "1.5", "0.25", "1", "s")
    assert curator.ledger()[-1].hash.startswith(digest)


def fact(name, value):
    """A statement that changes a fact of the store."""
    return sa.update(database.facts).where(database.facts.c.name == name).values(value=value)


TAMPERED = {
    "a changed report": sa.update(database.rows).where(database.rows.c.step == 20).values(value="7"),
    "a removed report": sa.delete(database.rows).where(database.rows.c.step == 20),
    "an added report": sa.insert(database.rows).values(plan=1, step=900, place=0, value="7"),
    "a changed event": sa.update(database.ledger).where(database.ledger.c.number == 2).values(kind="stopped"),
    "another time": sa.update(database.ledger).where(database.ledger.c.number == 1).values(time="2001-01-01"),
    "a removed event": sa.delete(database.ledger).where(database.ledger.c.number == 2),
    "a removed last event": sa.delete(database.ledger).where(database.ledger.c.number == 9),
    "events swapped": sa.update(database.ledger)
    .where(database.ledger.c.number.in_([4, 5]))
    .values(number=sa.case((database.ledger.c.number == 4, 50), else_=40)),
    "a changed plan": sa.update(database.plans).values(
        content=sa.func.replace(database.plans.c.content, '"end": null', '"end": 1')
    ),
    "a removed plan": sa.delete(database.plans),
    "a changed calendar": sa.insert(database.calendar).values(step=33),
    "a changed population": fact("population", "{}"),
    "another salt": fact("salt", '"00ff"'),
    "facts that cannot be read": fact("budget", "{"),
    "noise that would be drawn again": sa.delete(database.noise),
    "who was erased forgotten": sa.delete(database.people),
    "a changed budget": sa.update(database.facts)
    .where(database.facts.c.name == "budget")
    .values(value='{"pattern": "9", "strong": "9", "delta": null}'),
}  # fmt: skip


@pytest.mark.parametrize("how", TAMPERED)
def test_whoever_changes_a_store_is_found_out(opens, how):
    """A changed, removed or added report, event, plan, calendar or budget is each found by verify."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = start(curator, panel, **support.SLOTWISE)
    stream.report(panel.between(16, 22))
    stream.report(panel.between(22, 30))
    curator.erase("3")
    assert curator.verify().sound
    with curator._store.transaction():
        curator._store.connection.execute(TAMPERED[how])
    found = curator.verify()
    assert not found.sound
    assert "NOT" in str(found)


@pytest.mark.parametrize("how", ["swapped", "damaged", "gone"])
def test_profiles_that_are_not_the_ones_kept_are_found_out(lasting, how, tmp_path):
    """A swapped, damaged or missing profile file is found by verify, and no report is made with it."""
    panel, other = support.town(), support.town(seed=2)
    start(lasting("city", support.ROOMY), panel)
    start(lasting("town", support.ROOMY), other)
    own, theirs = (next(path.glob("*.parquet")) for path in sorted(tmp_path.glob("*-profiles")))
    if how == "swapped":
        own.write_bytes(theirs.read_bytes())
    elif how == "damaged":
        own.write_bytes(own.read_bytes()[:-9])
    else:
        own.unlink()
    again = lasting("city")
    assert not again.verify().sound
    with pytest.raises(StoreError, match="profiles"):
        lasting("city").streams()[0].report(panel)


def test_a_backup_goes_on_behind_its_fence(lasting, tmp_path):
    """A restored backup is refused without the last published head; with it, what it does not know is never
    reported, counts as spent, and the ledger tells.
    """
    panel = support.town(cycles=20)
    curator = lasting(budget=dn.Budget(pattern="3", cycle="1"))
    stream = start(curator, panel)
    rows = stream.report(panel.between(16, 30))
    curator.backup(tmp_path / "backup.db")
    stream.report(panel.between(30, 42))
    stream.stop()
    start(curator, panel, query=dn.Sum(), epsilon="3/2").report(panel.between(42, 45))
    last = curator.head
    with refuses(StoreError, "backup-needs-fence"):
        dn.Curator.open(tmp_path / "backup.db")
    with refuses(StoreError, "head-invalid"):
        dn.Curator.open(tmp_path / "backup.db", fence="yesterday")
    for wrong in (f"{last.split(':')[0]}:1:{'0' * 32}:3:1:1::p", last.replace(last.split(":")[0], "00000000")):
        with refuses(StoreError, "fence-foreign-head"):
            dn.Curator.open(tmp_path / "backup.db", fence=wrong, people=0)
    restored = dn.Curator.open(tmp_path / "backup.db", fence=last, people=0)
    again = restored.streams()[0]
    assert again.report(panel.between(16, 30)) == rows
    assert [row.step for row in again.report(panel)] == [*range(16, 30), *range(48, 80)]
    assert restored.status().pattern == (Fraction(5, 2), Fraction(3))
    again.stop()
    with pytest.raises(BudgetError, match=r"0\.5 is left"):
        restored.start(
            support.plan_for(panel, query=dn.Sum()),
            history=panel.between(48, 64),
            acknowledge="untested",
            accept_worse=True,
        )
    assert restored.verify().sound
    assert dn.Curator.open(tmp_path / "backup.db").verify().sound
    told = [
        event.content["head"]
        for event in dn.Curator.open(tmp_path / "backup.db").ledger()
        if event.kind == "fenced"
    ]
    assert told == [last]
    # The same head again is no new loss.
    again = dn.Curator.open(tmp_path / "backup.db", fence=last, people=0)
    assert again.status().pattern == (Fraction(5, 2), Fraction(3))


def test_a_backup_taken_last_misses_nothing(lasting, tmp_path):
    """Fenced with its own head, a backup goes on where it was."""
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    start(curator, panel).report(panel.between(16, 30))
    head = curator.backup(tmp_path / "backup.db")
    assert head == curator.head
    restored = dn.Curator.open(tmp_path / "backup.db", fence=head, people=0)
    assert [row.step for row in restored.streams()[0].report(panel)] == list(range(16, 48))
    with refuses(StoreError, "backup-exists"):
        curator.backup(tmp_path / "backup.db")


def test_what_is_compiled_once_for_all_stores_keeps_nothing_private():
    """Statements that stores in memory share hold no noise, no plan and no secret, whoever ran them first."""
    # What other tests have asked of their stores is none of this.
    stores._in_memory.cache_clear()
    panel = support.town(n=4, cycles=6)
    stream = start(dn.Curator.in_memory(support.ROOMY), panel, **support.SLOTWISE)
    stream.report(panel.between(16, 18))
    kept = stream._store._engine.get_execution_options()["compiled_cache"].values()
    inserted = [compiled.params for compiled in kept if compiled.isinsert]
    assert len(inserted) >= 5
    assert not [value for params in inserted for value in params.values() if type(value) in (str, int)]


def test_a_database_of_somebody_elses_is_left_alone(tmp_path):
    """Where there is a table of the same name the store is refused in words, and the database stays as it was."""
    with sqlite3.connect(tmp_path / "city.db") as plain:
        plain.execute("create table plans (mine text)")
        plain.execute("insert into plans values ('untouched')")
    with refuses(StoreError, "store-foreign-tables") as refused:
        dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="1"))
    assert "its own database" in refused.value.hint
    with sqlite3.connect(tmp_path / "city.db") as plain:
        assert plain.execute("select name from sqlite_master").fetchall() == [("plans",)]
        assert plain.execute("select * from plans").fetchall() == [("untouched",)]


def test_a_store_in_memory_has_no_backup():
    """What ends with the process cannot be backed up."""
    with refuses(StoreError, "memory-store-no-backup"):
        dn.Curator.in_memory().backup("nowhere.db")


def test_status_says_how_it_stands(opens):
    """The status has head, budget and each stream's reach, and is private."""
    panel = support.town()
    curator = opens(budget=dn.Budget(pattern="4", cycle="1"))
    stream = start(curator, panel)
    stream.report(panel.between(16, 20))
    status = curator.status()
    assert isinstance(status, dn.Private)
    assert (status.pattern, status.strong) == ((1, 4), (0, 1))
    text = str(status)
    assert status.head in text
    assert "running" in text
    assert status.to_json()["streams"][0]["last_step"] == 19
    stream.stop()
    assert "stopped at step 20" in str(curator.status())


@pytest.mark.parametrize("which", ["", "0"])
def test_a_stream_is_found_by_how_its_name_begins(opens, which):
    """A beginning that several streams or none have is refused."""
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    curator = opens(budget=support.ROOMY)
    one = start(curator, panel)
    one.stop()
    two = start(curator, panel, query=dn.Sum())
    assert curator.stream(two.plan.hash).plan == two.plan
    if which == "" or {one.plan.hash[0], two.plan.hash[0]}.isdisjoint("0"):
        with refuses(StreamError, "stream-ambiguous"):
            curator.stream(which)


def test_a_store_of_a_later_version_is_refused(lasting):
    """A store that a newer diurnal has written is not touched."""
    curator = lasting()
    with curator._store.transaction():
        curator._store.connection.execute(
            sa.update(database.facts).where(database.facts.c.name == "version").values(value="99")
        )
    with pytest.raises(StoreError, match="version 99"):
        lasting()


def test_a_household_that_is_erased_is_gone(opens, silence, tmp_path):
    """Its name, profile and held readings are deleted, it does not move from then on, what was released stays, and
    the next plan must leave it out.
    """
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = start(curator, panel, query=dn.Sum(), grace=1)
    before = stream.report(panel.between(16, 20))
    held = panel.following(
        panel.readings[20:21], present=panel.present[20:21] & (np.arange(40) < 20), first_step=20
    )
    stream.report(held)
    curator.erase("7")
    assert stream.report(panel.between(16, 20)) == before
    less = panel.readings.copy()
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    less[:, 7] = np.tile(profile[:, 7], 12)
    rows = stream.report(panel.between(20, 48))
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(
        panel.following(less, first_step=0).between(20, 48)
    )
    assert support.numerators(rows) == support.numerators(expected)[: len(rows)]
    with refuses(PopulationError, "history-erased-household"):
        start(curator, panel, query=dn.Mean())
    with refuses(StreamError, "household-unknown"):
        curator.erase("7")
    assert curator.verify().sound


def test_a_new_tenant_does_not_move_until_the_next_plan(opens, silence):
    """From the step of a change of tenancy on a household counts as its profile; before it as ever."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = start(curator, panel, query=dn.Sum())
    curator.move_out("7", 30)
    rows = stream.report(panel)
    still = panel.readings.copy()
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    still[30:, 7] = np.tile(profile[:, 7], 12)[30:]
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(
        panel.following(still, first_step=0)
    )
    assert support.numerators(rows) == support.numerators(expected)
    with refuses(StreamError, "household-moved-already"):
        curator.move_out("7", 30)
    assert curator.verify().sound


def test_a_cycle_that_a_fence_cuts_is_finished(lasting, tmp_path):
    """Of a cycle that a fence cuts nothing more is reported, and a reader knows: what it reads of it stays."""
    panel, curator = support.town(), lasting(budget=support.ROOMY)
    stream = start(curator, panel)
    stream.report(panel.between(16, 20))
    curator.backup(tmp_path / "backup.db")
    stream.report(panel.between(20, 22))
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    assert restored.streams()[0].report(panel.between(20, 24)) == []
    reader = Reader.open(tmp_path / "backup.db")
    (published,) = reader.look().streams
    assert reader.settled(published, range(16, 24))
    assert not reader.settled(published, range(16, 25))
    reader.close()


def test_a_second_restore_knows_the_first_fence(lasting, tmp_path):
    """The head of a restored store carries its fence: another restore from it neither redraws nor forgets."""
    panel = support.town(cycles=30)
    curator = lasting(budget=dn.Budget(pattern="3", cycle="3"))
    stream = start(curator, panel, **STRONG)
    stream.report(panel.between(16, 20))
    for name in ("one", "two"):
        curator.backup(tmp_path / f"{name}.db")
    stream.report(panel.between(20, 28))
    stream.stop()
    start(curator, panel.columns(np.arange(20)), **STRONG, query=dn.Sum())
    one = dn.Curator.open(tmp_path / "one.db", fence=curator.status().head)
    spent = one.status().pattern
    assert spent[0] == 2
    one.raise_cap(dn.Budget(pattern="4", cycle="4"))
    two = dn.Curator.open(tmp_path / "two.db", fence=one.status().head)
    assert two.status().pattern[0] == 2
    assert [row.step for row in two.streams()[0].report(panel.between(16, 40))] == [*range(16, 20), *range(28, 40)]


def test_a_restored_store_does_not_learn_from_what_others_may_have_reported(lasting, tmp_path):
    """Where plans are missing, a history from before the fence is refused: a plan nobody knows may protect it."""
    panel = support.town(cycles=40)
    curator = lasting(budget=dn.Budget(pattern="3", cycle="3"))
    curator.backup(tmp_path / "backup.db")
    start(curator, panel, **STRONG).report(panel.between(16, 32))
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    with refuses(OverlapError, "restored-history"):
        start(restored, panel)
    plan = support.plan_for(panel)
    restored.start(plan, history=panel.between(32, 48), acknowledge="untested", accept_worse=True)


def test_a_cycles_noise_is_never_drawn_twice(opens, monkeypatch):
    """A published step that goes onto the calendar closes no cycle early, and a closed cycle draws no more."""
    from diurnal.promise import noise

    panel = support.town()
    drawn = []
    monkeypatch.setattr(noise, "laplace", lambda size, scale: drawn.append(size) or [3] * size)
    stream = start(opens(budget=support.ROOMY), panel, **STRONG)
    stream.report(panel.between(16, 18))
    stream.report(panel.between(18, 19).closing([16]))
    stream.report(panel.between(19, 20))
    assert len(drawn) == 1
    with stream._store.transaction():
        assert stream._store.noisy_cycles(1) == []
        with refuses(StoreError, "cycle-closed"):
            stream._store.cycle_noise(1, 4)


@pytest.mark.parametrize("what", ["stop", "move out", "erase"])
def test_a_commit_that_fails_loses_no_profile(on, tmp_path, monkeypatch, what):
    """Where a stop, a change of tenancy or an erasure fails at its commit, the store is as it was."""
    from diurnal.curator.store import Store

    panel = support.town()
    curator = on("sqlite", budget=support.ROOMY)
    stream = start(curator, panel)

    def fail(self, transaction):
        transaction.rollback()
        raise OSError("no commit")

    monkeypatch.setattr(Store, "_commit", fail)
    work = {"stop": stream.stop, "move out": lambda: curator.move_out("3", 20), "erase": lambda: curator.erase("3")}
    with pytest.raises(OSError, match="no commit"):
        work[what]()
    monkeypatch.undo()
    again = on("sqlite")
    assert again.verify().sound
    assert len(again.streams()[0].report(panel.between(16, 20))) == 4
    assert len(list((tmp_path / "city.db-profiles").iterdir())) == 1


def test_what_is_erased_is_in_no_file(on, tmp_path):
    """A household's held readings, its profile, and a closed cycle's noise are in no byte of the store's files."""
    mark = 171_717_171
    panel = support.town()
    readings = panel.readings.copy()
    readings[:, 7] = mark
    panel = panel.following(readings, first_step=0)
    curator = on("sqlite", budget=support.ROOMY)
    stream = start(curator, panel, **STRONG, grace=5, domain=(0, 2 * 10**8))
    half = panel.present[16:19] & (np.arange(40) < 20)
    stream.report(panel.following(panel.readings[16:19], present=half, first_step=16))
    secret = mark.to_bytes(8, "little")

    def found():
        return [path.name for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_bytes()]

    assert found()
    curator.erase("7")
    assert found() == []


def test_what_was_reported_is_in_no_file(on, tmp_path, monkeypatch):
    """Held readings of a reported step, and of a cycle that is over its noise and what opens the commitment to it,
    are in no byte of the store's files.
    """
    from diurnal.promise import noise

    mark, drawn = 171_717_171, 987_654_321_987
    panel = support.town()
    readings = panel.readings.copy()
    readings[16:, 7] = mark
    panel = panel.following(readings, first_step=0)
    stream = start(on("sqlite", budget=support.ROOMY), panel, **STRONG, grace=2, domain=(0, 2 * 10**8))
    monkeypatch.setattr(noise, "laplace", lambda size, scale: [drawn] * size)
    monkeypatch.setattr(noise, "cube", lambda ranges, rate: [drawn] * len(ranges))

    def found(secret):
        return [path.name for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_bytes()]

    half = panel.present[16:18] & (np.arange(40) < 20)
    stream.report(panel.following(panel.readings[16:18], present=half, first_step=16))
    assert found(mark.to_bytes(8, "little"))
    stream.report(panel.between(16, 18))
    assert found(mark.to_bytes(8, "little")) == []
    with stream._store.transaction():
        nonce = stream._store.connection.scalar(sa.select(database.noise.c.nonce)).encode()
    assert found(str(drawn).encode())
    assert found(nonce)
    stream.report(panel.between(18, 20))
    assert [row.step for row in stream.rows()] == [16, 17, 18, 19]
    stream.close(before=20)
    assert found(str(drawn).encode()) == []
    assert found(nonce) == []


def test_a_log_that_a_killed_process_has_left_is_emptied(on, tmp_path):
    """What was erased while somebody read is still in SQLite's log; whoever opens the store next empties it."""
    mark = 171_717_171
    panel = support.town()
    readings = panel.readings.copy()
    readings[16:, 7] = mark
    panel = panel.following(readings, first_step=0)
    stream = start(on("sqlite", budget=support.ROOMY), panel, **STRONG, grace=2, domain=(0, 2 * 10**8))
    stream.report(panel.following(panel.readings[16:17], present=np.arange(40)[None] < 20, first_step=16))
    killed = tmp_path / "killed"
    killed.mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "city.db")) as reader:
        reader.execute("begin")
        reader.execute("select * from held").fetchall()
        stream.report(panel.between(16, 17))
        for name in ("city.db", "city.db-wal"):
            shutil.copyfile(tmp_path / name, killed / name)
    shutil.copytree(tmp_path / "city.db-profiles", killed / "city.db-profiles")

    def found():
        files = [path for path in killed.rglob("*") if path.is_file()]
        return [path.name for path in files if mark.to_bytes(8, "little") in path.read_bytes()]

    assert found()
    again = dn.Curator.open(killed / "city.db")
    assert found() == []
    assert again.streams()[0].rows() == stream.rows()


def test_what_a_plan_was_before_an_erasure_cannot_be_tried(on, tmp_path):
    """Events keep a digest of what a plan was, who was erased since among it. A name that nobody can guess went
    into it, and is nowhere any more.
    """
    panel, curator = support.town(), on("sqlite", budget=support.ROOMY)
    start(curator, panel)
    with curator._store.transaction():
        (name,) = curator._store.kept()
    drawn = name.rpartition("-")[2]
    assert len(bytes.fromhex(drawn)) == 16
    curator.erase("7")
    assert not any(drawn.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(drawn in path.name for path in tmp_path.rglob("*"))
    assert curator.verify().sound


def test_two_plans_are_told_apart_by_readings_not_by_sums(opens, silence):
    """A later pattern plan falls silent wherever its readings are not the ones that were used, also where sums are
    equal: whether it does tells nothing about one home's variation.
    """
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    readings = panel.readings.copy()
    readings[:, 7] = np.tile(readings[:4, 7], 12)
    panel = panel.following(readings, first_step=0)
    curator = opens(budget=support.ROOMY)
    first = start(curator, panel, query=dn.Sum())
    curator.move_out("7", 16)
    first.report(panel.between(16, 32))
    second = start(curator, panel, query=dn.Sum(), groups="side")
    rows = second.report(panel.between(16, 32))
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    silent = {(row.step, row.group): row.numerator for row in rows}
    for step in range(16, 32):
        assert silent[step, "a"] == profile[step % 4, :20].sum()


@pytest.mark.parametrize("first_has_it", [True, False])
def test_a_reading_of_nothing_is_not_taken_for_none(opens, silence, first_has_it):
    """A pattern plan falls silent where a home was missing and now has read 0, or the other way round: the
    difference of the two plans' sums would be that home's variation.
    """
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    readings, present = panel.readings.copy(), panel.present.copy()
    readings[16:, 7], present[16:, 7] = 0, False
    given = {
        has: panel.following(readings, present=panel.present if has else present, first_step=0).between(16, 20)
        for has in (True, False)
    }
    curator = opens(budget=support.ROOMY)
    start(curator, panel, query=dn.Sum()).report(given[first_has_it])
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    second = start(curator, panel, query=dn.Sum(), groups="side")
    rows = second.report(given[not first_has_it])
    assert [row.numerator for row in rows if row.group == "b"] == profile[:, 20:].sum(axis=1).tolist()


def test_two_stores_have_no_secret_in_common(on):
    """Each store draws its own salt and secret, so that no digest of one says anything about another."""
    found = []
    for name in ("city", "town"):
        store = on("sqlite", name)._store
        with store.transaction():
            own = [store.fact(fact) for fact in ("salt", "secret", "id", "lineage")]
            found.append([*own, store.identity(), *store.name_digests(["7"]), store.keyed("batch", "a", "b")])
    assert all(one != two for one, two in zip(*found, strict=True))
    assert [len(bytes.fromhex(each[1])) for each in found] == [32, 32]


def test_no_two_lists_of_words_have_one_keyed_digest(on):
    """Where a word ends counts: the key "b" of sender "ab" is not the key "bb" of sender "a"."""
    store = on("memory")._store
    with store.transaction():
        lists = [
            ("batch", "ab", "b"),
            ("batch", "a", "bb"),
            ("batch", "abb"),
            ("batch", "abb", ""),
            ("batcha", "bb"),
        ]
        assert len({store.keyed(*words) for words in lists}) == len(lists)


def test_erased_households_of_two_plans_are_not_taken_for_one(opens, silence):
    """Households at the same place of two rosters, both erased, do not connect the plans."""
    panel = support.town(n=60)
    one, two = panel.columns(np.arange(30)), panel.columns(np.arange(30, 60))
    curator = opens(budget=support.ROOMY)
    first, second = start(curator, one, query=dn.Sum()), start(curator, two, query=dn.Sum())
    curator.erase("3")
    curator.erase("33")
    first.report(one.between(16, 20))
    rows = second.report(two.between(16, 20))
    profile = two.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    assert support.numerators(rows) != profile.sum(axis=1).tolist()


def test_held_readings_of_who_moved_out_do_not_count(opens, silence):
    """A change of tenancy counts for readings that were held before it was said."""
    panel = support.town()
    values = []
    for said_first in (True, False):
        curator = opens(f"city {said_first}", support.ROOMY)
        stream = start(curator, panel, query=dn.Sum(), grace=9)
        half = panel.present[16:17] & (np.arange(40) < 20)
        if said_first:
            curator.move_out("7", 16)
        stream.report(panel.following(panel.readings[16:17], present=half, first_step=16))
        if not said_first:
            curator.move_out("7", 16)
        values += support.numerators(stream.report(panel.between(16, 17)))
    assert values[0] == values[1]


def test_a_tail_that_was_cut_off_is_missed_by_who_has_the_head(opens):
    """Events and rows removed together leave a sound chain; the head that was published is not in it."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = start(curator, panel)
    stream.report(panel.between(16, 22))
    head = curator.status().head
    with curator._store.transaction():
        last = int(head.split(":")[1])
        curator._store.connection.execute(sa.delete(database.ledger).where(database.ledger.c.number == last))
        for table in (database.rows, database.used):
            curator._store.connection.execute(sa.delete(table))
    assert curator.verify().sound
    assert not curator.verify(head).sound


def test_no_value_is_in_a_stores_errors(opens, caplog):
    """Neither an error of a store nor a log of its database shows a value that was to be written."""
    import logging

    panel = support.town()
    curator = opens(budget=support.ROOMY)
    start(curator, panel, **STRONG).report(panel.between(16, 18))
    caplog.set_level(logging.INFO, logger="sqlalchemy.engine")
    with pytest.raises(StoreError) as caught, curator._store.transaction():
        curator._store.keep_noise(1, 4, {"all": [987654321]})
    error = caught.value
    said = f"{error!r} {error} {error.__cause__!r} {error.__context__!r} {caplog.text}"
    assert "987654321" not in said


def test_a_backup_of_a_restored_store_is_fenced_again(lasting, tmp_path):
    """Though a restored ledger counts from its backup on, what it published after a second backup is never
    redrawn.
    """
    panel = support.town(cycles=60)
    curator = lasting(budget=dn.Budget(pattern="3", cycle="3"))
    stream = start(curator, panel, **STRONG)
    stream.report(panel.between(16, 20))
    curator.backup(tmp_path / "one.db")
    for step in range(20, 40):
        stream.report(panel.between(step, step + 1))
    one = dn.Curator.open(tmp_path / "one.db", fence=curator.status().head)
    one.streams()[0].report(panel.between(40, 44))
    one.backup(tmp_path / "two.db")
    one.streams()[0].report(panel.between(44, 52))
    assert int(one.head.split(":")[1]) < int(curator.head.split(":")[1])
    two = dn.Curator.open(tmp_path / "two.db", fence=one.status().head)
    rows = two.streams()[0].report(panel.between(16, 60))
    assert [row.step for row in rows] == [*range(16, 20), *range(40, 44), *range(52, 60)]
    assert two.verify().sound


def test_behind_a_fence_nothing_is_forgotten_by_stopping(lasting, tmp_path):
    """A stream that is stopped behind a fence ends after it, and no plan learns from cycles before it."""
    panel = support.town(cycles=40)
    curator = lasting(budget=support.ROOMY)
    stream = start(curator, panel, **STRONG)
    stream.report(panel.between(16, 20))
    curator.backup(tmp_path / "backup.db")
    stream.report(panel.between(20, 32))
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    assert restored.streams()[0].stop() == 32
    with refuses(OverlapError, "restored-history"):
        restored.start(
            support.plan_for(panel), history=panel.between(20, 36), acknowledge="untested", accept_worse=True
        )


def test_levels_that_a_backup_does_not_know_are_not_mixed(lasting, tmp_path):
    """Where a pattern plan is lost no counting plan starts, and the other way round."""
    panel = support.town(cycles=40)
    share = {"level": "cycle", "query": dn.Share(above=50), "history": 0}
    for name, lost, wanted in (("one", {}, share), ("two", share, {})):
        curator = lasting(name, support.ROOMY)
        curator.backup(tmp_path / f"{name}.backup")
        start(curator, panel, **lost).report(panel.between(16, 20))
        restored = dn.Curator.open(tmp_path / f"{name}.backup", fence=curator.status().head)
        plan = support.plan_for(panel, **wanted)
        history = panel.between(20, 20 + 4 * plan.history)
        with refuses(OverlapError, "restored-levels"):
            restored.start(plan, history=history, acknowledge="untested", accept_worse=True)


def test_what_a_restored_store_spends_itself_is_no_part_of_what_is_missing(lasting, tmp_path):
    """A second fence counts from what the backup knew, not from what the restored store has spent since."""
    panel = support.town(cycles=60)
    curator = lasting(budget=dn.Budget(pattern="20", cycle="1"))
    start(curator, panel).stop()
    curator.backup(tmp_path / "backup.db")
    start(curator, panel, query=dn.Sum()).stop()
    first = curator.status().head
    start(curator, panel, query=dn.Sum(), epsilon="2").stop()
    restored = dn.Curator.open(tmp_path / "backup.db", fence=first)
    later = panel.between(100, 116)
    restored.start(support.plan_for(panel, epsilon="2"), history=later, acknowledge="untested", accept_worse=True)
    assert restored.status().pattern[0] == 4
    again = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    # One and two of its own, and at least three that are missing; told in two heads, the first counts twice.
    assert again.status().pattern[0] >= 6


def test_stores_may_share_a_folder_for_profiles(on, tmp_path):
    """Opening a store deletes no profile of another one, nor of the store that a backup was taken of."""
    panel = support.town()
    shared = tmp_path / "profiles"
    one = dn.Curator.open(tmp_path / "one.db", support.ROOMY, profiles=shared)
    start(one, panel)
    two = dn.Curator.open(tmp_path / "two.db", support.ROOMY, profiles=shared)
    start(two, panel)
    dn.Curator.open(tmp_path / "one.db", profiles=shared)
    one.backup(tmp_path / "backup.db")
    with refuses(StoreError, "backup-needs-fence"):
        dn.Curator.open(tmp_path / "backup.db", profiles=shared)
    for name in ("one", "two"):
        assert dn.Curator.open(tmp_path / f"{name}.db", profiles=shared).verify().sound


def test_what_is_owed_to_people_is_owed_by_every_copy(lasting, tmp_path):
    """A restored store that owes an erasure starts nothing, and its head says so, until it is said again."""
    panel = support.town(cycles=30)
    curator = lasting(budget=support.ROOMY)
    for name in ("one", "two"):
        curator.backup(tmp_path / f"{name}.db")
    start(curator, panel)
    curator.erase("3")
    one = dn.Curator.open(tmp_path / "one.db", fence=curator.status().head)
    with pytest.raises(StoreError, match="1 erasure"):
        start(one, panel)
    two = dn.Curator.open(tmp_path / "two.db", fence=one.status().head)
    with pytest.raises(StoreError, match="1 erasure"):
        start(two, panel)
    two.erase("3")
    with refuses(PopulationError, "history-erased-household"):
        start(two, panel)
    start(two, panel.without(["3"]))


def test_what_goes_wrong_after_a_commit_undoes_nothing(on, monkeypatch):
    """A file that cannot be deleted once an erasure has happened is deleted with the next transaction."""
    from diurnal.curator.started_plan import FolderShelf

    panel = support.town()
    curator = on("sqlite", budget=support.ROOMY)
    stream = start(curator, panel)
    drop = FolderShelf.drop

    def fail(self, name):
        raise PermissionError("not now")

    monkeypatch.setattr(FolderShelf, "drop", fail)
    curator._store.sweep = lambda **_: None
    curator.erase("3")
    monkeypatch.setattr(FolderShelf, "drop", drop)
    stream.report(panel.between(16, 17))
    assert len(list(curator._store.shelf.folder.iterdir())) == 1
    assert curator.verify().sound
