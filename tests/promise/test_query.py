import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal import Histogram, Mean, Plan, Share, Sum, Weighted
from diurnal.errors import QueryError
from diurnal.promise.query import QUERIES, query_from_json
from diurnal.show.page import words

ONCE = [1, 1, 1]
EXAMPLES = [
    (Sum(), 1, ONCE),
    (Mean(), 226, ONCE),
    (Weighted([1, 0, -2], over=4), 4, [1, 0, -2]),
    (Share(above=5), 226, ONCE),
    (Histogram([1, 5, 9]), 1, ONCE),
]
"""A query of each kind, what it divides by in a group of 226, and the weights of three households."""

every_query = pytest.mark.parametrize(
    ("query", "denominator", "weights"), EXAMPLES, ids=[query.kind for query, *_ in EXAMPLES]
)


def test_every_query_is_tried_here():
    """What is in the registry is in the contract below."""
    assert [query.kind for query, *_ in EXAMPLES] == list(QUERIES)


@every_query
def test_a_query_keeps_the_contract(query, denominator, weights):
    """It is read back as written, divides by a public number (a mean and a share by the roster's size), and takes
    each household by its own weight, sign and all.
    """
    assert query_from_json(query.to_json()) == query
    assert (query.denominator(226), query.weights(3).tolist()) == (denominator, weights)
    assert query.sentence()
    if query.counting:
        cells = query.cells(np.arange(20))
        assert cells.min() >= -1
        assert cells.max() < len(query.series)


@every_query
def test_a_query_has_a_page(query, denominator, weights):
    """Its title and what a report is are said on the page, with nothing left to fill in."""
    more = {"level": "cycle", "history": 0} if query.counting else {"level": "pattern", "history": 4}
    plan = Plan(query=query, epsilon="1", domain=(0, 100), mechanism="laplace", **more)
    for said in (words.title(plan), words.reported(plan)):
        assert "consumption" in said.lower()
        assert not set("{}") & set(said)


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.sets(st.integers(-20, 20), min_size=1, max_size=4)
)
def test_every_reading_is_in_exactly_one_bin(readings, edges):
    """A histogram's cells are the bins by their definition, ends included as stated."""
    histogram = Histogram(sorted(edges))
    cells = histogram.cells(np.array(readings))
    for reading, cell in zip(readings, cells, strict=True):
        assert cell == sum(reading > edge for edge in edges)
    assert len(histogram.series) == len(edges) + 1


def test_a_share_counts_what_is_above_and_nothing_else():
    """At the level is not above it."""
    assert Share(above=5).cells(np.array([4, 5, 6])).tolist() == [-1, -1, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Weighted([]),
        lambda: Weighted([0, 0]),
        lambda: Weighted([0.5, 0.5]),
        lambda: Weighted([1], over=0),
        lambda: Weighted([2**63]),
        lambda: Weighted([1, 2]).weights(3),
        lambda: Share(above=0.5),
        lambda: Histogram([]),
        lambda: Histogram([2, 1]),
        lambda: Histogram([1, 1]),
        lambda: query_from_json({"kind": "median"}),
        lambda: query_from_json({"kind": "mean", "of": 3}),
    ],
)
def test_queries_that_make_no_sense_are_refused(make):
    """Fractional, empty, zero or too large weights, unsorted edges and unknown queries raise a QueryError."""
    with pytest.raises(QueryError, match="Hint:"):
        make()
