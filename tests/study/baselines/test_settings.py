import numpy as np
import pytest

from diurnal.study.baselines import PLAIN, Factorisation, Tree, rivals, task_of
from diurnal.study.baselines.settings import SEARCHED
from diurnal.study.town import Town


@pytest.fixture(scope="module")
def another_town():
    """Not the town of the search, but a year as well: what a winter needs is cut off less."""
    made = Town(homes=226, days=91 + 365, seed=5)
    other = Town(homes=150, days=60, seed=6).panel()
    return task_of(made.panel(), epsilon="1", open_data=other, domain=made.domain)


def test_every_rival_was_searched():
    """settings.py has fields for each, and each takes them; names are distinct."""
    for fields in SEARCHED.values():
        assert set(fields) == {each.name for each in PLAIN}
    names = [each.name for each in rivals()]
    assert len(set(names)) == len(names)


def test_settings_follow_the_size_of_the_noise():
    """The nearest n times epsilon that was searched: more households are cut off less."""
    few, many = ({each.name: each for each in rivals(size=size)} for size in (150, 10**6))
    assert few["one day, Laplace"].clamp == SEARCHED[226]["one day, Laplace"]["clamp"]
    assert (many["one day, Laplace"].clamp or 100) > few["one day, Laplace"].clamp


def square_error(rival, task):
    known = rival.mean_square_error(task, task.slots if isinstance(rival, (Tree, Factorisation)) else 1)
    if known is not None:
        return known
    rng = np.random.default_rng(1)
    return np.mean([np.mean((rival.draw(task, rng) - task.truth) ** 2) for _ in range(5)])


def test_nothing_is_cut_off_at_the_least_that_was_tried_but_what_drowns_in_noise():
    """At 226 and above an optimum at 0.25 levels is only that of a budget split over the year."""
    edge = {
        name
        for size, fields in SEARCHED.items()
        for name, each in fields.items()
        if size >= 226 and each["clamp"] == 0.25
    }
    assert edge <= {"split Laplace, cut", "split Gaussian, cut", "OpenDP, everything"}


def test_a_tree_may_have_a_child_for_every_slot():
    """The cycle's slots and their divisors are among the arities, and on days of 48 they are the best."""
    assert {fields["tree, one day"]["arity"] for fields in SEARCHED.values()} == {48}


def test_the_number_of_coefficients_is_not_taken_from_the_true_series():
    """Fourier's k is one that was searched on the town."""
    assert all(each.coefficients for each in rivals() if each.name.startswith("Fourier"))


@pytest.mark.parametrize("epsilon", ["1", "10"])
@pytest.mark.parametrize("plain", PLAIN, ids=lambda each: each.name)
def test_no_straw_men(another_town, plain, epsilon):
    """On a town it was not searched on, each rival does better with its settings than as its paper has it."""
    task = another_town.at(epsilon=epsilon)
    tuned = next(each for each in rivals(size=task.n * int(epsilon)) if each.name == plain.name)
    assert square_error(tuned, task) <= square_error(plain, task)
