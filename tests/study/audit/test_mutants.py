"""Broken curators, each by patching the real one: the audit catches every one, and passes the real one.

A mutant stands for a mistake that somebody could make in good faith. Cycles of few slots keep audits short; nothing
in them depends on how many there are.
"""

import itertools
from copy import copy
from fractions import Fraction

import numpy as np
import pytest

from diurnal import Basis, Body, Ellipsoid, Grid, Mean, Panel, Plan, Weighted
from diurnal.curator import closing, database, guard, release, started_plan, starting, taking
from diurnal.curator.started_plan import MemoryCohort
from diurnal.curator.stream import Stream
from diurnal.promise import noise
from diurnal.promise.body import Body as BodyClass
from diurnal.promise.mechanisms import BasisMechanism, Blocks, Mechanism
from diurnal.readings import kernels
from diurnal.study.audit.audit import Effort, audit

EFFORT = Effort(copies=150, eventful=100)
LITTLE = Effort(copies=20, eventful=12, drawn=3000)
"""Enough for what must hold without exception."""

BY_CHANCE = ("Measured", "as wide as its law", "follows its law", "comes twice", "noise of their own")
"""Findings that take many transcripts."""

SLOTS = 4


def plan(level="pattern", mechanism="laplace", **more):
    fields = {
        "query": Mean(),
        "grid": Grid(slots=SLOTS),
        "domain": (0, 1000),
        "epsilon": "1",
        "level": level,
        "mechanism": mechanism,
        "history": 5,
        "body": Body(high=500),
        "minimum_group": 3,
    }
    if level == "strong":
        fields |= {"cycle_mechanism": mechanism, "variation_bound": 200}
    return Plan(**{**fields, **more})


PATTERN = plan()
STRONG = plan("strong")
BASIS = plan(mechanism="basis", basis=Basis(size=2), body=Ellipsoid(radius=500, reference=[300] * SLOTS))
BLOCKS = plan(
    "strong",
    mechanism="basis",
    basis=Basis(size=2),
    body=Ellipsoid(radius=500, reference=[300] * SLOTS),
    cycle_mechanism="blocks",
    cycle_basis=Basis(size=2),
    variation_bound=Ellipsoid(radius=400),
)
CYCLES = plan(
    "strong",
    mechanism="basis",
    basis=Basis(size=2),
    body=Ellipsoid(radius=500, reference=[300] * SLOTS),
    cycle_mechanism="basis",
    cycle_basis=Basis(size=2),
    variation_bound=200,
)
HEAVY = plan("strong", query=Weighted([1, 3] * 3))
NET = plan(domain=(-500, 500), body=Body(low=-300, high=300), default_reading=0)
ONE = plan("strong", history=1)


def every_noise(monkeypatch, change):
    """Replace each sampler by what a function makes of it."""
    for name in ("laplace", "gaussian", "cube", "l2_norm"):
        monkeypatch.setattr(noise, name, change(name, getattr(noise, name)))


def shared_between_slots(monkeypatch):
    every_noise(monkeypatch, lambda name, real: lambda *given: [real(*given)[0]] * len(real(*given)))


def shared_between_groups(monkeypatch):
    kept = {}
    every_noise(monkeypatch, lambda name, real: lambda *given: kept.setdefault((name, str(given)), real(*given)))


def none_in_one_slot(monkeypatch):
    every_noise(monkeypatch, lambda name, real: lambda *given: [0, *real(*given)[1:]])


def half_the_scale(monkeypatch):
    def halved(name, real):
        factor = Fraction(1, 2) if name in ("laplace", "gaussian") else 2
        return lambda size, scale: real(size, scale * factor)

    every_noise(monkeypatch, halved)


def times_as_wide(factor):
    """Every sampler's noise so many times as wide as it should be."""

    def mutate(monkeypatch):
        def change(name, real):
            by = factor if name in ("laplace", "gaussian") else 1 / factor
            return lambda size, scale: real(size, scale * by)

        every_noise(monkeypatch, change)

    return mutate


def blocks_at_another_rate(monkeypatch):
    real = Blocks.noise

    def noise_of(self):
        faster = copy(self)
        faster.rate = self.rate * Fraction(106, 100)
        return real(faster)

    monkeypatch.setattr(Blocks, "noise", noise_of)


