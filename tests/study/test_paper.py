import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import support
from diurnal import Body, Sum
from diurnal.promise import noise
from diurnal.study import paper


@st.composite
def streams(draw):
    slots, cycles, n = draw(st.integers(1, 5)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    whole = st.integers(-1000, 1000)
    readings = draw(hnp.arrays(np.int64, (slots * cycles, n), elements=whole))
    profile = draw(hnp.arrays(np.int64, (slots, n), elements=whole))
    vector = draw(hnp.arrays(np.int64, (slots,), elements=whole))
    return readings, profile, vector


@given(streams())
def test_theorem_1_is_one_noise_vector_repeated(stream):
    """The paper's recursion equals F(x(t)) + v(s) exactly, whatever profile the variations are taken from."""
    readings, profile, vector = stream
    repeated = np.tile(vector, len(readings) // len(vector))
    assert np.array_equal(paper.theorem_1(readings, profile, vector), readings.sum(axis=1) + repeated)


def test_the_curator_with_one_cycle_and_no_clipping_is_theorem_1(monkeypatch):
    """K0 = 1, Laplace, a body as wide as the domain: the curator's rows are the paper's, first cycle included."""
    panel = support.town(cycles=6)
    vector = [17, -4, 0, 23]
    monkeypatch.setattr(noise, "laplace", lambda size, scale: list(vector))
    plan = support.plan_for(panel, query=Sum(), history=1)
    rows = support.start(panel, plan).report(panel)
    printed = paper.theorem_1(panel.readings, panel.readings[:4], np.array(vector))
    assert support.numerators(rows) == printed.tolist()
    assert plan.pattern_layer().scale == 4 * 100


def test_the_strong_curator_is_the_two_layer_repair(monkeypatch):
    """Strong mode without clipping is F(x) + v_z(s) + v_w(t) after the history."""
    panel = support.town(cycles=4)
    drawn = iter([[1, 2, 3, 4], [10, 20, 30, 40], [50, 60, 70, 80], [90, 0, -10, -20]])
    monkeypatch.setattr(noise, "laplace", lambda size, scale: next(drawn))
    plan = support.plan_for(panel, query=Sum(), history=1, level="strong", cycle_mechanism="laplace")
    rows = support.start(panel, plan).report(panel)
    layers = np.array([[10, 20, 30, 40], [50, 60, 70, 80], [90, 0, -10, -20]])
    expected = paper.two_layers(panel.readings[4:], np.array([1, 2, 3, 4]), layers)
    assert support.numerators(rows) == expected.tolist()


@given(streams())
def test_corollary_1_as_printed_repeats_the_first_cycle(stream):
    """A change of the first cycle's variations alone shows in every later report, with the opposite sign."""
    readings, profile, vector = stream
    slots = len(vector)
    changed = readings.copy()
    changed[:slots, 0] += 5
    later = np.zeros((len(readings) // slots - 1, slots), dtype=np.int64)
    ours = paper.corollary_1_as_printed(readings, profile, vector, later)
    theirs = paper.corollary_1_as_printed(changed, profile, vector - 5, later)
    # The attacker sees the same first cycle (its noise absorbed the change), and every later one moved.
    assert np.array_equal(ours[:slots], theirs[:slots])
    assert (theirs[slots:] - ours[slots:] == -5).all()


@pytest.mark.parametrize(("cycles", "mean"), [(3, 0.023), (30, 0.30), (365, 3.8)])
def test_the_mean_loss_of_corollary_1_grows_with_the_horizon(cycles, mean):
    """The figures of theory 3: 0.023 at K = 3, 0.30 at 30, 3.8 at 365, with epsilon 1 and T = 48."""
    value = paper.corollary_1_mean_loss(slots=48, cycles=cycles, epsilon=1, df_z=1, df_w=1)
    assert value == pytest.approx(mean, rel=0.04)


def test_the_attack_gains_on_corollary_1_and_not_on_the_repair():
    """An attacker who wonders which of two first cycles it was learns it from a year of the printed code's
    reports; from the repair's, even told v_z, at most epsilon. T = 48, all slots moved.
    """
    rng = np.random.default_rng(11)
    slots, cycles, epsilon, step = 48, 365, 1.0, 1000
    readings = np.zeros((slots * cycles, 1), dtype=np.int64)
    profile = np.zeros((slots, 1), dtype=np.int64)
    scale = slots * step / epsilon

    def log_ratio(noise, scale):
        """Log p(noise) - log p(noise had the first cycle been `step` higher)."""
        return (np.abs(noise + step) - np.abs(noise)).sum() / scale

    def laplace(scale, shape):
        return np.rint(rng.laplace(scale=scale, size=shape)).astype(np.int64)

    printed, repair = [], []
    for _ in range(60):
        first, later = laplace(2 * scale, slots), laplace(scale, (cycles - 1, slots))
        y = paper.corollary_1_as_printed(readings, profile, first, later).reshape(cycles, slots)
        # Had w_1 been higher: the first noise lower by it, and y_k - y_1 + w_1 - w_k, every later noise, higher.
        gained = log_ratio(-y[0], 2 * scale) + log_ratio(y[1:] - y[0], scale)
        printed.append(gained)
        pattern, fresh = laplace(scale, slots), laplace(scale, (cycles, slots))
        y = paper.two_layers(readings, pattern, fresh).reshape(cycles, slots) - pattern
        repair.append(log_ratio(-y[0], scale))
    assert np.mean(np.array(printed) > epsilon) > 0.5
    assert np.mean(printed) == pytest.approx(3.8, rel=0.3)
    assert np.abs(repair).max() <= epsilon + 1e-9
    assert np.abs(repair).max() > 0.05


def test_the_repair_has_two_and_a_half_times_less_variance():
    """With Df_z = Df_w the shipped layers' variance is 2.5 times below that of the printed mechanism's scales."""
    panel = support.town()
    plan = support.plan_for(panel, query=Sum(), level="strong", cycle_mechanism="laplace")
    slot = np.eye(4)[0]
    repaired = plan.pattern_layer().variance(slot) + plan.cycle_layer().variance(slot)
    doubled = plan.with_(body=Body(high=200)).pattern_layer().variance(slot)
    printed = doubled + plan.cycle_layer().variance(slot)
    assert printed / repaired == pytest.approx(2.5, rel=1e-3)


def test_relative_error_and_skill_are_the_paper_s():
    """Root mean square error over the largest value, and 1 - MSE/Var; a constant at the mean has skill 0."""
    truth = np.array([1.0, 2.0, 3.0, 2.0])
    assert paper.relative_error(truth + 1, truth) == pytest.approx(1 / 3)
    assert paper.skill(np.full(4, 2.0), truth) == pytest.approx(0)
    assert paper.skill(truth, truth) == 1
