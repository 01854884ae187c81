"""Smoothing: exact where it can be exact, honest about the rest, and never with a row that was not out yet."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diurnal as dn
from diurnal.curator.release import Form
from diurnal.errors import InputError, PlanError
from diurnal.planning import smoothing_model as model
from diurnal.planning.public_tables import typical
from diurnal.planning.reference import Reference
from diurnal.planning.smoothing import smooth
from diurnal.study.town import Town
from support import ROOMY, refuses

SMALL = dn.Grid(slots=4, minutes=360)
EVEN = Reference(profile=[300, 200, 500, 400], mismatch="60")


def small_plan(**more):
    """Four slots a cycle; cube for both layers unless said otherwise."""
    fields = {
        "grid": SMALL,
        "domain": (0, 1000),
        "history": 10,
        "epsilon": "1",
        "mechanism": "cube",
        "cycle_mechanism": "cube",
        "variation_bound": 300,
        "reference": EVEN,
    }
    return dn.Plan(**{**fields, **more})


def layers(plan, n):
    """The covariances of both layers in the mean of n homes, written apart: the noise of slots is uncorrelated."""
    slots = np.eye(plan.grid.slots)
    both = plan.pattern_layer(), plan.cycle_layer()
    return [np.diag([layer.variance(row) for row in slots]) / n**2 for layer in both]


def rows_of(plan, values, *, n, steps=None, group="all", noise=None):
    """Released rows with these values: the mean of n homes."""
    slots, steps = plan.grid.slots, range(len(values)) if steps is None else steps
    variances = sum(np.diag(each) for each in (layers(plan, n) if noise is None else noise))
    forms = [Form.of(n * math.sqrt(variances[slot]), n) for slot in range(slots)]
    return [
        forms[step % slots].write(
            Fraction(float(value)) * n, step=step, time="", group=group, unit="Wh", plan=plan.hash
        )
        for step, value in zip(steps, values, strict=True)
    ]


def values_of(found):
    return np.array([each.value for each in found])


def stds_of(found):
    return np.array([each.std for each in found])


class Joint:
    """The covariance of truth and reports over some cycles of four slots, written out from the model's words."""

    def __init__(self, plan, n, cycles):
        slots, level = plan.grid.slots, 350.0
        turn = np.arange(slots) * np.pi / 2
        waves = np.array([np.ones(4), math.sqrt(2) * np.cos(turn), math.sqrt(2) * np.sin(turn), np.cos(2 * turn)])
        rounds = [0, 1, 1, 2]
        shares = np.array([1, 1 / 4, 1 / 4, 1 / 9])
        off = 60**2 * sum(share * np.outer(w, w) for share, w in zip(shares, waves, strict=True)) / shares.sum()
        pattern, noise = layers(plan, n)
        own = sum(np.outer(w, w) / (1 + h) for w, h in zip(waves, rounds, strict=True))
        own *= level**2 * model.OWN * (1 / n + 1 / model.ALIKE)
        size = cycles * slots
        self.truth, self.both, self.seen = (np.zeros((size, size)) for _ in range(3))
        for k in range(cycles):
            for j in range(cycles):
                common = sum(
                    (min(k, j) * model.SLOW[h] ** 2 + model.MEMORY ** abs(k - j) * model.FAST[h] ** 2)
                    * np.outer(w, w)
                    for w, h in zip(waves, rounds, strict=True)
                )
                moving = level**2 * common + (own if j == k else 0)
                at = slice(k * slots, (k + 1) * slots), slice(j * slots, (j + 1) * slots)
                self.truth[at] = self.both[at] = off + moving
                self.seen[at] = off + pattern + moving + (noise if j == k else 0)
        self.centre = np.tile(plan.reference.profile, cycles).astype(float)

    def conditional(self, wanted, known, values):
        """The mean and standard deviation of the truth at a step, given reports at others."""
        weights = np.linalg.solve(self.seen[np.ix_(known, known)], self.both[known, wanted])
        mean = self.centre[wanted] + weights @ (values - self.centre[known])
        return mean, math.sqrt(self.truth[wanted, wanted] - weights @ self.both[known, wanted])

    def draw(self, rng, times):
        """Truth and reports."""
        joint = np.block([[self.truth, self.both], [self.both.T, self.seen]])
        drawn = rng.multivariate_normal(np.zeros(len(joint)), joint, size=times, method="eigh")
        return np.split(drawn + np.tile(self.centre, 2), 2, axis=1)


