import math

import numpy as np
import pytest

from diurnal.study.baselines import Split, Tree


@pytest.mark.parametrize(("steps", "levels"), [(1, 1), (2, 2), (7, 3), (8, 4), (17520, 15)])
def test_a_reading_is_in_log_2_nodes(steps, levels):
    """At most floor(log2 tau) + 1 nodes hold a step: the paper's log T."""
    assert Tree().memberships(steps).max() == levels == math.floor(math.log2(steps)) + 1


@pytest.mark.parametrize("arity", [2, 3, 5])
def test_memberships_count_the_nodes_that_a_step_is_in(arity):
    """By brute force: raise one step by 1 and see how many nodes move."""
    tree, zeros = Tree(arity=arity), np.zeros(40)
    counted = [np.count_nonzero(tree.statistics(zeros + (np.arange(40) == t))) for t in range(40)]
    assert counted == tree.memberships(40).tolist()


def test_a_running_total_has_a_node_for_every_bit_of_its_length():
    """Its variance is popcount(t) times that of a node; a report's 1 + the zeros at the end of t."""
    tree, times = Tree(), range(1, 65)
    assert [int(tree.nodes_apart(t, t)[0]) for t in times] == [t.bit_count() for t in times]
    ends = [1 + (t & -t).bit_length() - 1 for t in times]
    assert tree.nodes_apart(64, 1).tolist() == ends


def test_without_noise_reports_are_the_truth(task):
    """Differences of running totals are the values themselves."""
    loud = task.at(epsilon=10**9)
    assert Tree().draw(loud, np.random.default_rng(1)) == pytest.approx(task.truth, abs=1e-5)


def test_totals_are_its_strength(make):
    """A year's total has less error than from independent noise with the same promise."""
    task = make(cycles=1024, slots=4, n=16)
    total = Tree().noise_variance(task, task.steps)
    assert total < Split(span="reading").noise_variance(task, task.steps) / 10
    assert Tree().noise_variance(task) > Split(span="reading").noise_variance(task)


def test_a_tree_with_as_many_children_as_steps_is_plain_laplace(task):
    """One level: independent noise in every report."""
    flat = Tree(arity=1000, span="cycle")
    assert flat.noise_variance(task) == pytest.approx(Split(span="cycle").noise_variance(task))
