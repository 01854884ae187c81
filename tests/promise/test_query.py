import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal import Histogram, Mean, Share, Sum, Weighted
from diurnal.errors import QueryError
from diurnal.promise.query import query_from_json

QUERIES = [Sum(), Mean(), Weighted([1, 0, -2], over=4), Share(above=5), Histogram([1, 5, 9])]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.kind)
def test_a_query_reads_back_as_it_was_written(query):
    """JSON and back is the same query."""
    assert query_from_json(query.to_json()) == query


def test_a_mean_divides_by_the_roster():
    """A sum's denominator is 1, a mean's and a share's the roster's size, a weighted sum's its own, a count's 1."""
    assert [q.denominator(226) for q in QUERIES] == [1, 226, 4, 226, 1]


def test_weights_are_the_ones_given():
    """A weighted sum takes each household by its own weight, sign and all; every other query takes each once."""
    assert [q.weights(3).tolist() for q in QUERIES] == [[1, 1, 1], [1, 1, 1], [1, 0, -2], [1, 1, 1], [1, 1, 1]]


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