KEPT = [0, 1, 2, 3, 4, 6, 7, 12, 13, 14, 15, 17]
"""Steps of five cycles of four: one step is missing, a whole cycle, and the ends of the last."""


@pytest.mark.parametrize("later", [False, True])
def test_it_is_the_conditional_mean_of_the_model(later):
    """Values and standard deviations are those of a brute-force Gaussian conditional mean, across gaps too."""
    plan = small_plan()
    joint = Joint(plan, 100, 5)
    values = joint.draw(np.random.default_rng(1), 1)[1][0][KEPT]
    found = smooth(rows_of(plan, values, n=100, steps=KEPT), plan, later=later)
    for place, each in enumerate(found):
        end = len(KEPT) if later else place + 1
        mean, std = joint.conditional(KEPT[place], KEPT[:end], values[:end])
        assert each.value == pytest.approx(mean, rel=1e-6)
        assert each.std == pytest.approx(std, rel=1e-4)


@pytest.mark.parametrize("later", [False, True])
def test_the_standard_deviation_is_that_of_the_error(later):
    """In 400 draws of the model the mean squared error is the variance that is said, within 4 standard errors."""
    plan = small_plan(epsilon="0.5")
    truths, reports = Joint(plan, 60, 4).draw(np.random.default_rng(2), 400)
    ratios = []
    for truth, values in zip(truths, reports, strict=True):
        found = smooth(rows_of(plan, values, n=60), plan, later=later)
        ratios.append(np.mean((values_of(found) - truth) ** 2 / stds_of(found) ** 2))
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios) / math.sqrt(len(ratios))
    assert np.std(ratios) / math.sqrt(len(ratios)) < 0.05


@settings(max_examples=25)
@given(changed=st.integers(0, 23), by=st.floats(-1e4, 1e4), reference=st.booleans())
def test_no_later_row_changes_an_earlier_estimate(changed, by, reference):
    """Whatever a row is, estimates of the steps before it are the same to the last bit."""
    plan = small_plan(reference=EVEN if reference else None)
    values = np.random.default_rng(3).normal(350, 100, 24)
    moved = values.copy()
    moved[changed] += by
    one, other = (values_of(smooth(rows_of(plan, each, n=100), plan)) for each in (values, moved))
    # Without a reference the first cycle stands for it.
    assert (one[:changed] == other[:changed]).all()


def test_rows_taken_away_from_the_end_change_nothing():
    """What is published with a step is what a whole year says of it later."""
    plan = small_plan()
    rows = rows_of(plan, np.random.default_rng(4).normal(350, 100, 40), n=100)
    whole = values_of(smooth(rows, plan))
    for end in (1, 2, 5, 17):
        # A shorter day is another product of matrices, so the last bits may differ.
        assert values_of(smooth(rows[:end], plan)) == pytest.approx(whole[:end], rel=1e-9)


@pytest.mark.parametrize(("mechanism", "size", "together"), [("blocks", 2, 2), ("basis", 3, 4)])
def test_rows_that_come_out_together_know_of_each_other(mechanism, size, together):
    """A report of a block, or of a cycle, uses the rows that came out with it, and none that came later."""
    plan = small_plan(cycle_mechanism=mechanism, cycle_basis=dn.Basis(size=size))
    values = np.random.default_rng(5).normal(350, 100, 16)
    moved = values.copy()
    moved[11] += 500
    noise = layers(plan, 100)
    one, other = (values_of(smooth(rows_of(plan, each, n=100, noise=noise), plan)) for each in (values, moved))
    first = 12 - together
    assert one[:first] == pytest.approx(other[:first], rel=1e-12)
    assert (np.abs(one[first:12] - other[first:12]) > 1e-3).all()


