"""What noise and bias do to a report and to totals: by formulas, by draws, and from open data."""

import math

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator.release import Layers
from diurnal.planning.accuracy import known_total
from diurnal.study.audit import exact


def test_theorem_1_is_predicted_by_its_formula():
    """A mean over 226 homes with a range of 3 kWh: sqrt(2) T R/(n epsilon) = 901 Wh."""
    row = dn.predict(support.daily_plan(), support.SHAPE).row("laplace")
    assert row.std == pytest.approx(math.sqrt(2) * 48 * 3000 / 226, rel=1e-4)
    assert row.relative_to_laplace == pytest.approx(1)


def test_cube_is_predicted_below_laplace():
    """2.38 times below at T = 48."""
    prediction = dn.predict(support.daily_plan(), support.SHAPE)
    assert 1 / prediction.row("cube").relative_to_laplace == pytest.approx(2.38, abs=0.01)


def test_split_budgets_are_predicted_by_their_formulas():
    """Over a year: Laplace sqrt(2) tau R/(n epsilon); Gaussian sqrt(tau) times what one report needs."""
    laplace, gaussian = dn.predict(support.daily_plan(), support.SHAPE).split
    assert laplace.std == pytest.approx(math.sqrt(2) * 17520 * 8000 / 226)
    assert gaussian.std == pytest.approx(4.53 * math.sqrt(17520) * 8000 / 226, rel=0.01)


def test_pattern_noise_adds_up_over_days_and_strong_noise_averages_out():
    """A year's total carries pattern noise 365 times a day's, fresh cycle noise sqrt(365) times."""
    row = dn.predict(support.daily_plan(), support.SHAPE).row("cube")
    assert row.errors.year / row.errors.day == pytest.approx(365)
    assert row.errors.day == pytest.approx(row.std * math.sqrt(48))
    counting = dn.Plan(query=dn.Share(above=500), level="cycle", epsilon="1", domain=(0, 8000))
    fresh = dn.predict(counting, support.SHAPE).row("cube")
    assert fresh.errors.year / fresh.errors.day == pytest.approx(math.sqrt(365))


@pytest.mark.parametrize("level", ["pattern", "strong"])
@pytest.mark.parametrize("mechanism", ["laplace", "cube"])
def test_predicted_errors_of_totals_are_the_measured_ones(level, mechanism):
    """Totals over four days of a silent town have the predicted error, repeating noise and fresh noise alike."""
    silent = dn.Panel.from_array(np.full((4 * 5, 20), 57), grid=dn.Grid(slots=4, minutes=360))
    panel = support.of_groups(silent, 500)
    one = support.plan_for(
        panel,
        query=dn.Sum(),
        level=level,
        mechanism=mechanism,
        cycle_mechanism=mechanism,
        history=1,
        groups="group",
    )
    rows = support.start(panel, one).report(panel.after(1))
    errors = np.array(support.numerators(rows), dtype=float).reshape(16, 500).sum(axis=0) - 16 * 57 * 20
    layer, cycle, ones = one.pattern_layer(), one.cycle_layer(), np.ones(4)
    predicted = 16 * layer.variance(ones) + (4 * cycle.variance(ones) if cycle else 0)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(math.sqrt(predicted), rel=0.2)


def test_an_unknown_bias_is_said():
    """A basis named by the user without a reference has bias None, and the explanation says it comes on top."""
    one = support.daily_plan(mechanism="basis")
    assert dn.predict(one, support.SHAPE).row("basis").bias is None
    assert any("is not known" in said for said in dn.explain(one, support.SHAPE))


@pytest.mark.parametrize("level", ["pattern", "strong"])
@pytest.mark.parametrize("sizes", [(30,), (20, 280), (40, 260)])
def test_predicted_noise_is_that_of_rows_where_small_groups_are_drawn_towards_the_reference(level, sizes):
    """A layer that shrinks noisy coefficients does so by the group's size: rows have the predicted noise."""
    asked = dn.Plan(epsilon="1", domain=(0, 20_000), history=91, level=level, groups="suburb")
    chosen = dn.choose(
        dn.with_public_bounds(asked, dn.Shape(group_sizes=sizes), mean_reading=400), dn.Shape(group_sizes=sizes)
    )
    assert chosen.shrink
    n = min(sizes)
    layers = Layers(chosen, 1, n, n)
    rows = math.sqrt(np.mean([form.deviation**2 for form in layers.forms])) / n
    row = dn.predict(chosen, dn.Shape(group_sizes=sizes)).row(chosen.mechanisms_text)
    assert row.std == pytest.approx(rows)
    assert known_total(chosen, n).unknown == pytest.approx(rows)


def test_a_split_histogram_pays_for_two_bins():
    """A household that changes leaves one bin and enters another: twice the noise of a share, or sqrt(2) times."""
    counting = {"level": "cycle", "epsilon": "1", "domain": (0, 8000), "mechanism": "laplace"}
    share, bins = (
        dn.predict(dn.Plan(query=query, **counting), support.SHAPE).split
        for query in (dn.Share(above=500), dn.Histogram((100, 500, 1000)))
    )
    homes = support.SHAPE.group_sizes[0]
    assert bins[0].std == pytest.approx(2 * homes * share[0].std)
    assert bins[1].std == pytest.approx(math.sqrt(2) * homes * share[1].std)


