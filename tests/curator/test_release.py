"""What rows say: the query of each group, and the noise that is added to it once."""

from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator import release
from diurnal.errors import DiurnalError
from diurnal.promise import noise


def test_rows_hold_time_unit_group_and_plan():
    """A row's keys are the ones others rely on, its value and deviation are decimals."""
    panel = support.town()
    stream = support.begin("pattern", panel)
    row = stream.report(panel)[4].to_json()
    assert row["time"] == "2000-01-01T10:00:00+00:00"
    assert (row["step"], row["group"], row["unit"], row["plan"]) == (20, "all", "Wh", stream.plan.hash)
    assert float(row["std"]) > 0
    assert float(row["value"]) == pytest.approx(float(stream.report(panel)[4].exact), rel=1e-3)


def test_differences_between_cycles_are_exact_in_pattern_mode():
    """y(t + T) - y(t) is F(x(t + T)) - F(x(t)) to the unit: nothing hides variations at this level."""
    panel = support.town()
    rows = support.begin("pattern", panel, query=dn.Sum()).report(panel)
    values = np.array(support.numerators(rows)).reshape(-1, 4)
    truth = panel.readings.sum(axis=1).reshape(-1, 4)[4:]
    assert (np.diff(values, axis=0) == np.diff(truth, axis=0)).all()


@support.every_kind
def test_noise_is_drawn_once_for_a_cycle_and_group(name, monkeypatch):
    """A profile's noise is drawn once for ever, a cycle's once for each group and cycle, however it is asked."""
    panel = support.town(groups={"side": ["a", "b"] * 20})
    drawn = []
    for sampler in ("laplace", "cube", "l2_norm"):
        real = getattr(noise, sampler)
        monkeypatch.setattr(noise, sampler, lambda *a, real=real: drawn.append(1) or real(*a))
    stream = support.begin(name, panel, groups="side")
    at_start = len(drawn)
    for step in panel.steps:
        stream.report(panel.between(step, step + 1))
    stream.report(panel)
    cycles = {"pattern": 0, "share": 12, "histogram": 12}.get(name, 8)
    assert at_start == (0 if name in ("share", "histogram") else 2)
    assert len(drawn) == at_start + 2 * cycles


@pytest.mark.parametrize("name", ["strong", "share", "histogram"])
def test_a_value_without_its_noise_does_not_come_to_be(name, monkeypatch):
    """Where a cycle's noise should be and is not, there is an error and no row: never an exact sum."""
    panel = support.town()
    stream = support.begin(name, panel)
    monkeypatch.setattr(release.Publisher, "_noise", lambda publisher, cycle: {})
    with pytest.raises(KeyError):
        stream.report(panel)
    assert stream.rows() == []


@support.every_kind
def test_groups_are_the_query_of_each_group_and_their_total_is_free(name, silence):
    """A grouped stream gives each group's own rows, and the total is their sum, weighted by size for a mean."""
    panel = support.town(groups={"side": ["a"] * 10 + ["b"] * 30})
    stream = support.begin(name, panel, groups="side")
    rows = stream.report(panel)
    assert {row.group.split()[0] for row in rows} == {"a", "b"}
    whole = support.begin(name, panel).report(panel)
    totals = stream.total(rows)
    tolerance = 3 if name in ("strong, basis", "strong, blocks") else 0  # each layer is rounded to the unit
    for total, one in zip(totals, sorted(whole, key=lambda row: (row.step, row.series)), strict=True):
        assert abs(total.numerator - one.numerator) <= tolerance
        assert total.denominator == one.denominator
    with pytest.raises(DiurnalError, match="each of 2 groups"):
        stream.total(rows[1:])


