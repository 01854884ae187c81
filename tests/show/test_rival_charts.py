"""Charts of a comparison."""

import re

import matplotlib.pyplot as plt

from diurnal.errors import InputError
from diurnal.show import rival_charts
from diurnal.study.standing import PROTECTED
from support import refuses


def test_everybody_is_drawn(compared):
    """Each chart is drawn, marked as private, with every rival's name in it."""
    scores, along = compared
    for name in rival_charts.CHARTS:
        drawn = (scores if name == "overview" else along).picture("svg", name).decode()
        assert "<svg" in drawn
        words = re.findall(r"<!-- (.*?) -->", drawn)
        assert "private: for the custodian's eyes" in words
        hidden = {"constant, true"} if name != "overview" else set()
        assert {each.name for each in scores.scores} - hidden <= {word.strip() for word in words}
    with refuses(InputError, "chart-unknown"):
        along.picture("svg", "overview")


def test_every_promise_has_words_and_a_panel():
    """What is protected is told in words; all that promise something are drawn in one of the panels."""
    assert list(rival_charts.HIDES) == list(PROTECTED)
    drawn = [protects for _, group in rival_charts.PANELS for protects in group]
    assert sorted(drawn) == sorted(set(PROTECTED) - {"all: no data", "nothing"})


def test_names_that_were_moved_far_have_a_line_to_them(compared):
    """In a panel where names crowd, each is led to from its line's end; elsewhere none is."""
    figure, axis = plt.subplots()
    axis.set(yscale="log", ylim=(0.01, 10))
    rival_charts._names(axis, {"a": (0.1, "k"), "b": (0.5, "k")})
    assert not axis.lines
    rival_charts._names(axis, dict.fromkeys("abcd", (0.1, "k")))
    assert len(axis.lines) == 4
    plt.close(figure)