def test_what_is_dropped_has_one_sign_in_totals():
    """A basis that drops as much above as below is predicted for totals as if it all went one way."""
    one = support.daily_plan(mechanism="basis", reference=support.REFERENCE, basis=dn.Basis(kind="fourier", size=3))
    row = dn.predict(one, support.SHAPE).row("basis")
    layer = one.pattern_layer(1, 226)
    noise = math.sqrt(layer.variance(np.ones(48))) / 226
    assert row.bias > 1
    assert row.errors.day**2 - noise**2 > (0.7 * 48 * row.bias) ** 2


def homes(n=60, cycles=10, level=300):
    """Public-looking homes around a level, with a shape and scatter of their own."""
    rng = np.random.default_rng(6)
    shape = 1 + 0.5 * np.sin(2 * np.pi * np.arange(48) / 48)
    readings = level * shape[:, None] * rng.uniform(0.5, 1.5, size=n) * rng.uniform(0.8, 1.2, size=(cycles, 48, n))
    return dn.Panel.from_array(np.rint(readings).astype(int).reshape(-1, n))


@pytest.mark.parametrize("mechanism", ["laplace", "cube", "basis"])
def test_what_bounds_clip_is_predicted_from_open_data(mechanism):
    """A body far too narrow is predicted to be off by nearly the whole level of homes that use a quarter more than
    the open ones, and is warned of.
    """
    open_data = homes()
    narrow = support.daily_plan(
        mechanism=mechanism, body=dn.Body(high=10), reference=dn.public_reference(open_data), basis=dn.Basis(size=3)
    )
    row = dn.predict(narrow, support.SHAPE, open_data=open_data).row(mechanism)
    assert row.bias == pytest.approx(1.25 * 305, rel=0.1)
    alike = narrow.with_(reference=dn.public_reference(open_data, mismatch="0.001"))
    assert dn.predict(alike, support.SHAPE, open_data=open_data).row(mechanism).bias == pytest.approx(305, rel=0.1)
    assert row.errors.step > 290
    prediction = dn.predict(narrow, support.SHAPE, open_data=open_data)
    assert any("eps_z = 0" in warning for warning in prediction.warnings(row))


def test_clipped_variations_are_predicted_from_open_data():
    """A W of 1 drops nearly all of the mean's variation."""
    open_data = homes()
    profile, moved = open_data.readings.reshape(10, 48, -1).mean(axis=0), open_data.readings.reshape(10, 48, -1)
    off = np.sqrt(np.mean((moved - profile).mean(axis=2) ** 2))
    tight = support.daily_plan(
        level="strong", mechanism="cube", cycle_mechanism="cube", body=None, variation_bound=1
    )
    assert dn.predict(tight, support.SHAPE, open_data=open_data).row("cube+cube").bias == pytest.approx(
        off, rel=0.2
    )


def test_unpredicted_clipping_is_said():
    """Without open data the table and the sentences say that what bounds clip is not in the numbers."""
    assert "+ clip?" in str(dn.predict(support.daily_plan(), support.SHAPE))
    assert any("clip" in said for said in dn.explain(support.daily_plan(mechanism="cube"), support.SHAPE))
    assert "+ clip?" not in str(dn.predict(support.daily_plan(body=None), support.SHAPE))


def test_the_price_of_a_known_total_is_predicted():
    """With cube in both layers the noise falls from 2,304 to 403 Wh; the plan that is chosen is hardly moved."""
    shape = dn.Shape(group_sizes=(100,), n_cycles=365)
    fields = {"epsilon": "1", "domain": (0, 8000), "history": 91}
    cube = dn.Plan(**fields, mechanism="cube", cycle_mechanism="cube", variation_bound=500)
    assert known_total(cube, 100) == pytest.approx((2304, 402.6, 2304), abs=0.5)
    chosen = dn.choose(dn.with_public_bounds(dn.Plan(**fields), shape, mean_reading=300), shape)
    unknown, slot, beside = known_total(chosen, 100)
    assert 0.9 * unknown < slot <= unknown
    # Of five waves slots beside each other have most of their noise in common.
    assert beside < 0.2 * unknown
    assert "falls from 2,304 to 402.6 Wh in other cycles" in " ".join(dn.explain(cube, shape))


def test_what_a_known_total_gives_away_is_what_is_predicted():
    """Noise drawn by the law of each layer: taking the known step's off leaves the predicted deviation, to 3 %."""
    rng = np.random.default_rng(1)
    cube = dn.Plan(
        epsilon="1", domain=(0, 8000), history=91, mechanism="cube", cycle_mechanism="cube", variation_bound=500
    )
    repeats, known, other = (
        exact.draw(layer, 3000, rng) for layer in (cube.pattern_layer(), *[cube.cycle_layer()] * 2)
    )
    variances = [float(np.mean(each**2)) for each in (repeats, known)]
    guess = (repeats + known) * variances[0] / sum(variances)
    assert np.sqrt(np.mean((repeats + other - guess) ** 2)) == pytest.approx(known_total(cube, 1).slot, rel=0.03)