def test_nothing_changes_without_noise():
    """Rows without noise come back as they are; with hardly any, nearly so, and as sure."""
    plan = small_plan()
    values = np.random.default_rng(6).normal(350, 100, 24)
    none = [np.zeros((4, 4))] * 2
    found = smooth(rows_of(plan, values, n=100, noise=none), plan)
    assert values_of(found) == pytest.approx(values, rel=1e-12)
    assert (stds_of(found) == 0).all()
    for later in (False, True):
        little = [1e-8 * each for each in layers(plan, 100)]
        found = smooth(rows_of(plan, values, n=100, noise=little), plan, later=later)
        assert values_of(found) == pytest.approx(values, rel=1e-4)
        assert (stds_of(found) <= 1.001 * np.sqrt(sum(np.diag(each) for each in little))[0]).all()


def test_groups_are_apart_and_rows_keep_their_order():
    """The estimates of two groups together, in any order and with different gaps, are those of each alone."""
    plan = small_plan()
    rng = np.random.default_rng(7)
    one = rows_of(plan, rng.normal(350, 100, 24), n=100, group="one")
    two = [row for row in rows_of(plan, rng.normal(350, 200, 24), n=30, group="two") if row.step % 5]
    mixed = [*one, *two]
    order = rng.permutation(len(mixed))
    found = smooth([mixed[place] for place in order], plan)
    assert [each.row for each in found] == [mixed[place] for place in order]
    alone = [*smooth(one, plan), *smooth(two, plan)]
    assert found == [alone[place] for place in order]


def test_a_sum_is_the_mean_times_the_number_of_homes():
    """A Sum needs the number of households, by group or for all; its estimates are then those of the mean."""
    mean, total = small_plan(), small_plan(query=dn.Sum())
    rows = rows_of(mean, np.random.default_rng(8).normal(350, 100, 12), n=50)
    sums = [
        Form.of(row.deviation, 1).write(
            row.numerator, step=row.step, time="", group="all", unit="Wh", plan=total.hash
        )
        for row in rows
    ]
    expected = 50 * values_of(smooth(rows, mean))
    for households in (50, {"all": 50}):
        assert values_of(smooth(sums, total, households=households)) == pytest.approx(expected)
    with refuses(PlanError, "group-size-unknown"):
        smooth(sums, total)


def test_equal_weights_are_a_mean():
    """A Weighted query of fifty equal weights over fifty is smoothed as the mean of fifty is."""
    mean, weighted = small_plan(), small_plan(query=dn.Weighted(values=[1] * 50, over=50))
    values = np.random.default_rng(11).normal(350, 100, 12)
    one, other = (smooth(rows_of(plan, values, n=50), plan) for plan in (mean, weighted))
    assert values_of(one) == pytest.approx(values_of(other))
    assert stds_of(one) == pytest.approx(stds_of(other))


def test_a_profile_is_drawn_to_the_reference_once():
    """Where the plan has drawn the profile to the reference before it went out, smoothing does not do so again."""
    ball = dn.Ellipsoid(radius=400, reference=EVEN.profile)
    fields = {
        "mechanism": "basis",
        "basis": dn.Basis(size=3),
        "body": ball,
        "epsilon": "0.05",
        "cycle_epsilon": "50",
    }
    far = np.tile(np.array(EVEN.profile) + 100.0, 30)
    noise = [np.eye(4) * 1e4, np.eye(4)]
    drawn, kept = (
        values_of(smooth(rows_of(plan, far, n=100, noise=noise), plan))[-4:] - EVEN.profile
        for plan in (small_plan(**fields), small_plan(**fields, shrink=True))
    )
    assert (drawn < 80).all()
    assert kept == pytest.approx(100, rel=0.05)


