"""Curator: starts plans and keeps their streams in one store: one population, one budget, one ledger.

What it refuses is in `guard`, what a plan becomes when it is started in `starting`. A household that is erased, or
moves out, is so in every plan that has it: `erase` and `move_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from diurnal.curator import closing, guard, starting
from diurnal.curator.release import Report
from diurnal.curator.started_plan import StreamRecord
from diurnal.curator.status import Status, StreamStatus
from diurnal.curator.stream import Stream
from diurnal.curator.taking import forget_over
from diurnal.errors import BudgetError, InputError, ReadingsError, StoreError, StreamError
from diurnal.exact import instance, text, whole
from diurnal.planning.plan import Plan
from diurnal.planning.planner import UNLESS, bounded, worse_than_nothing
from diurnal.promise.budget import Budget
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel
from diurnal.renamed import renamed

if TYPE_CHECKING:
    from diurnal.curator.ledger import Event
    from diurnal.curator.opening import Verification
    from diurnal.curator.store import Clock, Store


class _OverError(Exception):
    """A rehearsal is over."""


class Curator:
    """Keeps the streams of one population.

    Guarantee:
        What all its streams publish, for ever, is within the budget for every household, under the
        neighbours, assumptions and limits that each stream's `guarantee` states.
    """

    def __init__(self, store: Store) -> None:
        """Keep streams in a store. `Curator.in_memory` makes one with a store of its own."""
        self._store = store

    def __repr__(self) -> str:
        return f"Curator({len(self.streams())} stream(s), head {self.head})"

    @classmethod
    def in_memory(cls, budget: Budget | None = None, *, clock: Clock | None = None) -> Curator:
        """A curator whose memory ends with the process.

        Args:
            budget: The caps for every household; epsilon 1 for a shift of the pattern and 1 for any one reported
                cycle unless given.
            clock: What time it is, with an offset; the clock of this machine unless given.
        """
        chosen = Budget() if budget is None else budget
        instance(chosen, Budget, "budget", example="Budget(pattern='1', cycle='1')")
        from diurnal.curator.store import Store, utc_now

        return cls(Store.in_memory(chosen, clock or utc_now))

    @classmethod
    def open(
        cls,
        where: str | Path,
        budget: Budget | None = None,
        *,
        grid: Grid | None = None,
        domain: tuple[int, int] | None = None,
        channel: str | None = None,
        calendar: Iterable[int] = (),
        profiles: str | Path | None = None,
        fence: str | None = None,
        people: int | None = None,
        strays: Iterable[int] = (),
        create: bool = True,
        clock: Clock | None = None,
    ) -> Curator:
        """The curator of a store that lasts: a SQLite file, or PostgreSQL where several machines share it.

        A store is one population. What is said of it when it is made holds for ever; what is not said then is
        decided by the first plan. Private profiles lie beside it, in files that only their owner can read.

        Args:
            where: A path; or an address, such as postgresql+psycopg://host/name.
            budget: The caps for every household, when the store is made; the store's own otherwise.
            grid: The steps of the population, its period among them.
            domain: The physical range of a reading.
            channel: What is metered.
            calendar: Steps whose true total is public, when the store is made.
            profiles: The folder for private profiles; beside the file unless given.
            fence: After restoring a backup, the last head that was published; or the custodian's own, of `status`.
            people: With a fence, how many erasures and changes of tenancy there were since the backup was taken: a
                published head does not tell. They must be said again before anything is reported.
            strays: With a fence, steps that have not come yet and were published all the same, because a clock was
                wrong. They are never reported again, and the store goes on from today.
            create: Whether to make a store where there is none.
            clock: What time it is, with an offset, for deadlines, for what has not come yet and for the ledger; the
                clock of this machine unless given.

        Raises:
            StoreError: It cannot be opened; or it is a backup, and there is no fence, or one that does not tell
                how many erasures and changes of tenancy there were.
            PopulationError: It was made with another budget, grid, domain or channel.
        """
        from diurnal.curator.opening import opened

        if budget is not None:
            instance(budget, Budget, "budget", example="Budget(pattern='1', cycle='1')")
        instance(where, (str, Path), "where", example="'city.db'")
        if grid is not None:
            instance(grid, Grid, "grid", example="panel.grid")
        if domain is not None:
            instance(domain, (tuple, list), "domain", example="(0, 8000)")
        said = {
            "grid": None if grid is None else grid.to_json(),
            "domain": None if domain is None else [whole(bound, "domain", least=-(2**62)) for bound in domain],
            "channel": channel,
        }
        population = {name: value for name, value in said.items() if value is not None}
        return cls(
            opened(
                where,
                budget,
                population=population,
                calendar=calendar,
                profiles=profiles,
                fence=fence,
                people=None if people is None else whole(people, "people", least=0, error=InputError),
                strays=[whole(step, "strays", least=0, error=InputError) for step in strays],
                create=create and fence is None,
                clock=clock,
            )
        )

    @classmethod
    def after_fence(
        cls,
        where: str | Path,
        *,
        fence: str,
        people: int | None = None,
        strays: Iterable[int] = (),
        profiles: str | Path | None = None,
        clock: Clock | None = None,
    ) -> int:
        """From which step on a restored backup would report behind a fence. Nothing is changed.

        Raises:
            StoreError: It would be refused.
        """
        from diurnal.curator.opening import rehearsed

        return rehearsed(where, profiles=profiles, fence=fence, people=people, strays=list(strays), clock=clock)

    def start(
        self, plan: Plan, history: Panel, *, acknowledge: str | None = None, accept_worse: bool = False
    ) -> Stream:
        """Start a plan, or find it started.

        Every check comes first; then the noisy profile is drawn and the budget spent, at once. Started
        again with the same plan and roster, it is the same stream, and nothing is spent.

        Args:
            plan: What to report and what to promise. A mechanism left to `auto` is chosen here.
            history: The complete cycles to make profiles from; of no cycles at level `cycle`.
            acknowledge: The digest of the verdict on these homes and this period, which says that somebody has
                read it; "untested" where there is too little data for one. Not wanted at level `cycle`, which
                assumes nothing, nor of a stream that has been started before.
            accept_worse: Start it although its reports are predicted to be worse than publishing nothing at all,
                from public numbers alone (`dn.predict`). A stream that runs already is found either way.

        Raises:
            InputError: Plan and history do not fit each other.
            RefusedError: The guard or the budget says no, or nobody has read the verdict.
            WorseError: It is predicted to be worse than publishing nothing at all, and nobody accepts that.
        """
        instance(plan, Plan, "plan", example="Plan(...)")
        instance(accept_worse, bool, "accept_worse", example="True")
        instance(history, Panel, "history", example="Panel.from_array(readings)")
        with self._store.transaction():
            bound = starting.bound_to(plan, history)
            started = self._started(bound)
            if started is not None:
                self._store.close_steps(history.calendar)
                forget_over(self._store, self._store.records())
                return Stream(self._store, started.stream_id)
            guard.check_acknowledged(bound, history, acknowledge)
            self._store.check_owed()
            record, history = self._checked(bound, history, acknowledge)
            guard.check_worth(record, accept=accept_worse)
            used = starting.in_domain(bound, history)
            record = starting.learned(record, used, self._store)
            guard.check_profiles(record, self._store.records())
            self._store.settle_population(bound)
            self._store.add(starting.with_forms(starting.with_profile(record, used)), history.calendar)
            forget_over(self._store, self._store.records())
        return Stream(self._store, bound.hash)

    def explain(
        self, plan: Plan, history: Panel, *, acknowledge: str | None = None, accept_worse: bool | None = None
    ) -> list[str]:
        """What starting a plan would mean here, in sentences; nothing is drawn, spent or written.

        How it differs from the running plan that it is most like, what it costs and what that leaves, and from
        which step on it reports. Nothing is learned from the history, so what its readings would have refused is
        found by `start` alone: most of them outside the domain, profiles other than those of a pattern plan that
        reports the same steps, a free reference whose sums could leave 64 bits.

        Args:
            plan: What would be started.
            history: What with.
            acknowledge: What `start` would be given; unless it is, whether anybody has read a verdict is not asked.
            accept_worse: What `start` would be given; unless it is, a sentence says that `start` would refuse a
                plan that is predicted to be worse than publishing nothing at all.

        Raises:
            InputError: Plan and history do not fit each other.
            RefusedError: It would be refused, and why; a restored store must be told first who was erased since.
        """
        with self._store.transaction():
            bound = starting.bound_to(plan, history)
            if self._started(bound) is not None:
                return ["It has been started: this is the same stream, and nothing is spent."]
            others = self._store.records()
            if acknowledge is not None:
                guard.check_acknowledged(bound, history, acknowledge)
            self._store.check_owed()
            record, _ = self._checked(bound, history, None)
            guard.check_worth(record, accept=accept_worse is not False)
            worse = worse_than_nothing(bound, min(group.size for group in record.groups))
            return [
                *([] if worse is None else [worse.message, UNLESS]),
                *starting.differences(record, others),
                *guard.costs(record, others, self._store),
                f"It reports from step {record.first_step} on, {bound.grid.time(record.first_step)}.",
            ]

    def _started(self, bound: Plan) -> StreamRecord | None:
        """The same plan, if it has been started: nothing may be drawn twice for the same data."""
        for each in self._store.records():
            # A calendar that has grown since makes no new plan.
            own = each.plan.with_(calendar=bound.calendar)
            # Nor does a W that the planner gives today: before, a plan without one was started as it was.
            if bound in (own, bounded(own)):
                return each
        return None

    def _checked(self, bound: Plan, history: Panel, acknowledge: str | None) -> tuple[StreamRecord, Panel]:
        """A plan that may be started, and its history by the store's calendar; nothing learned or drawn yet."""
        guard.check_people(history, self._store)
        history = history.closing(self._store.calendar())
        record, others = starting.prepared(bound, history, acknowledge), self._store.records()
        record.cohort.check(bound, history)
        guard.check_population(record, self._store)
        record = replace(record, first_step=guard.first_step(record, others))
        guard.check_restored(record, self._store)
        guard.check_beside(record, others)
        guard.check_budget(record, others, self._store)
        return record, history

    def streams(self) -> list[Stream]:
        """Every stream ever started."""
        with self._store.transaction():
            return [Stream(self._store, record.stream_id) for record in self._store.records()]

    @renamed(key="stream_id")
    def stream(self, stream_id: str) -> Stream:
        """A started stream by its plan's hash, or by how that begins.

        Raises:
            StreamError: None begins so, or several do.
        """
        with self._store.transaction():
            found = [record.stream_id for record in self._store.records() if record.stream_id.startswith(stream_id)]
        if len(found) != 1:
            raise StreamError("stream-ambiguous", found=len(found), prefix=stream_id)
        return Stream(self._store, found[0])

    def close_overdue(self) -> dict[str, list[Report]]:
        """Report what is past its deadline in any stream, with what is there of it. Returns the new rows by stream.

        Raises:
            OwedError: A restored store must be told first who was erased since.
            StoreError: What a stream holds is damaged. All others have been seen to.
        """
        found, damage = {}, None
        for stream in self.streams():
            try:
                found[stream.plan.hash] = stream.close_overdue()
            except StoreError as error:
                damage = error
        if damage is not None:
            raise damage
        return {stream_id: rows for stream_id, rows in found.items() if rows}

    def close(self) -> None:
        """Let go of the store's database. Nothing is lost: what is asked later opens it again."""
        if self._store.lasting:
            self._store.close()

    @property
    def head(self) -> str:
        """Where the ledger stands: publish it with every batch, and keep it. It fences a restored backup.

        It tells nothing about people; the custodian's own, of `status`, says how many were erased or have moved.
        """
        with self._store.transaction():
            return str(self._store.head())

    @property
    def budget(self) -> Budget:
        """The caps for every household."""
        with self._store.transaction():
            return self._store.budget

    def raise_cap(self, budget: Budget) -> None:
        """Allow more than before. The ledger tells; there is no way back, and nothing is ever reset.

        Raises:
            BudgetError: A cap would be lowered, or the delta changed.
        """
        instance(budget, Budget, "budget", example="Budget(pattern='2', cycle='1')")
        with self._store.transaction():
            old = self._store.budget
            if budget.delta != old.delta:
                had, given = (each.to_json()["delta"] for each in (old, budget))
                raise BudgetError(
                    "budget-delta-fixed",
                    has=had or "none",
                    given=given or "none",
                    remaining=Fraction(had or 0),
                    requested=Fraction(given or 0),
                )
            for name, after in budget.caps.items():
                before = old.caps[name]
                if after < before:
                    raise BudgetError(
                        "budget-cap-lowered",
                        cap=name,
                        before=text(before),
                        after=text(after),
                        remaining=before,
                        requested=after,
                    )
            self._store.set_fact("budget", budget.to_json())
            self._store.note("raised", {"budget": budget.to_json()})

    def ledger(self) -> list[Event]:
        """Everything that was ever decided, in order."""
        with self._store.transaction():
            return list(self._store.events())

    def verify(self, head: str | None = None) -> Verification:
        """Look whether everything is as it was written: the database's files, then what the ledger tells of.

        Of what waits or only steers, some can be changed unseen: see `diurnal.curator.opening.NOT_LOOKED_AT`.

        Args:
            head: A head that was published; whether it is still in the ledger is looked at too.
        """
        from diurnal.curator.opening import verify

        return verify(self._store, head)

    def status(self) -> Status:
        """How the store stands, for its operator's eyes."""
        with self._store.transaction():
            records, budget = self._store.records(), self._store.budget
            head = self._store.own_head()
            return Status(
                head=str(head),
                pattern=(guard.spent(records, self._store, "pattern"), budget.caps["pattern"]),
                strong=(guard.spent(records, self._store, "strong"), budget.caps["strong"]),
                delta=None if budget.delta is None else Fraction(budget.delta),
                levels=head.levels,
                streams=tuple(_status(record, self._store) for record in records),
            )

    def trust_units(self) -> None:
        """Take readings although they look a thousand times too small or too large; `status` still says so.

        For a plan whose public reference is wrong. It holds for this object, and is not remembered by the store.
        """
        self._store.units.trusts = True

    def backup(self, path: str | Path) -> str:
        """Copy the store, private profiles and all, into a SQLite file. Returns the head at that moment.

        A backup is opened with a fence: `Curator.open(path, fence=last_published_head, people=0)`.
        """
        from diurnal.curator.opening import back_up

        if not self._store.lasting:
            raise StoreError("memory-store-no-backup")
        return str(back_up(self._store, Path(path)))

    @contextmanager
    def rehearsed(self, is_rehearsal: bool = True) -> Iterator[None]:
        """Do something that cannot be taken back, such as `erase`, without its ever happening.

        Whatever would be refused is refused. Nothing may be reported inside: what was drawn must be kept.

        Args:
            is_rehearsal: Whether it is one; else it happens as ever.
        """
        if not is_rehearsal:
            yield
            return
        try:
            with self._store.transaction():
                before = self._store.last_number()
                yield
                kinds = {event.kind for event in self._store.events() if event.number > before}
                assert not kinds & {"reported", "drawn", "started"}, "a rehearsal draws nothing"
                raise _OverError
        except _OverError:
            with self._store.transaction():
                self._store.sweep()

    def erase(self, household: str) -> None:
        """Forget a household: its profile and its readings are deleted, and it does not move from now on.

        What was released stays released: the noisy profile, and every report. The next plan must leave it out.

        Raises:
            StreamError: No plan has it.
        """
        erase(self._store, household)

    def move_out(self, household: str, step: int) -> None:
        """A new tenant: the household does not move from a step on, until the next plan learns its new pattern.

        A new meter is no new household if the name is kept, and the budget goes with it; under a new name it would
        be another household, with a budget of its own.

        Raises:
            StreamError: No plan has it.
        """
        move_out(self._store, household, whole(step, "step", least=0, error=ReadingsError))


