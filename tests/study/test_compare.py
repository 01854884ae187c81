import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import support
from diurnal.errors import PlanError, PrivateError
from diurnal.private import public
from diurnal.study import paper
from diurnal.study.baselines import OURS, PAPER, Fourier, Ours, Split, Window, rivals, task_of
from diurnal.study.baselines.corollary import Corollary
from diurnal.study.baselines.score import relative_error
from diurnal.study.compare import compare, suited
from diurnal.study.standing import Error, better, standing
from support import refuses

SMALL = (*PAPER, Split(name="one day", span="cycle"), Window(), *OURS)


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


def test_ours_are_left_out_where_no_plan_can_be_started():
    """With fewer than 15 households the rivals are compared among themselves, at every place of a curve."""
    panel, other = support.town(n=12, slots=8, cycles=16), support.town(n=20, slots=8, seed=2)
    task = task_of(panel, epsilon="1", open_data=other, domain=(0, 100))
    assert not any(isinstance(each, Ours) for each in suited(task))
    assert not any(isinstance(each, Ours) for each in suited(task.at(copies=4)))
    assert compare(task, draws=2).scores


def test_the_same_seed_gives_the_same_scores(task):
    """Rivals' draws follow the seed."""
    one, again, other = (compare(task, draws=3, seed=s, baselines=[Window()]).scores[0] for s in (1, 1, 2))
    assert one.relative_error == again.relative_error != other.relative_error


def test_it_prints_as_a_table_of_80_columns(comparison):
    """A row a rival, the drawn ones and those with a delta marked, none wider than a terminal."""
    lines = str(comparison).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) == 2 + len(SMALL) + 2
    assert any(line.startswith("w-event BD*") for line in lines)
    assert any(line.startswith("split Gaussian+") for line in lines)
    assert lines[-1].startswith("+ fails with a probability of up to delta 1e-06")


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
    with refuses(PlanError, "compare-needs-open-data"):
        compare(panel, domain=(0, 100))


# Theory's figures, on the real data.


@pytest.fixture(scope="module")
def real(ausgrid, edrp):
    """226 homes, July 2012 to June 2013, the year before as history, the Scottish day at the Australian level.

    As theory 5.1 has it, that level is the reported year's own mean, which nobody knows before; see
    `test_with_the_year_before_s_level_the_picture_stays`.
    """
    year = ausgrid.after(366)
    return task_of(
        year,
        history=ausgrid.first(366),
        epsilon="1",
        open_data=edrp,
        domain=(0, 8000),
        profile_range=(0, 3000),
        mean_reading=float(year.readings.mean()),
    )


FIGURES = [
    ("nothing at all", 0.103, 0.001),
    ("eps_z = 0", 0.071, 0.003),
    ("constant, true", 0.104, 0.0005),
    ("split Laplace", 688, 1),
    ("Theorem 1", 0.71, 0.005),
    ("cube", 0.30, 0.005),
    ("pattern, chosen", 0.022, 0.004),
    ("strong, chosen", 0.05, 0.005),
]


@pytest.mark.parametrize(("name", "figure", "within"), FIGURES, ids=[name for name, *_ in FIGURES])
def test_figures_of_theory_5_1(real, name, figure, within):
    """Relative errors at epsilon 1 on 226 homes are those of the page, which takes the reported year's own mean as
    the public level.
    """
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


@pytest.fixture(scope="module")
def before(ausgrid, edrp):
    """The same with the mean of the year before as the public level, which a distributor publishes."""
    earlier = ausgrid.first(366)
    return task_of(
        ausgrid.after(366),
        history=earlier,
        epsilon="1",
        open_data=edrp,
        domain=(0, 8000),
        profile_range=(0, 3000),
        mean_reading=float(earlier.readings.mean()),
    )


def test_with_the_year_before_s_level_the_picture_stays(real, before):
    """376 Wh instead of 366: chosen plans and doing nothing move by less than 0.005."""
    assert before.level == pytest.approx(376, abs=1)
    for name in ("nothing at all", "eps_z = 0", "pattern, chosen", "strong, chosen"):
        rival = next(each for each in rivals() if each.name == name)
        assert relative_error(rival, before).value == pytest.approx(relative_error(rival, real).value, abs=0.005)


def test_what_beats_whom_on_the_real_homes(before):
    """Under a stronger promise a private constant, Fourier perturbation and doing nothing beat Theorem 1 and cube;
    nobody with a stronger promise beats a chosen plan; no rival that hides a day has less error than strong.
    """
    errors = {each.name: relative_error(each, before).value for each in rivals()}
    promises = {each.name: each.promise(before) for each in rivals()}
    known = {name: Error.known(error) for name, error in errors.items()}
    for name in ("constant", "Fourier", "nothing at all"):
        assert errors[name] < errors["cube"] < errors["Theorem 1"]
        assert standing(promises[name], promises["cube"]) == "stronger"
    assert "stronger" not in better("strong, chosen", known, promises)
    assert "stronger" not in better("pattern, chosen", known, promises)
    others = better("strong, chosen", known, promises)["another"]
    assert {promises[name].protects for name in others} == {"one reading"}


def test_fourier_of_each_day_is_the_strongest_rival_that_hides_a_day(before):
    """0.068 with settings searched on the town; 0.059 with what is best on these homes, still more than the strong
    plan has.
    """
    days = [each for each in rivals() if each.promise(before).protects in ("one day", "calendar day")]
    errors = {each.name: relative_error(each, before).value for each in days}
    assert min(errors, key=errors.__getitem__) == "Fourier, one day"
    assert errors["Fourier, one day"] == pytest.approx(0.068, abs=0.002)
    best_here = Fourier(span="cycle", coefficients=5, counted=True, clamp=4)
    assert relative_error(best_here, before).value == pytest.approx(0.059, abs=0.002)
    assert relative_error(OURS[4], before).value < 0.052