def known_by_another_slot(monkeypatch):
    """A slot with a reading has a profile if any slot of the household has enough."""
    real = kernels.profiles

    def profiles(readings, present, *, slots, min_readings, **more):
        value, some = real(readings, present, slots=slots, min_readings=1, **more)
        known = some & real(readings, present, slots=slots, min_readings=min_readings, **more)[1].any(axis=0)
        return np.where(known, value, 0), known

    monkeypatch.setattr(kernels, "profiles", profiles)


def with_true_profiles(monkeypatch):
    """What profiles are before noise, by the noisy one, as a careless curator would keep them."""
    real, kept = Mechanism.release, {}

    def release(self, totals):
        noisy = real(self, totals)
        kept[tuple(self.to_slots(noisy))] = [int(total) for total in totals]
        return noisy

    monkeypatch.setattr(Mechanism, "release", release)
    return kept


def redrawn_each_cycle(monkeypatch):
    """The noisy profile is drawn anew in every cycle."""
    kept, drawn, real = with_true_profiles(monkeypatch), {}, release.Publisher._values

    def values(self, step, sums, cycle_noise):
        made = list(real(self, step, sums, cycle_noise))
        cycle, slot = divmod(step, SLOTS)
        for place, group in enumerate(self._record.groups):
            old = tuple(int(value) for value in group.noisy_profile)
            fresh = drawn.setdefault(
                (cycle, old), [a + b for a, b in zip(kept[old], self._layers[place].pattern.noise(), strict=True)]
            )
            made[place] += fresh[slot] - old[slot]
        return tuple(made)

    monkeypatch.setattr(release.Publisher, "_values", values)


def redrawn_on_restart(monkeypatch):
    """The noisy profile is not kept: a store that is opened makes it again from the true one."""
    kept, real = with_true_profiles(monkeypatch), started_plan.Group.of
    scale = PATTERN.pattern_layer().scale

    def group(*given):
        found = real(*given)
        true = kept[tuple(int(value) for value in found.noisy_profile)]
        again = [Fraction(a + b) for a, b in zip(true, noise.laplace(SLOTS, scale), strict=True)]
        kept[tuple(map(int, again))] = true
        return started_plan.replace(found, noisy_profile=tuple(again))

    monkeypatch.setattr(started_plan.Group, "of", staticmethod(group))


def profile_not_clipped(monkeypatch):
    monkeypatch.setattr(BodyClass, "project", lambda self, vectors: vectors)


def other_mean(mean):
    def mutate(monkeypatch):
        real = kernels.profiles

        def profiles(readings, present, *, slots, **more):
            _, known = real(readings, present, slots=slots, **more)
            cycles, marks = (each.reshape(-1, slots, readings.shape[1]) for each in (readings, present))
            value = mean(np.where(marks, cycles, 0).sum(axis=0) / np.maximum(marks.sum(axis=0), 1))
            return np.where(known, value, 0).astype(np.int64), known

        monkeypatch.setattr(kernels, "profiles", profiles)

    return mutate


def on_variations(monkeypatch, change):
    """Change how variations are summed."""
    monkeypatch.setattr(kernels, "variation_sums", change(kernels.variation_sums))


def float_sums(monkeypatch):
    """Sums in kilowatt hours, as floats."""

    def change(real):
        def sums(readings, present, profile, known, slots, atoms, *, bound=None):
            _, used = real(readings, present, profile, known, slots, atoms, bound=bound)
            marks = present[:, atoms.order] & known[slots]
            now, usual = (np.where(marks, x, 0) / 1000 for x in (readings[:, atoms.order], profile[slots]))
            added = [np.add.reduceat(each, atoms.starts, axis=1) for each in (now, usual)]
            return 1000 * (added[0] - added[1]), used

        return sums

    on_variations(monkeypatch, change)
    real = release.Publisher._values
    # A float is refused there: it goes as what it is exactly.
    monkeypatch.setattr(
        release.Publisher,
        "_values",
        lambda self, step, sums, noise: real(self, step, [Fraction(each) for each in sums], noise),
    )


def missing_dropped_from_the_sum(monkeypatch):
    def change(real):
        def sums(readings, present, profile, known, slots, atoms, *, bound=None):
            return real(
                np.where(present, readings, 0),
                known[slots][:, np.argsort(atoms.order)],
                profile,
                known,
                slots,
                atoms,
                bound=bound,
            )

        return sums

    on_variations(monkeypatch, change)


