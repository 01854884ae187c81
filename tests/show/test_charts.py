import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import InputError
from diurnal.show import charts
from diurnal.study.planted import planted

CHARTS = ("sheet", "heatmap", "histogram", "lags", "periods")


@pytest.fixture(scope="module")
def verdict():
    """A verdict with a rhythm."""
    return dn.check(planted("weekday", 0.8, homes=80, cycles=70, slots=4))


def results(verdict):
    """One of every result that can be drawn."""
    panel = support.town(cycles=60)
    stream = support.start(panel, support.plan_for(panel))
    stream.report(panel.after(4))
    plan = dn.Plan(epsilon="1", domain=(0, 2000), history=4, grid=verdict.correlations.grid, level="pattern")
    return {
        "verdict": verdict,
        "trades": dn.trade(plan, verdict, dn.Shape(group_sizes=(80,), grid=plan.grid)),
        "drift": stream.drift(window=7)["all"],
        "early drift": stream.drift(window=100)["all"],
        "private drift": dn.private_drift(panel, history=4, window=7),
    }


def test_every_result_draws_itself_as_svg_and_png(verdict, tmp_path):
    """Files are what their ending says, and an SVG is well-formed."""
    for name, result in results(verdict).items():
        svg, png = result.draw(tmp_path / f"{name}.svg"), result.draw(tmp_path / f"{name}.PNG")
        ET.parse(svg)
        assert png.read_bytes().startswith(b"\x89PNG")


def test_a_private_chart_is_its_owners_alone(verdict, tmp_path):
    """A private chart can be read by its owner only, also where a file that all could read was before."""
    for name in ("new.svg", "old.svg"):
        if name == "old.svg":
            (tmp_path / name).write_text("public")
            (tmp_path / name).chmod(0o644)
        assert verdict.draw(tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("chart", CHARTS)
def test_each_chart_can_be_had_alone(verdict, chart):
    """Every chart of a verdict has labels on both axes, or says in its title what it shows."""
    figure = getattr(charts, chart)(verdict)
    for axis in figure.axes:
        assert axis.get_ylabel() or (axis.get_xlabel() and axis.get_yticklabels())
    assert any(axis.get_title(loc="left") for axis in figure.axes)


def test_private_charts_say_so_and_public_ones_do_not(verdict):
    """A chart of private results carries the mark in its corner; one of released reports does not."""
    for name, result in results(verdict).items():
        drawn = result.picture("svg").decode()
        marked = "custodian" in drawn
        assert marked == isinstance(result, dn.Private), name


def test_the_scale_has_zero_in_the_middle_and_reads_in_grey(verdict):
    """Zero is grey in the middle of the heatmap's scale, and lightness grows from one end to the other."""
    figure = charts.heatmap(verdict)
    image = figure.axes[0].images[0]
    assert image.norm.vmin == -image.norm.vmax
    colours = image.cmap(np.linspace(0, 1, 101))[:, :3]
    lightness = colours @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) > 0).all()
    middle = colours[50]
    assert np.ptp(middle) < 0.03


def test_the_heatmap_is_as_large_as_there_are_cycles():
    """Cycles that are left out are blank rows and columns, so that a picture keeps its time."""
    readings = np.random.default_rng(1).integers(0, 99, (9, 4, 8))
    present = np.ones(readings.shape, dtype=bool)
    present[2] = False
    panel = support.small_panel(readings.reshape(36, 8), present=present.reshape(36, 8), slots=4)
    image = charts.heatmap(dn.check(panel)).axes[0].images[0].get_array()
    assert image.shape == (9, 9)
    assert np.ma.getmaskarray(image)[2].all()
    assert not np.ma.getmaskarray(image)[0, 1]


def test_the_same_result_is_the_same_picture(verdict):
    """A verdict drawn twice is the same SVG to the byte: no date, no random name."""
    assert verdict.picture("svg") == verdict.picture("svg")


def test_it_shows_itself_in_a_notebook(verdict):
    """A notebook gets the table and the picture, in one piece and escaped."""
    shown = verdict._repr_html_()
    assert "<pre>" in shown
    assert "data:image/svg+xml;base64," in shown
    assert "|c| 0." in shown


def test_without_matplotlib_the_table_is_shown(verdict, monkeypatch):
    """Where matplotlib is not installed a drawing says what to install, and a notebook shows the table alone."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"diurnal\[charts\]"):
        verdict.draw("check.svg")
    assert "<img" not in verdict._repr_html_()


@pytest.mark.parametrize("wrong", [("check.pdf", None), ("check", None), ("check.svg", "pie")])
def test_what_cannot_be_drawn_is_refused(verdict, wrong, tmp_path):
    """Another ending, none, or a chart that there is none of: refused, and no file is left."""
    with pytest.raises(InputError, match="Hint:"):
        verdict.draw(tmp_path / wrong[0], wrong[1])
    assert list(tmp_path.iterdir()) == []


def lines(figure, axis=0):
    return [line for line in figure.axes[axis].lines if len(line.get_xdata())]


def test_charts_show_the_figures_they_are_of(verdict):
    """Marks stand where the figures are: the median, the threshold, the lags of a rhythm, the bars of a period."""
    found = verdict.correlations
    threshold, median = lines(charts.histogram(verdict))
    assert threshold.get_xdata()[0] == verdict.thresholds.largest
    assert median.get_xdata()[0] == found.median
    _, curve, marks = lines(charts.lags(verdict))
    apart, means = found.by_lag()
    assert curve.get_ydata().tolist() == means[: len(curve.get_xdata())].tolist()
    assert marks.get_xdata().tolist() == list(range(7, 57, 7))
    assert marks.get_ydata().tolist() == [means[apart.tolist().index(lag)] for lag in range(7, 57, 7)]
    widths = sorted(bar.get_width() for bar in charts.periods(verdict).axes[0].patches)
    tested = [each for each in verdict.periods if each.largest is not None]
    assert widths == sorted([each.largest for each in tested] + [each.median for each in tested])


def test_a_drift_chart_shows_alarms_where_they_are():
    """Dots are the windows of an alarm, the dashed line the threshold in percent."""
    panel = support.town(n=60, cycles=60)
    moved = panel.readings.copy()
    moved[30 * 4 : 45 * 4] += 60
    found = dn.private_drift(panel.following(moved, first_step=0), history=8, window=7)
    curve, threshold, dots = lines(charts.drift(found))
    assert threshold.get_ydata()[0] == pytest.approx(30)
    alarmed = [cycle for cycle, alarm in zip(found.cycles, found.alarms, strict=True) if alarm]
    assert dots.get_xdata().tolist() == alarmed
    assert 0 < len(alarmed) < len(found.cycles)
    assert curve.get_ydata() == pytest.approx(100 * np.array(found.moves) / found.level)
