"""People: a household that is forgotten, or that is another's home from a step on, in every plan that has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from diurnal.curator import far
from diurnal.curator.records import StreamRecord
from diurnal.errors import StreamError

if TYPE_CHECKING:
    from diurnal.curator.store import Store


def erase(store: Store, household: str) -> None:
    """Delete a household's profile and readings; it does not move from now on.

    Raises:
        StreamError: No plan has it.
    """
    with store.transaction():
        _for_each(store, household, lambda record, place: _forget(store, record, place))
        store.erase(household)
        store.sweep(spare=True)
        _said_again(store)


def move_out(store: Store, household: str, step: int) -> None:
    """Let a household not move from a step on.

    Raises:
        StreamError: No plan has it, or it has been said of that step.
    """

    def silence(record: StreamRecord, place: int) -> None:
        if record.silenced.get(place, step + 1) <= step:
            raise StreamError(
                f"That household has not moved since step {record.silenced[place]}.",
                hint="It was said before, and holds.",
            )
        store.change(record.moved_out([place], step), "moved out", {"step": step})

    with store.transaction():
        _for_each(store, household, silence)
        store.note("tenancy", {"step": step})
        _said_again(store)


def _for_each(store: Store, household: str, work: Callable[[StreamRecord, int], None]) -> None:
    """Do the work on every plan that has the household, at its place there."""
    found = [record for record in store.records() if household in record.places]
    if not found and not store.owed():
        raise StreamError("No plan of this store has that household.", hint="Names are those of the roster.")
    for record in found:
        work(record, record.places[household])


def _forget(store: Store, record: StreamRecord, place: int) -> None:
    alias = store.name_digests([record.households[place]])[0][:16]
    if record.lake is None:
        after = record.forgetting(place, alias)
    else:
        after = far.forgotten(record, place, alias, store)
    store.change(after, "erased", {"households": 1}, roster=True)
    store.forget_used(record.number)
    store.forget_contents(record.number)
    for step in store.held_marks(record.number):
        each = store.held(record.number, range(step, step + 1))[step]
        present, readings = each.present.copy(), each.readings.copy()
        present[place], readings[place] = False, 0
        store.hold(record.number, {step: replace(each, present=present, readings=readings)})


def _said_again(store: Store) -> None:
    """One less of what a restored backup did not know."""
    if store.owed():
        store.set_fact("owed", store.owed() - 1)
