"""A store is opened, backed up, restored behind a fence, which counts every loss it does not know, and verified."""

import sqlite3
from fractions import Fraction

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import database
from diurnal.errors import BudgetError, OverlapError, PopulationError, StoreError
from support import refuses

ROOMY = dn.Budget(pattern="40", cycle="40", delta="1e-6")
GAUSSIAN = {**support.SLOTWISE, "mechanism": "gaussian", "cycle_mechanism": "gaussian", "delta": "1e-6"}


def spent(curator):
    status = curator.status()
    return {"pattern": status.pattern[0], "strong": status.strong[0]}


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_concentrated_loss_behind_a_fence_counts_in_full(name, tmp_path):
    """A Gaussian plan that a backup does not know costs there what it cost where it ran, beside a pure one."""
    panel = support.town(cycles=20)
    curator = dn.Curator.open(tmp_path / "a.db", ROOMY)
    support.start_in(curator, panel, **support.SLOTWISE)
    curator.backup(tmp_path / "b.db")
    before = spent(curator)[name]
    support.start_in(curator, panel, **GAUSSIAN)
    restored = dn.Curator.open(tmp_path / "b.db", fence=curator.status().head)
    assert spent(restored)[name] == spent(curator)[name] > before


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_concentrated_loss_behind_a_fence_is_asked_of_the_budget(name, tmp_path):
    """A plan that would pass a cap only with what a lost Gaussian plan has cost is refused."""
    panel = support.town(cycles=20)
    curator = dn.Curator.open(
        tmp_path / "a.db", dn.Budget.from_json({"pattern": "9", "strong": "9", "delta": "1e-6", name: "5/4"})
    )
    curator.backup(tmp_path / "b.db")
    support.start_in(curator, panel, **GAUSSIAN)
    restored = dn.Curator.open(tmp_path / "b.db", fence=curator.status().head)
    with pytest.raises(dn.errors.BudgetError, match=f"the {name} budget"):
        support.start_in(restored, panel, **GAUSSIAN, query=dn.Sum())


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_second_fence_forgets_nothing_of_the_first(name, tmp_path):
    """Two copies of one backup each spend something of their own: who is fenced by both heads counts both."""
    panel = support.town(cycles=20)
    curator = dn.Curator.open(tmp_path / "a.db", ROOMY)
    support.start_in(curator, panel, **support.SLOTWISE)
    heads = [curator.backup(tmp_path / f"{copy}.db") and curator.status().head for copy in ("one", "two")]
    support.start_in(curator, panel, **support.SLOTWISE, epsilon="2")
    two = dn.Curator.open(tmp_path / "two.db", fence=heads[1])
    support.start_in(two, panel, **support.SLOTWISE, epsilon="3")
    dn.Curator.open(tmp_path / "one.db", fence=curator.status().head)
    assert spent(dn.Curator.open(tmp_path / "one.db", fence=two.status().head))[name] >= 1 + 2 + 3


STRONG = support.SLOTWISE


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
    stream = support.start_in(curator, panel, **support.SLOTWISE)
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
    support.start_in(lasting("city", support.ROOMY), panel)
    support.start_in(lasting("town", support.ROOMY), other)
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
    stream = support.start_in(curator, panel)
    rows = stream.report(panel.between(16, 30))
    curator.backup(tmp_path / "backup.db")
    stream.report(panel.between(30, 42))
    stream.stop()
    support.start_in(curator, panel, query=dn.Sum(), epsilon="3/2").report(panel.between(42, 45))
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
    support.start_in(curator, panel).report(panel.between(16, 30))
    head = curator.backup(tmp_path / "backup.db")
    assert head == curator.head
    restored = dn.Curator.open(tmp_path / "backup.db", fence=head, people=0)
    assert [row.step for row in restored.streams()[0].report(panel)] == list(range(16, 48))
    with refuses(StoreError, "backup-exists"):
        curator.backup(tmp_path / "backup.db")


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