def roster_not_fixed(monkeypatch):
    """Who is not heard of any more is taken out of the sum, profile and all."""

    def change(real):
        def sums(readings, present, profile, known, slots, atoms, *, bound=None):
            gone = ~present.any(axis=0)
            there = present | (gone & known[slots][:, np.argsort(atoms.order)])
            return real(np.where(present, readings, 0), there, profile, known, slots, atoms, bound=bound)

        return sums

    on_variations(monkeypatch, change)


def variations_not_clipped(monkeypatch):
    on_variations(monkeypatch, lambda real: lambda *given, bound=None: real(*given))


def default_without_history(monkeypatch):
    real = kernels.profiles

    def profiles(*given, **more):
        profile, known = real(*given, **more)
        return profile, np.ones_like(known)

    monkeypatch.setattr(kernels, "profiles", profiles)


def late_data_reported_again(monkeypatch):
    real = taking.Taker.take

    def take(self, panel, **more):
        for table in (database.rows, database.used):
            here = table.c.step.between(panel.steps.start, panel.steps.stop - 1)
            self._store._connection.execute(table.delete().where(here))
        self._known.published.difference_update(panel.steps)
        return real(self, panel, **more)

    monkeypatch.setattr(taking.Taker, "take", take)


def profile_published(monkeypatch):
    """The noisy profile for whoever asks, in strong mode too."""
    shown = property(lambda self: {group.name: list(group.noisy_profile) for group in self._record().groups})
    monkeypatch.setattr(Stream, "noisy_profile", shown)


def corollary_1_as_printed(monkeypatch):
    """The first cycle is reported with the pattern's noise alone; later ones have noise of their own."""
    monkeypatch.setattr(guard, "first_step", lambda record, others: 0)
    real = release.Publisher._noise

    def cycle_noise(self, cycle):
        drawn = real(self, cycle)
        return {name: (0,) * len(values) for name, values in drawn.items()} if cycle == 0 else drawn

    monkeypatch.setattr(release.Publisher, "_noise", cycle_noise)


def without_projection(monkeypatch):
    """What a basis drops goes out beside it."""
    real_sums, real_noised, dropped = started_plan.contributed, release.noised, []

    def contributed(vectors, contribute, atoms, dimension):
        matrix = contribute.__self__.matrix
        matrix = matrix / np.sqrt((matrix**2).sum(axis=1, keepdims=True))
        rest = vectors - matrix.T @ (matrix @ vectors)
        dropped.append(atoms.by_group(np.add.reduceat(rest, atoms.starts, axis=1)).T.tolist())
        return real_sums(vectors, contribute, atoms, dimension)

    def noised(mechanisms, sums, kept=None):
        noisy = real_noised(mechanisms, sums, kept)
        return [
            [a + Fraction(round(b)) for a, b in zip(one, two, strict=True)]
            for one, two in zip(noisy, dropped.pop(), strict=True)
        ]

    monkeypatch.setattr(started_plan, "contributed", contributed)
    for module in (release, starting):
        monkeypatch.setattr(module, "noised", noised)


def the_same_noise_in_every_cycle(monkeypatch):
    kept, real = {}, release.Publisher._noise

    def cycle_noise(self, cycle):
        drawn = real(self, cycle)
        return kept.setdefault((self._record.stream_id, self._store.fact("id")), drawn)

    monkeypatch.setattr(release.Publisher, "_noise", cycle_noise)


def not_clipped_by_the_caller(monkeypatch):
    """Profiles are summed as they are: what maps them into the body is not asked."""
    real = MemoryCohort.stand_in_sums

    def stand_in_sums(self, record, contribute, dimension):
        return real(self, record, lambda given: given, dimension)

    monkeypatch.setattr(MemoryCohort, "stand_in_sums", stand_in_sums)


def bound_forgotten_by_the_caller(monkeypatch):
    real = MemoryCohort.variation_sums

    def variation_sums(self, record, panel, *, bound=None):
        return real(self, record, panel)

    monkeypatch.setattr(MemoryCohort, "variation_sums", variation_sums)


def groups_added_to_each_other(monkeypatch):
    real = release.Publisher._values

    def values(self, step, sums, cycle_noise):
        return real(self, step, [a + b % 7 for a, b in zip(sums, sums[1:] + sums[:1], strict=True)], cycle_noise)

    monkeypatch.setattr(release.Publisher, "_values", values)