def test_pattern_plans_and_shares_come_back_as_they_are():
    """Variations of a pattern plan are exact, and the weather of shares, of generation, of differences and of other
    periods is not known: nothing is smoothed.
    """
    share = {"level": "cycle", "query": dn.Share(above=300), "cycle_mechanism": "auto", "variation_bound": None}
    pattern = {"level": "pattern", "cycle_mechanism": "auto", "variation_bound": None}
    strong = [{"channel": "generation"}, {"query": dn.Weighted(values=[1, -1])}, {"grid": dn.Grid(slots=4)}]
    for more in (pattern, {**share, "history": 0, "reference": None}, *strong):
        plan = small_plan(**more)
        values = np.random.default_rng(9).normal(350, 100, 8)
        rows = rows_of(plan, values, n=100, noise=[np.eye(4), np.eye(4)])
        found = smooth(rows, plan)
        assert values_of(found) == pytest.approx(values, rel=1e-12)
        assert stds_of(found) == pytest.approx(math.sqrt(2))


def test_rows_of_another_plan_or_twice_are_refused():
    """Rows must be of the plan that is given, each once, and the reference of its grid."""
    plan = small_plan()
    rows = rows_of(plan, [1.0, 2.0], n=100)
    with refuses(InputError, "rows-other-plan"):
        smooth(rows, small_plan(epsilon="2"))
    with refuses(InputError, "rows-repeated"):
        smooth([*rows, rows[0]], plan)
    with pytest.raises(PlanError, match="got 3"):
        smooth(rows, plan, reference=Reference(profile=[1, 2, 3]))
    assert smooth([], plan) == []


def test_a_row_is_plain_data():
    """The estimate stands beside the value that was released."""
    plan = small_plan()
    each = smooth(rows_of(plan, [400.0], n=100), plan)[0].to_json()
    assert each["released"] == 400
    assert each["plan"] == plan.hash
    assert 300 < each["value"] < 400


@pytest.mark.parametrize("later", [False, True])
def test_a_year_of_half_hours_takes_seconds(later):
    """17,520 rows are smoothed in well under ten seconds."""
    plan = small_plan(grid=dn.Grid(), reference=Reference(profile=[350] * 48))
    rows = rows_of(plan, np.random.default_rng(10).normal(350, 50, 17_520), n=226)
    began = time.perf_counter()
    assert len(smooth(rows, plan, later=later)) == 17_520
    assert time.perf_counter() - began < 10


# Through the shipped curator. The town is synthetic; its reference is another town's mean day at a rounded level.


@pytest.fixture(scope="module")
def homes():
    return Town(homes=120, days=120, seed=5, gap_rate=0).panel()


@pytest.fixture(scope="module")
def elsewhere():
    other = dn.public_reference(Town(homes=120, days=60, seed=6, zone="Europe/London", gap_rate=0).panel())
    return Reference(profile=other.profile)


def released(panel, reference, *, epsilon, history=60, cut=750, domain=(0, 7200), **more):
    """The plan and rows of a stream after its history, and the truth."""
    fields = {"mechanism": "basis", "basis": dn.Basis(size=7), "cycle_mechanism": "cube", "variation_bound": cut}
    level = sum(reference.profile) / len(reference.profile)
    body = dn.Ellipsoid(
        radius=round(0.9 * level * math.sqrt(panel.grid.slots)), reference=reference.profile, weighting="harmonic"
    )
    plan = dn.Plan(
        grid=panel.grid,
        domain=domain,
        history=history,
        epsilon=epsilon,
        reference=reference,
        **{"body": body, **fields, **more},
    )
    stream = dn.Curator.in_memory(ROOMY).start(
        plan, history=panel.first(history), acknowledge="untested", accept_worse=True
    )
    rows = stream.report(panel.after(history))
    truth = panel.readings.mean(axis=1)[[row.step - panel.steps.start for row in rows]]
    return stream.plan, rows, truth


def error(values, truth):
    return math.sqrt(np.mean((np.array([float(v) for v in values]) - truth) ** 2))