def test_a_second_restore_knows_the_first_fence(lasting, tmp_path):
    """The head of a restored store carries its fence: another restore from it neither redraws nor forgets."""
    panel = support.town(cycles=30)
    curator = lasting(budget=dn.Budget(pattern="3", cycle="3"))
    stream = support.start_in(curator, panel, **STRONG)
    stream.report(panel.between(16, 20))
    for name in ("one", "two"):
        curator.backup(tmp_path / f"{name}.db")
    stream.report(panel.between(20, 28))
    stream.stop()
    support.start_in(curator, panel.columns(np.arange(20)), **STRONG, query=dn.Sum())
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
    support.start_in(curator, panel, **STRONG).report(panel.between(16, 32))
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    with refuses(OverlapError, "restored-history"):
        support.start_in(restored, panel)
    plan = support.plan_for(panel)
    restored.start(plan, history=panel.between(32, 48), acknowledge="untested", accept_worse=True)


def test_a_tail_that_was_cut_off_is_missed_by_who_has_the_head(opens):
    """Events and rows removed together leave a sound chain; the head that was published is not in it."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel)
    stream.report(panel.between(16, 22))
    head = curator.status().head
    with curator._store.transaction():
        last = int(head.split(":")[1])
        curator._store.connection.execute(sa.delete(database.ledger).where(database.ledger.c.number == last))
        for table in (database.rows, database.used):
            curator._store.connection.execute(sa.delete(table))
    assert curator.verify().sound
    assert not curator.verify(head).sound


def test_a_backup_of_a_restored_store_is_fenced_again(lasting, tmp_path):
    """Though a restored ledger counts from its backup on, what it published after a second backup is never
    redrawn.
    """
    panel = support.town(cycles=60)
    curator = lasting(budget=dn.Budget(pattern="3", cycle="3"))
    stream = support.start_in(curator, panel, **STRONG)
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
    stream = support.start_in(curator, panel, **STRONG)
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
        support.start_in(curator, panel, **lost).report(panel.between(16, 20))
        restored = dn.Curator.open(tmp_path / f"{name}.backup", fence=curator.status().head)
        plan = support.plan_for(panel, **wanted)
        history = panel.between(20, 20 + 4 * plan.history)
        with refuses(OverlapError, "restored-levels"):
            restored.start(plan, history=history, acknowledge="untested", accept_worse=True)


def test_what_a_restored_store_spends_itself_is_no_part_of_what_is_missing(lasting, tmp_path):
    """A second fence counts from what the backup knew, not from what the restored store has spent since."""
    panel = support.town(cycles=60)
    curator = lasting(budget=dn.Budget(pattern="20", cycle="1"))
    support.start_in(curator, panel).stop()
    curator.backup(tmp_path / "backup.db")
    support.start_in(curator, panel, query=dn.Sum()).stop()
    first = curator.status().head
    support.start_in(curator, panel, query=dn.Sum(), epsilon="2").stop()
    restored = dn.Curator.open(tmp_path / "backup.db", fence=first)
    later = panel.between(100, 116)
    restored.start(support.plan_for(panel, epsilon="2"), history=later, acknowledge="untested", accept_worse=True)
    assert restored.status().pattern[0] == 4
    again = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    # One and two of its own, and at least three that are missing; told in two heads, the first counts twice.
    assert again.status().pattern[0] >= 6


def test_what_is_owed_to_people_is_owed_by_every_copy(lasting, tmp_path):
    """A restored store that owes an erasure starts nothing, and its head says so, until it is said again."""
    panel = support.town(cycles=30)
    curator = lasting(budget=support.ROOMY)
    for name in ("one", "two"):
        curator.backup(tmp_path / f"{name}.db")
    support.start_in(curator, panel)
    curator.erase("3")
    one = dn.Curator.open(tmp_path / "one.db", fence=curator.status().head)
    with pytest.raises(StoreError, match="1 erasure"):
        support.start_in(one, panel)
    two = dn.Curator.open(tmp_path / "two.db", fence=one.status().head)
    with pytest.raises(StoreError, match="1 erasure"):
        support.start_in(two, panel)
    two.erase("3")
    with refuses(PopulationError, "history-erased-household"):
        support.start_in(two, panel)
    support.start_in(two, panel.without(["3"]))