def _status(record: StreamRecord, store: Store) -> StreamStatus:
    number, slots = record.number, record.plan.grid.slots
    last = store.last_step(number, before=closing.ahead_from(record, store.now()))
    held, latest = store.held_marks(number), store.latest(number)
    arrivals = [each for each in store.arrivals(number) if each.reached or each.cycle * slots <= latest]
    oldest = min(arrivals, key=lambda each: closing.deadline(record, each), default=None)
    late = closing.overdue(record, store.arrivals(number), latest=latest, now=store.now())
    return StreamStatus(
        plan=record.stream_id,
        level=record.plan.level,
        households=len(record.members),
        groups=len(record.groups),
        first_step=record.first_step,
        last_step=last,
        last_time=None if last is None else record.plan.grid.time(last),
        end=record.end,
        open_steps=len(held),
        stray_steps=sum(step > latest for step in held),
        held_since=None if oldest is None else oldest.time.isoformat(timespec="seconds"),
        closes=None if oldest is None else closing.deadline(record, oldest).isoformat(timespec="seconds"),
        overdue=sum(closing.deadline(record, each) <= store.now() for each in arrivals) + len(late.stray),
        acknowledged=record.acknowledged,
        counts=store.quality(number),
        units=store.units.alarms(number),
        refused=store.units.refused[number],
        looked=store.units.counted(number),
    )


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
            raise StreamError("household-moved-already", step=record.silenced[place])
        store.change(record.moved_out([place], step), "moved out", {"step": step})

    with store.transaction():
        _for_each(store, household, silence)
        store.note("tenancy", {"step": step})
        _said_again(store)


def _for_each(store: Store, household: str, work: Callable[[StreamRecord, int], None]) -> None:
    """Do the work on every plan that has the household, at its place there."""
    found = [record for record in store.records() if household in record.places]
    if not found and not store.owed():
        raise StreamError("household-unknown")
    for record in found:
        work(record, record.places[household])


def _forget(store: Store, record: StreamRecord, place: int) -> None:
    alias = store.name_digests([record.households[place]])[0][:16]
    after = record.forgetting(place, alias)
    after = replace(after, cohort=record.cohort.forgetting(record, place, after, store))
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
