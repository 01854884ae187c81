"""Results that can be drawn, whoever draws them."""

import base64

import pytest

from diurnal import picture
from diurnal.errors import InputError
from diurnal.picture import Pictured, register_chart_modules, register_charts
from diurnal.private import Private
from support import refuses


class Line(Pictured):
    def __str__(self):
        return "1 < 2"


class Dashed(Line):
    pass


class Hidden(Line, Private):
    pass


@pytest.fixture(autouse=True)
def charts(monkeypatch):
    """Two charts of lines, and none that anybody else has registered."""
    monkeypatch.setattr(picture, "_PAINTERS", {})
    monkeypatch.setattr(picture, "_MODULES", [])
    register_charts(Line, {"plain": lambda line, kind: f"plain {kind}".encode(), "bold": lambda *_: b"bold"})


def test_the_first_chart_is_drawn_unless_another_is_named(tmp_path):
    """A file's ending, in any case, says the format; a result of a derived kind is drawn as its base is."""
    assert Line().draw(tmp_path / "line.SVG").read_bytes() == b"plain svg"
    assert Dashed().draw(tmp_path / "line.png").read_bytes() == b"plain png"
    assert Line().picture(chart="bold") == b"bold"


def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(tmp_path):
    """Another format, and a chart there is none of, are errors by name."""
    with refuses(InputError, "picture-format"):
        Line().draw(tmp_path / "line.pdf")
    with refuses(InputError, "chart-unknown"):
        Line().draw(tmp_path / "line.svg", "dotted")
    assert list(tmp_path.iterdir()) == []


def test_a_private_picture_is_its_owners_alone(tmp_path):
    """Also in the place of a picture that all could see; one that is not private is not touched so."""
    for kind, mode in ((Line, 0o644), (Hidden, 0o600)):
        place = tmp_path / "line.svg"
        place.write_bytes(b"")
        place.chmod(0o644)
        kind().draw(place)
        assert place.stat().st_mode & 0o777 == mode


def test_modules_of_charts_are_imported_when_a_picture_is_wanted(tmp_path, monkeypatch):
    """A module that registers charts is imported with the first picture, and not before."""
    (tmp_path / "late_charts.py").write_text(
        "from diurnal.picture import register_charts\n"
        "from diurnal.private import Private\n"
        "register_charts(Private, {'late': lambda *_: b'late'})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    register_chart_modules("late_charts")
    assert list(picture._PAINTERS) == [Line]
    Line().picture()
    assert list(picture._PAINTERS) == [Line, Private]


def test_a_notebook_shows_the_table_and_the_picture_or_the_table_alone():
    """What a table says is no markup; where there is no picture, the table is there all the same."""
    table = "<pre>1 &lt; 2</pre>"
    assert Line()._repr_html_() == (
        f'{table}<img src="data:image/svg+xml;base64,{base64.b64encode(b"plain svg").decode()}" alt="Line">'
    )

    def fails(*_):
        raise InputError("picture-format", given="svg")

    register_charts(Line, {"plain": fails})
    assert Line()._repr_html_() == table