def rounded_to(multiple):
    return lambda monkeypatch: every_noise(
        monkeypatch, lambda name, real: lambda *given: [v // multiple * multiple for v in real(*given)]
    )


def sometimes_bare(monkeypatch):
    count = itertools.count()

    def change(name, real):
        return lambda *given: [0 * v if next(count) % (20 * SLOTS) < SLOTS else v for v in real(*given)]

    every_noise(monkeypatch, change)


def uniform_noise(monkeypatch):
    """As wide as it should be, and of another law."""

    def laplace(size, scale):
        reach = 6**0.5 * float(scale)
        return np.rint(np.random.default_rng().uniform(-reach, reach, size)).astype(int).tolist()

    monkeypatch.setattr(noise, "laplace", laplace)


def again_in_every_second_cycle(monkeypatch):
    kept, real = {}, release.Publisher._noise

    def cycle_noise(self, cycle):
        drawn = real(self, cycle)
        return kept.setdefault((self._store.fact("id"), cycle % 2), drawn)

    monkeypatch.setattr(release.Publisher, "_noise", cycle_noise)


def seeded_by_the_plan(monkeypatch):
    """The same draws whenever the same plan is started on the same data."""
    monkeypatch.setattr(starting, "with_profile", seeded(starting.with_profile))


def seeded(real):
    def with_profile(record, history):
        rng = np.random.default_rng(7)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(noise, "laplace", lambda size, scale: _drawn(rng, size, scale))
            return real(record, history)

    return with_profile


def _drawn(rng, size, scale):
    return np.rint(rng.laplace(scale=float(scale), size=size)).astype(int).tolist()


def bare_after_a_restart(monkeypatch):
    """The noise of a cycle that was going on is not found again."""
    real = release.Publisher._noise

    def cycle_noise(self, cycle):
        if self._store.cycle_noise(self._record.number, cycle) is not None:
            return {name: (0,) * len(values) for name, values in real(self, cycle).items()}
        return real(self, cycle)

    monkeypatch.setattr(release.Publisher, "_noise", cycle_noise)


def deviation_tells_profiles(monkeypatch):
    real = starting.with_forms

    def with_forms(record):
        made = real(record)
        far = [float(sum(group.noisy_profile)) % 5 for group in made.groups]
        groups = [
            started_plan.replace(
                group, forms=tuple(started_plan.replace(f, deviation=f.deviation + d) for f in group.forms)
            )
            for group, d in zip(made.groups, far, strict=True)
        ]
        return started_plan.replace(made, groups=tuple(groups))

    monkeypatch.setattr(starting, "with_forms", with_forms)


def undercharged(monkeypatch):
    real = guard.spent
    monkeypatch.setattr(guard, "spent", lambda *given: real(*given) * Fraction(9, 10))


def few_are_enough(monkeypatch):
    real = release.used_sums

    def used_sums(record, panel):
        return real(started_plan.replace(record, plan=record.plan.with_(minimum_group=1)), panel)

    monkeypatch.setattr(release, "used_sums", used_sums)


def any_history_will_do(monkeypatch):
    """A slot with a single reading has a profile."""
    real = starting.learned

    def learned(record, history, store):
        lax = started_plan.replace(record, plan=record.plan.with_(min_readings=1))
        return started_plan.replace(real(lax, history, store), plan=record.plan)

    monkeypatch.setattr(starting, "learned", learned)


def one_reading_less_will_do(monkeypatch):
    """In the plan itself, where the auditor could read it too."""
    real = Plan.k_min.fget
    monkeypatch.setattr(Plan, "k_min", property(lambda self: max(1, real(self) - 1)))


def closed_steps_open_again(monkeypatch):
    """A step that waits for the others of its cycle takes what is late."""
    real = taking.Taker._merged

    def merged(self, panel, steps, held):
        return real(self, panel, steps, {step: started_plan.replace(x, closed=False) for step, x in held.items()})

    monkeypatch.setattr(taking.Taker, "_merged", merged)


def shared_by_two_groups(monkeypatch):
    """Every second group has the noise of the one before it."""
    real = release.Publisher._noise

    def cycle_noise(self, cycle):
        drawn = real(self, cycle)
        names = sorted(drawn)
        return {name: drawn[names[place - place % 2]] for place, name in enumerate(names)}

    monkeypatch.setattr(release.Publisher, "_noise", cycle_noise)


def shared_by_plans(monkeypatch):
    """A cycle has one noise in a store, whichever plan reports it."""
    kept, real = {}, release.Publisher._noise

    def cycle_noise(self, cycle):
        return kept.setdefault((self._store.fact("id"), cycle), real(self, cycle))

    monkeypatch.setattr(release.Publisher, "_noise", cycle_noise)


def profiles_share_noise(monkeypatch):
    """Plans over the same households draw the noise of their profiles once."""
    kept, real = {}, starting.with_profile

    def with_profile(record, history):
        # Of one group alone: in a life every group has its own.
        if len(record.groups) > 1:
            return real(record, history)
        drawn = noise.laplace
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(noise, "laplace", lambda *given: kept.setdefault(record.households, drawn(*given)))
            return real(record, history)

    monkeypatch.setattr(starting, "with_profile", with_profile)


def missing_at_the_top(monkeypatch):
    """Of what is reported, a reading at the domain's upper end counts as missing."""
    real = Panel.within
    monkeypatch.setattr(starting, "in_domain", lambda plan, history: real(history, *plan.domain)[0])
    monkeypatch.setattr(Panel, "within", lambda self, low, high: real(self, low, high - 1))


def weight_forgotten(monkeypatch):
    """Noisy profiles are drawn as if every household had weight 1."""
    real = Plan.pattern_layer

    def with_profile(record, history, drawn=starting.with_profile):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Plan, "pattern_layer", lambda self, weight=1, *more: real(self, 1, *more))
            return drawn(record, history)

    monkeypatch.setattr(starting, "with_profile", with_profile)


