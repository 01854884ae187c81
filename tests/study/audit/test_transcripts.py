"""What must hold without exception of a running store."""

import support
from diurnal import Curator, Sum
from diurnal.curator import guard
from diurnal.study.audit.transcripts import running


def test_a_running_stream_is_looked_at_and_left_as_it_is(tmp_path):
    """Facts about a store hold in one that nobody has touched, nothing is written, and a changed row is found."""
    import sqlite3

    panel = support.town()
    curator = Curator.open(tmp_path / "a.db", support.ROOMY)
    stream = curator.start(
        support.plan_for(panel, query=Sum()), panel.first(4), acknowledge="untested", accept_worse=True
    )
    stream.report(panel.after(4))
    before = curator.head
    assert all(fact.held for fact in running(curator, stream))
    assert curator.head == before
    with sqlite3.connect(tmp_path / "a.db") as raw:
        raw.execute("update rows set value = value + 1 where step = 20")
    again = Curator.open(tmp_path / "a.db")
    held = {fact.name: fact.held for fact in running(again, again.streams()[0])}
    assert not held["the store is as its ledger says"]


def test_every_rule_of_the_guard_is_applied_again_to_what_runs(monkeypatch):
    """Strong plans of which one learns from what the other reports are found, however they came to be started."""
    panel, curator = support.town(cycles=16), Curator.in_memory(support.ROOMY)
    plan = support.plan_for(panel, **support.SLOTWISE)
    stream = curator.start(plan, panel.first(4), acknowledge="untested", accept_worse=True)
    with monkeypatch.context() as patch:
        patch.setattr(guard, "check_history", lambda *_: None)
        curator.start(plan, panel.between(32, 48), acknowledge="untested", accept_worse=True)
    held = {fact.name: fact.held for fact in running(curator, stream)}
    assert not held["the plans may stand beside each other"]


def test_a_restored_store_is_no_reason_to_doubt_its_plans(tmp_path):
    """A plan that ran before a backup was restored may stand, though none could be started on its history now."""
    panel, curator = support.town(), Curator.open(tmp_path / "a.db", support.ROOMY)
    curator.start(support.plan_for(panel), panel.first(4), acknowledge="untested", accept_worse=True).report(
        panel.between(16, 20)
    )
    curator.backup(tmp_path / "b.db")
    restored = Curator.open(tmp_path / "b.db", fence=curator.status().head)
    assert all(fact.held for fact in running(restored, restored.streams()[0]))