def test_a_weighted_total_keeps_its_denominator(silence):
    """Groups of a weighted sum share one denominator, and so does their total."""
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    stream = support.begin("strong", panel, groups="side", query=dn.Weighted([1] * 20 + [3] * 20, over=80))
    total = stream.total(stream.report(panel))[0]
    assert total.denominator == 80


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_grouped_noise_is_independent(name):
    """Two groups with equal readings get different rows: each has noise of its own, in every cycle."""
    readings = np.tile(np.arange(1, 5)[:, None] * 10, (12, 40))
    panel = dn.Panel.from_array(readings, grid=dn.Grid(slots=4), groups={"side": ["a"] * 20 + ["b"] * 20})
    rows = support.begin(name, panel, groups="side").report(panel)
    left = [row.numerator for row in rows if row.group == "a"]
    right = [row.numerator for row in rows if row.group == "b"]
    assert left != right
    if name == "strong":
        off = np.array([a - b for a, b in zip(left, right, strict=True)]).reshape(-1, 4)
        assert (off != off[0]).any()


def test_weights_are_taken_as_given(silence):
    """A weighted stream is the weighted sum over its denominator, negatives included."""
    panel = support.town(n=4)
    stream = support.begin("strong", panel, query=dn.Weighted([1, -2, 0, 3], over=7), variation_bound=None)
    rows = stream.report(panel)
    truth = panel.readings @ np.array([1, -2, 0, 3])
    assert [row.exact for row in rows] == [Fraction(int(v), 7) for v in truth[16:]]


def test_net_export_is_data():
    """Negative readings inside the domain are summed like any other."""
    panel = support.town()
    net = panel.following(panel.readings - 60, first_step=0)
    plan = support.plan_for(net, domain=(-100, 100), query=dn.Sum(), mechanism="cube")
    stream = support.start(net, plan)
    rows = np.array(support.numerators(stream.report(net)), dtype=object).reshape(-1, 4)
    assert (np.diff(rows, axis=0) == np.diff(net.readings.sum(axis=1).reshape(-1, 4)[4:], axis=0)).all()


def test_counts_are_counts(silence):
    """Share and Histogram report the households above the level, and in each bin, missing ones in none."""
    panel = support.town()
    present = panel.present.copy()
    present[:, 0] = False
    panel = panel.following(panel.readings, present=present, first_step=0)
    share = support.begin("share", panel).report(panel)
    assert [row.numerator for row in share] == (panel.readings[:, 1:] > 50).sum(axis=1).tolist()
    assert {row.denominator for row in share} == {40}
    bins = support.begin("histogram", panel).report(panel)
    assert sum(row.numerator for row in bins if row.step == 3) == 39
    assert {row.group for row in bins} == {"all <=20", "all 20..60", "all >60"}


def test_every_bin_of_every_slot_has_its_own_noise(monkeypatch):
    """A histogram's row of a slot and bin carries that component of the cycle's vector."""
    panel = support.town(n=20, cycles=1)
    monkeypatch.setattr(noise, "laplace", lambda size, scale: list(range(size)))
    stream = support.begin("histogram", panel, mechanism="laplace")
    silent = panel.following(panel.readings, present=panel.present & False, first_step=0)
    assert support.numerators(stream.report(silent, close=True)) == list(range(12))


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_noise_is_scaled_by_the_heaviest_weight_of_the_group(level, monkeypatch):
    """Each group's noise, of the profile and of a cycle, has the scale of its own heaviest household."""
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    scales = []
    monkeypatch.setattr(noise, "laplace", lambda size, scale: scales.append(scale) or [0] * size)
    query = dn.Weighted([1] * 20 + [7] * 20)
    stream = support.begin(level, panel, groups="side", query=query, mechanism="laplace", cycle_mechanism="laplace")
    assert scales == [400, 2800]
    stream.report(panel.between(16, 17))
    assert scales[2:] == ([240, 1680] if level == "strong" else [])


def test_a_row_s_deviation_is_that_of_its_noise():
    """Over many groups of equal readings the numerators of a step scatter as the row says."""
    panel = support.of_groups(support.town(n=1, cycles=6), 600)
    for name in ("pattern", "strong", "strong, basis", "strong, blocks"):
        rows = support.begin(name, panel, query=dn.Sum(), groups="group").report(panel.between(16, 20))[:600]
        assert {row.step for row in rows} == {16}
        assert np.std([float(row.numerator) for row in rows]) == pytest.approx(rows[0].deviation, rel=0.2)