def ball_as_wide_as_a_corner(monkeypatch):
    """Two vectors of a ball are as far apart as two of its axes."""
    monkeypatch.setattr(
        BasisMechanism, "_diameter_square", lambda self, l2_square: 2 * self._radius(self.body) ** 2
    )


def blocks_cut_one_by_one(monkeypatch):
    """A block's sum is cut to the whole radius, whatever blocks before it have used."""

    def contribute(self, vectors):
        sums = vectors.reshape(self._number, self._length, -1).sum(axis=1)
        room = int(self._ball**0.5)
        return np.clip(sums, -room, room)

    monkeypatch.setattr(Blocks, "contribute", contribute)


def switched_off(module, name):
    return lambda monkeypatch: monkeypatch.setattr(module, name, lambda *given: None)


def calendar_ignored(monkeypatch):
    def reportable(self, steps):
        return [step for step in steps if step >= self.record.first_step]

    monkeypatch.setattr(closing.Known, "reportable", reportable)


MUTANTS = {
    # What is broken: how, in which plan, and what the audit must say.
    "noise shared between slots": (shared_between_slots, PATTERN, "Measured"),
    "noise shared between groups": (shared_between_groups, PATTERN, "Measured"),
    "no noise in one slot": (none_in_one_slot, PATTERN, "Measured"),
    "noise redrawn each cycle": (redrawn_each_cycle, PATTERN, "the noise of a slot never changes"),
    "half the scale": (half_the_scale, PATTERN, "as wide as its law"),
    "half the scale, strong": (half_the_scale, STRONG, "as wide as its law"),
    "half the scale, basis": (half_the_scale, BASIS, "as wide as its law"),
    "a twentieth too narrow, basis": (times_as_wide(Fraction(95, 100)), BASIS, "follows its law"),
    "a twentieth too wide, basis": (times_as_wide(Fraction(105, 100)), BASIS, "follows its law"),
    "a twentieth too narrow, few slots": (times_as_wide(Fraction(95, 100)), PATTERN, "follows its law"),
    "blocks drawn at another rate": (blocks_at_another_rate, BLOCKS, "follows its law"),
    "noise again in every second cycle, blocks": (again_in_every_second_cycle, BLOCKS, "comes twice"),
    "a slot known by another": (known_by_another_slot, PATTERN, "without noise"),
    "a slot known by another, strong": (known_by_another_slot, STRONG, "without noise"),
    "one reading less will do": (one_reading_less_will_do, PATTERN, "without noise"),
    "closed steps open again": (closed_steps_open_again, CYCLES, "without noise"),
    "noise shared by two groups, blocks": (shared_by_two_groups, BLOCKS, "comes twice"),
    "noise shared by plans": (shared_by_plans, STRONG, "noise of their own"),
    "profiles share noise": (profiles_share_noise, PATTERN, "noise of their own"),
    "missing at the top": (missing_at_the_top, PATTERN, "variations tell nothing"),
    "weight forgotten": (weight_forgotten, HEAVY, "follows its law"),
    "a ball as wide as a corner": (ball_as_wide_as_a_corner, BASIS, "In closed form"),
    "blocks cut one by one": (blocks_cut_one_by_one, BLOCKS, "In closed form"),
    "profile not clipped": (profile_not_clipped, PATTERN, "In closed form"),
    "means rounded half to even": (other_mean(np.rint), PATTERN, "variations tell nothing"),
    "means truncated": (other_mean(np.trunc), NET, "variations tell nothing"),
    "float sums": (float_sums, PATTERN, "variations tell nothing"),
    "profile redrawn on restart": (redrawn_on_restart, PATTERN, "the noise of a slot never changes"),
    "late data reported again": (late_data_reported_again, PATTERN, "released once"),
    "missing readings dropped from the sum": (missing_dropped_from_the_sum, PATTERN, "variations tell nothing"),
    "a default for slots without history": (default_without_history, PATTERN, "variations tell nothing"),
    "roster not fixed": (roster_not_fixed, PATTERN, "variations tell nothing"),
    "atom guard off": (switched_off(guard, "_check_atoms"), PATTERN, "two rosters"),
    "noisy profile published in strong mode": (profile_published, STRONG, "stays private"),
    "basis without projection": (without_projection, BASIS, "Measured"),
    "Corollary 1 as printed": (corollary_1_as_printed, ONE, "the history is not reported"),
    "variations not clipped": (variations_not_clipped, STRONG, "In closed form"),
    "the same noise in every cycle": (the_same_noise_in_every_cycle, STRONG, "Measured"),
    "budget not checked": (switched_off(guard, "check_budget"), STRONG, "the budget does not cover"),
    "pattern beside strong": (switched_off(guard, "check_overlap"), STRONG, "a pattern plan and a strong one"),
    "profile not clipped by the caller": (not_clipped_by_the_caller, PATTERN, "without noise"),
    "bound forgotten by the caller": (bound_forgotten_by_the_caller, STRONG, "without noise"),
    "groups added to each other": (groups_added_to_each_other, STRONG, "without noise"),
    "noise in steps of 16": (rounded_to(16), PATTERN, "follows its law"),
    "noise always even": (rounded_to(2), STRONG, "follows its law"),
    "noise sometimes bare": (sometimes_bare, PATTERN, "comes twice"),
    "noise of another law": (uniform_noise, PATTERN, "follows its law"),
    "noise again in every second cycle": (again_in_every_second_cycle, STRONG, "comes twice"),
    "noise seeded by the plan": (seeded_by_the_plan, PATTERN, "comes twice"),
    "bare after a restart": (bare_after_a_restart, STRONG, "follows its law"),
    "deviations tell profiles": (deviation_tells_profiles, STRONG, "but its value"),
    "budget undercharged": (undercharged, STRONG, "spent once"),
    "few are enough": (few_are_enough, PATTERN, "too few households"),
    "any history will do": (any_history_will_do, STRONG, "without noise"),
    "learning from reports": (switched_off(guard, "check_history"), STRONG, "another strong plan reports"),
    "other profiles": (switched_off(guard, "check_profiles"), PATTERN, "other profiles"),
    "another population": (switched_off(guard, "check_population"), STRONG, "another domain"),
    "the erased come back": (switched_off(guard, "check_people"), STRONG, "erased"),
    "calendar ignored": (calendar_ignored, STRONG, "whose total is public"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_audit_catches_a_broken_curator(name, monkeypatch):
    """A curator that is broken in this one way does not pass, and the audit says in which."""
    mutate, subject, why = MUTANTS[name]
    mutate(monkeypatch)
    result = audit(subject, effort=EFFORT if why in BY_CHANCE else LITTLE)
    assert not result.passed
    assert any(why in said for said in result.breaches), result.breaches


SUBJECTS = {
    "pattern": PATTERN,
    "strong": STRONG,
    "basis": BASIS,
    "blocks": BLOCKS,
    "cycles": CYCLES,
    "heavy": HEAVY,
    "net": NET,
    "one": ONE,
}


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize(
    "effort", [LITTLE, pytest.param(EFFORT, marks=pytest.mark.nightly)], ids=["little", "as much as by chance"]
)
def test_the_real_curator_passes(name, effort):
    """The curator that the mutants are made of passes, with each of their plans and either effort."""
    result = audit(SUBJECTS[name], effort=effort)
    assert result.passed, result.breaches