def test_a_town_gains_slot_by_slot(homes, elsewhere):
    """120 homes at epsilon 1: the error falls to less than half, with later rows as well, and is what is said
    within a half.
    """
    plan, rows, truth = released(homes, elsewhere, epsilon="1")
    found, all_of = smooth(rows, plan), smooth(rows, plan, later=True)
    raw, causal, later = (
        error([row.exact for row in rows], truth),
        error(values_of(found), truth),
        error(values_of(all_of), truth),
    )
    # 25 draws: 0.286 of the raw error, standard deviation 0.024; later over causal 0.985, 0.024; said 0.90, 0.09.
    assert causal < 0.5 * raw
    assert later < 1.15 * causal
    assert math.sqrt(np.mean(stds_of(found) ** 2)) == pytest.approx(causal, rel=1 / 2)


@pytest.mark.parametrize("known", [True, False])
def test_little_noise_is_left_alone(homes, elsewhere, known):
    """At epsilon 200, n*epsilon = 24,000, smoothing makes it no worse by more than 1 %, without a reference too."""
    plan, rows, truth = released(homes, elsewhere, epsilon="200", cut=4000)
    if not known:
        plan = plan.with_(reference=None)
        rows = [
            Form.of(r.deviation, r.denominator).write(
                r.numerator, step=r.step, time=r.time, group=r.group, unit=r.unit, plan=plan.hash
            )
            for r in rows
        ]
    assert error(values_of(smooth(rows, plan)), truth) < 1.01 * error([row.exact for row in rows], truth)


def test_blocks_gain_too(homes, elsewhere):
    """Reports of six hours at epsilon 0.3: smoothed, the error is smaller."""
    more = {"cycle_mechanism": "blocks", "cycle_basis": dn.Basis(size=4)}
    plan, rows, truth = released(homes, elsewhere, epsilon="0.3", variation_bound=dn.Ellipsoid(radius=4000), **more)
    assert error(values_of(smooth(rows, plan)), truth) < 0.9 * error([row.exact for row in rows], truth)


def test_weeks_are_smoothed_by_days(elsewhere):
    """With a period of a week, T = 336, slot by slot: the error falls to less than half."""
    panel = Town(homes=120, days=112, seed=5, gap_rate=0).panel()
    panel = dn.Panel.from_array(
        panel.readings, present=panel.present, grid=dn.Grid(slots=336, anchor="2022-07-04T00:00")
    )
    reference = Reference(profile=list(elsewhere.profile) * 7)
    plan, rows, truth = released(
        panel, reference, epsilon="1", history=8, mechanism="cube", body=dn.Body(high=1500)
    )
    assert error(values_of(smooth(rows, plan)), truth) < 0.5 * error([row.exact for row in rows], truth)


def test_ausgrid_slot_by_slot(ausgrid):
    """226 homes, a year, cube slot by slot, eps_z = eps_w = 1, 18 kWh a day by published statistics, all constants
    from elsewhere: 0.065 of the peak at the W that suits smoothed reports, 0.086 at the one that suits raw ones.
    """
    level, peak = 375, ausgrid.readings[366 * 48 :].mean(axis=1).max()
    reference = typical(ausgrid.grid, level)
    body = dn.Ellipsoid(
        radius=round(0.9 * level * math.sqrt(48)), reference=reference.profile, weighting="harmonic", scale="1.3"
    )
    more = {"history": 366, "body": body, "fill": "0.5", "domain": (0, 8000)}
    narrow, wide, said = [], [], []
    for _ in range(4):
        _, rows, truth = released(ausgrid, reference, epsilon="1", cut=round(0.8 * level), **more)
        narrow.append(error([row.exact for row in rows], truth) / peak)
        plan, rows, truth = released(ausgrid, reference, epsilon="1", cut=round(1.2 * level), **more)
        estimates = smooth(rows, plan)
        wide.append(error(values_of(estimates), truth) / peak)
        said.append(math.sqrt(np.mean(stds_of(estimates) ** 2)) / peak)
    # Eight draws gave 0.0866 +- 0.0011 and 0.0645 +- 0.0011; the standard deviation of a draw is 0.0016.
    assert np.mean(narrow) == pytest.approx(0.086, abs=0.004)
    assert np.mean(wide) == pytest.approx(0.0645, abs=0.004)
    # Clipping is not in it, nor what the profile's ball cuts off.
    assert 0.6 * np.mean(wide) < np.mean(said) < np.mean(wide)
