import dataclasses
import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import support
from diurnal.errors import PlanError, PrivateError
from diurnal.private import public
from diurnal.study import paper
from diurnal.study.baselines import OURS, PAPER, Fourier, Split, Window, rivals, task_of
from diurnal.study.baselines.corollary import Corollary
from diurnal.study.baselines.score import relative_error
from diurnal.study.compare import compare
from diurnal.study.curves import curves
from diurnal.study.standing import PROTECTED, best, better, standing

SMALL = (*PAPER, Split(name="one day", span="cycle"), Window(), *OURS)


@pytest.fixture(scope="module")
def task():
    panel = support.town(n=30, slots=8, cycles=24)
    given = {"epsilon": "1", "open_data": support.town(n=20, slots=8, seed=2), "domain": (0, 100)}
    return task_of(panel.after(8), history=panel.first(8), **given)


@pytest.fixture(scope="module")
def comparison(task):
    return compare(task, draws=20, baselines=SMALL)


def test_scores_are_the_paper_s_measures(task, comparison):
    """Relative error and skill of "nothing at all" and the true constant are those of study.paper."""
    for name, values in (("nothing at all", task.public), ("constant, true", np.full(128, task.truth.mean()))):
        score = comparison.score(name)
        assert score.relative_error == pytest.approx(paper.relative_error(values, task.truth))
        assert score.skill == pytest.approx(paper.skill(values, task.truth))
        assert score.mean_absolute_error == pytest.approx(np.abs(values - task.truth).mean())
        days = (values - task.truth).reshape(16, 8).sum(axis=1)
        mean = task.truth.sum() / 16
        assert score.day_error == pytest.approx(math.sqrt(np.mean(days**2)) / mean)
        assert score.year_error == pytest.approx(abs(days.sum()) / task.truth.sum(), abs=1e-12)
        peaks = values.reshape(16, 8).max(axis=1) - task.truth.reshape(16, 8).max(axis=1)
        assert score.peak_error == pytest.approx(math.sqrt(np.mean(peaks**2)) / task.truth.max())


def test_each_score_says_how_it_was_got(comparison):
    """By formula, or from draws with an interval around the error; absolute and peak errors are always drawn."""
    assert all({"mean_absolute_error", "peak_error"} <= score.intervals.keys() for score in comparison.scores)
    for score in comparison.scores:
        assert all(low <= getattr(score, name) <= high for name, (low, high) in score.intervals.items())
    assert comparison.score("Theorem 1").intervals.keys() == {"mean_absolute_error", "peak_error"}
    drawn = comparison.score("w-event BD")
    assert drawn.got == "20 draws"
    assert drawn.interval[0] < drawn.relative_error < drawn.interval[1]
    assert comparison.score("Theorem 1").got == "closed form"
    assert comparison.score("Theorem 1").interval is None
    assert all(score.seconds > 0 for score in comparison.scores)


def test_intervals_hold_the_truth_about_as_often_as_they_say(task):
    """Of 100 intervals from 8 draws each, 87 or more hold the error that 4000 draws find."""
    window = Window(block=8)
    rng = np.random.default_rng(5)
    squares = [np.mean((window.draw(task, rng) - task.truth) ** 2) for _ in range(4000)]
    error = math.sqrt(np.mean(squares)) / task.truth.max()
    found = [compare(task, draws=8, seed=seed, baselines=[window]).scores[0].interval for seed in range(100)]
    assert sum(low < error < high for low, high in found) >= 87


def test_the_same_seed_gives_the_same_scores(task):
    """Rivals' draws follow the seed."""
    one, again, other = (compare(task, draws=3, seed=s, baselines=[Window()]).scores[0] for s in (1, 1, 2))
    assert one.relative_error == again.relative_error != other.relative_error


def test_it_prints_as_a_table_of_80_columns(comparison):
    """A row a rival, the drawn ones marked, none wider than a terminal."""
    lines = str(comparison).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 2 + len(SMALL) + 1
    assert any(line.startswith("w-event BD*") for line in lines)


def test_it_is_plain_data_and_private(comparison):
    """JSON both ways; and since errors are against the truth, it does not pass as public."""
    data = comparison.to_json()
    assert json.loads(json.dumps(data))["scores"][0]["name"] == "nothing at all"
    assert data["epsilon"] == "1"
    for value in (comparison, data, data["scores"]):
        with pytest.raises(PrivateError):
            public(value)
    assert "private" in repr(comparison)


def test_a_panel_will_do(task):
    """Without a history its own first half serves; without open data it is refused."""
    panel, other = support.town(n=30, cycles=12), support.town(n=20, seed=2)
    made = compare(panel, epsilon="2", open_data=other, domain=(0, 100), draws=2, baselines=PAPER)
    assert (made.cycles, made.epsilon) == (6, Fraction(2))
    with pytest.raises(PlanError, match="open_data"):
        compare(panel, domain=(0, 100))


def test_curves_go_the_way_they_must(task):
    """Noise falls with epsilon and with households; a split's grows with the horizon, Theorem 1's does not."""
    found = curves(task, sizes=[10, 30, 300], cycles=[4, 8, 16], baselines=SMALL, draws=2).to_json()
    assert found.pop("draws") == 2
    assert set(found) == {"epsilon", "households", "cycles"}
    for axis in found.values():
        assert set(axis["relative_error"]) == {each.name for each in SMALL}
        assert all(len(row) == len(axis["at"]) for row in axis["relative_error"].values())
        assert set(axis["within"]) == {"w-event BD"}
    names = ("split Laplace", "Theorem 1")
    split, one = ({axis: list(found[axis]["relative_error"][name]) for axis in found} for name in names)
    assert split["epsilon"] == sorted(split["epsilon"], reverse=True)
    assert split["households"][1] == pytest.approx(10 * split["households"][2])
    assert split["cycles"][2] == pytest.approx(4 * split["cycles"][0])
    assert one["cycles"][2] == pytest.approx(one["cycles"][0])


