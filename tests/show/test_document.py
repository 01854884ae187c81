"""Pages as Markdown and as one HTML file."""

import json
import stat

from diurnal.errors import InputError
from diurnal.show import document
from diurnal.show.document import Heading, Items, Picture, Table, Text
from support import refuses

PAGE = [
    Heading(text="A study", level=1),
    Text(text="One * two | three."),
    Items(texts=["first", "second"]),
    Table(head=["rival", "error"], rows=[["cube", "0.12 ± 0.01"], ["none", "-4.4e7"], ["split", "refused"]]),
    Picture(name="overview", caption="All of them"),
]


def test_markdown_takes_no_word_for_a_mark():
    """Bars and stars of words are escaped, and a picture is named beside the page."""
    said = document.markdown(PAGE)
    assert "One \\* two \\| three." in said
    assert "![All of them](figures/overview.svg)" in said
    assert "| cube | 0.12 ± 0.01 |" in said


def test_a_column_of_numbers_is_known():
    """A column most of whose cells are numbers is marked as such in HTML, and no other."""
    said = document.html(PAGE, {"overview": b"<svg/>"}, title="A study")
    assert '<th>rival</th><th class="n">error</th>' in said
    assert '<td>split</td><td class="n">refused</td>' in said


def test_what_shows_the_truth_is_its_owners_alone(tmp_path):
    """All files of a private page, its numbers and figures too, can be read by their owner only."""
    files = document.write(tmp_path, "study", PAGE, {"overview": b"<svg/>"}, {"homes": 3}, private=True)
    assert {path.name for path in files} == {"study.md", "study.html", "numbers.json", "overview.svg"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert json.loads((tmp_path / "numbers.json").read_text()) == {"homes": 3}


def test_a_folder_is_looked_at_without_a_trace(tmp_path):
    """Where a page can be written nothing is left behind by asking; a file in its place is refused."""
    document.ready(tmp_path / "new" / "page")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "taken").write_text("mine")
    with refuses(InputError, "output-is-file"):
        document.ready(tmp_path / "taken" / "page")
