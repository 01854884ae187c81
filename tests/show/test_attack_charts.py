import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from diurnal.show import attack_charts as charts
from diurnal.study.audit.attacks import Attack, Outcome, PrivateAttack

NAMES = ("no noise", "Theorem 1", "pattern, chosen", "strong, chosen")


def made(outcomes, *, kind=Attack, **more):
    """A result with these outcomes."""
    given = {
        "name": "membership",
        "asks": "Is this home in the group?",
        "knows": "What is published.",
        "measure": "how often the attacker is right",
        "chance": 0.5,
        "certain": 1.0,
        "says": "It depends.",
    }
    return kind(**{**given, **more}, outcomes=tuple(outcomes))


def curve(*, kind=Attack):
    """Lines over sizes whose ends lie on each other."""
    values = {"no noise": 0.61, "Theorem 1": 0.6, "pattern, chosen": 0.608, "strong, chosen": 0.5}
    return made(
        [
            Outcome(release=name, households=size, value=end + add, low=end + add - 0.03, high=end + add + 0.03)
            for name, end in values.items()
            for size, add in ((15, 0.3), (100, 0.1), (1000, 0.0))
        ],
        kind=kind,
    )


def points(**more):
    """A point a release: one far beyond the scale, one refused."""
    return made(
        [
            Outcome(release="no noise", value=0.0),
            Outcome(release="Theorem 1", case="as it is", value=9.0, low=8.0, high=10.0, published=12.0),
            Outcome(release="pattern, chosen", case="as it is", refused="Too few homes."),
            Outcome(release="strong, chosen", value=0.08, low=0.02, high=0.2, published=0.1),
        ],
        **{"chance": 0.1, "certain": 0.0, "name": "slot minimum", **more},
    )


def days():
    """A day for each release, one of them flat."""
    day = np.sin(np.arange(48) / 8) + 1
    shapes = {"truth": day, **{name: day + k for k, name in enumerate(NAMES)}, "strong, chosen": np.ones(48)}
    return points(shapes={name: tuple(each) for name, each in shapes.items()})


def words_of(figure):
    figure.draw_without_rendering()
    return [text.get_text().strip() for axis in figure.axes for text in axis.texts]


@pytest.mark.parametrize("attack", [curve(), points(), days()], ids=["curve", "points", "days"])
def test_every_kind_of_attack_draws_itself(attack, tmp_path):
    """As SVG and PNG, with its question as the title and words on its axes."""
    ET.parse(attack.draw(tmp_path / "attack.svg"))
    assert attack.draw(tmp_path / "attack.png").read_bytes().startswith(b"\x89PNG")
    figure = charts.chart(attack)
    assert figure.get_suptitle() == attack.asks
    assert all(axis.get_xlabel() for axis in figure.axes)


def test_a_curve_says_in_plain_words_what_it_shows():
    """Percent of cases on the height, a coin toss at a half, homes on a logarithmic axis, a name at each end."""
    figure = charts.chart(curve())
    (axis,) = figure.axes
    words = words_of(figure)
    assert {"a coin toss", "always right", *NAMES} <= set(words)
    assert axis.get_xscale() == "log"
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["15", "100", "1,000"]
    assert "of two groups" in axis.get_ylabel()
    assert all(tick.get_text().endswith(" %") for tick in axis.get_yticklabels())


def test_names_at_line_ends_do_not_lie_on_each_other():
    """Though three lines end in one place."""
    figure = charts.chart(curve())
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text() in NAMES]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))


def test_points_show_what_was_refused_and_what_lies_beyond():
    """A refusal is a word, not a point; a value beyond the scale is an arrow at its edge with its number."""
    figure = charts.chart(points())
    words = words_of(figure)
    assert "refused" in words
    assert "9.00, published 12.00" in words
    assert {"nothing learned", "everything learned"} <= set(words)
    (axis,) = figure.axes
    low, high = axis.get_xlim()
    assert high < 1
    assert all(low <= x <= high for line in axis.lines for x in line.get_xdata())


def test_a_chart_of_real_homes_is_marked_and_one_of_a_town_is_not():
    """The mark of private results is in the corner of one and not of the other."""
    assert "custodian" in curve(kind=PrivateAttack).picture("svg").decode()
    assert "custodian" not in curve().picture("svg").decode()


def test_nothing_is_cut_off_or_too_small():
    """Everything that is drawn lies within the picture, and all words have seven points or more."""
    for attack in (curve(), points(), days()):
        figure = charts.chart(attack)
        figure.draw_without_rendering()
        # In inches, a hundredth of one aside.
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(drawn.x0, drawn.y0) > -0.01
        assert drawn.x1 < width + 0.01
        assert drawn.y1 < height + 0.01
        texts = [text for axis in figure.axes for text in (*axis.texts, *axis.get_yticklabels(), axis.xaxis.label)]
        assert min(text.get_fontsize() for text in texts) >= 7