# Which promise is stronger.


def test_promises_stand_in_an_order():
    """Stronger is never mutual, passes on, and its other side is weaker; a pattern and a day are another matter."""
    kinds = [kind for kind in PROTECTED if kind not in ("nothing", "fails")]
    for one, other in itertools.product(kinds, kinds):
        there, back = standing(one, other), standing(other, one)
        assert (there, back) in {
            ("the same", "the same"),
            ("another", "another"),
            ("stronger", "weaker"),
            ("weaker", "stronger"),
        }
        for third in kinds:
            if there == "stronger" == standing(other, third):
                assert standing(one, third) == "stronger"
    assert standing("pattern", "one day") == standing("pattern", "one reading") == "another"
    assert standing("pattern, day", "pattern") == standing("pattern, day", "one day") == "stronger"
    assert standing("fails", "pattern") == standing("everything", "nothing") == "none"


def test_every_promise_has_its_standing(task):
    """Whatever a rival says to protect is in the order of the table, and those with least error are found."""
    promises = {each.name: each.promise(task) for each in rivals()}
    assert {each.protects for each in promises.values()} == set(PROTECTED)
    errors = dict.fromkeys(promises, 1.0)
    errors |= {"Fourier": 0.5, "constant": 0.4, "strong, chosen": 0.7, "PeGaSus": 0.1, "Corollary 1, printed": 0.2}
    assert better("strong, chosen", errors, promises) == {
        "weaker": ["PeGaSus"],
        "none": ["Corollary 1, printed"],
        "stronger": ["constant", "Fourier"],
    }
    assert best(errors, promises, "everything") == "constant"
    assert best({}, promises, "everything") is None


# Theory's figures, on the real data.


@pytest.fixture(scope="module")
def real(ausgrid, edrp):
    """226 homes, July 2012 to June 2013, the year before as history, the Scottish day at the Australian level."""
    year = ausgrid.after(366)
    return task_of(
        year,
        history=ausgrid.first(366),
        epsilon="1",
        open_data=edrp,
        domain=(0, 8000),
        profile_range=(0, 3000),
        level=float(year.readings.mean()),
    )


FIGURES = [
    ("nothing at all", 0.103, 0.001),
    ("eps_z = 0", 0.071, 0.003),
    ("constant, true", 0.104, 0.0005),
    ("split Laplace", 688, 1),
    ("Theorem 1", 0.71, 0.005),
    ("cube", 0.30, 0.005),
    ("pattern, chosen", 0.035, 0.006),
    ("strong, chosen", 0.05, 0.005),
]


@pytest.mark.parametrize(("name", "figure", "within"), FIGURES, ids=[name for name, *_ in FIGURES])
def test_figures_of_theory_5_1(real, name, figure, within):
    """Relative errors at epsilon 1 on 226 homes are those of the page."""
    rival = next(each for each in rivals() if each.name == name)
    assert relative_error(rival, real).value == pytest.approx(figure, abs=within)


def test_theorem_1_has_a_skill_of_minus_45(real):
    """1 - MSE/Var f."""
    assert 1 - OURS[0].mean_square_error(real) / np.var(real.truth) == pytest.approx(-45, abs=0.5)


def test_split_gaussian_is_19_7_by_the_classic_conversion_and_16_7_by_the_tight_one(real):
    """Theory's figure takes rho + 2 sqrt(rho ln(1/delta)) = epsilon; OpenDP's conversion allows a larger rho."""
    log = math.log(10**6)
    classic = (math.sqrt(log + 1) - math.sqrt(log)) ** 2
    tight = relative_error(Split(kind="gaussian"), real).value
    assert tight == pytest.approx(16.66, abs=0.01)
    assert tight * math.sqrt(real.zcdp() / classic) == pytest.approx(19.7, abs=0.05)


def test_corollary_1_as_printed_is_3_2_or_3_4(real):
    """3.2 with profiles within 3 kWh, as Theorem 1 has it; theory's 3.4 is with 4 kWh."""
    assert relative_error(Corollary(), real).value == pytest.approx(3.2, abs=0.01)
    wider = dataclasses.replace(real, profile_range=(0, 4000))
    assert relative_error(Corollary(), wider).value == pytest.approx(3.4, abs=0.01)


def test_fourier_perturbation_is_0_21_with_five_coefficients_and_0_11_with_the_best(real):
    """A constant and two harmonics of the day: theory's 0.21 (-3). Fewer are better: one alone, the private
    constant, has 0.111.
    """
    five = Fourier(coefficients=5)
    assert relative_error(five, real).value == pytest.approx(0.21, abs=0.005)
    assert 1 - five.mean_square_error(real) / np.var(real.truth) == pytest.approx(-3, abs=0.3)
    assert Fourier().size(real) == 1
    assert relative_error(Fourier(), real).value == pytest.approx(0.111, abs=0.001)


def test_what_beats_whom_on_the_real_homes(real):
    """With a stronger promise than theirs, a private constant, Fourier perturbation and w-event beat Theorem 1 and
    cube; no rival that hides a day or more beats our chosen strong plan; only those that hide one reading do.
    """
    errors = {each.name: relative_error(each, real).value for each in rivals()}
    for name in ("constant", "Fourier", "w-event BD", "w-event BA"):
        assert errors[name] < errors["cube"] < errors["Theorem 1"]
    hidden = {each.name: each.promise(real).protects for each in rivals()}
    better = {hidden[name] for name, error in errors.items() if error < errors["strong, chosen"]}
    assert better - {"pattern", "pattern, day"} == {"one reading"}
