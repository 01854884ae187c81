"""A column of released rows is defined once, and every format, answer, page and table has it."""

import csv
import io
import json
import pathlib
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import support
from diurnal import Curator
from diurnal.curator.release import COLUMNS
from diurnal.errors import InputError
from diurnal.show.cli.streams import _rows_table
from diurnal.show.export import export
from diurnal.show.page.content import collected
from diurnal.show.rows import SHOWN, arrow_bytes, csv_text, shown_table
from diurnal.show.web.models import answers
from diurnal.study.town import Town
from support import refuses

NAMES = [column.name for column in COLUMNS]
DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def reported():
    """A stream that has reported, with its curator."""
    curator, panel = Curator.in_memory(support.ROOMY), support.town()
    plan = support.plan_for(panel, level="pattern", mechanism="laplace")
    stream = curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)
    stream.report(panel.after(plan.history))
    return curator, stream


def test_files_have_every_column(reported, tmp_path):
    """CSV, lines of JSON, Parquet and Arrow have the columns in order, each of its kind."""
    for ending in ("csv", "jsonl", "parquet"):
        export(*reported, tmp_path / f"rows.{ending}")
    assert next(csv.reader((tmp_path / "rows.csv").read_text().splitlines())) == NAMES
    row = json.loads((tmp_path / "rows.jsonl").read_text().splitlines()[0])
    assert {name: type(value) for name, value in row.items()} == {each.name: each.kind for each in COLUMNS}
    for schema in (
        pq.read_schema(tmp_path / "rows.parquet"),
        pa.ipc.open_stream(arrow_bytes(reported[1].rows())).schema,
    ):
        assert schema.names == NAMES
        assert [pa.types.is_int64(kind) for kind in schema.types] == [each.kind is int for each in COLUMNS]


def test_the_service_describes_every_column():
    """The description has each with its words and an example, in JSON, in CSV and in events."""
    told = answers.Row.model_json_schema()
    assert {name: about["description"] for name, about in told["properties"].items()} == {
        each.name: each.description for each in COLUMNS
    }
    assert told["required"] == list(answers.ROW) == NAMES
    assert answers.LINES.splitlines()[0].split(",") == NAMES
    assert json.dumps(answers.ROW) in answers.EVENTS


def test_a_page_can_write_every_column(reported):
    """A page's script makes a column again, or the page has every value of it."""
    _, content = collected(*reported, None)
    series, rows = content["data"]["series"], reported[1].rows()
    assert series["columns"] == NAMES
    script = (pathlib.Path(answers.__file__).parents[2] / "page" / "static" / "page.js").read_text()
    made = set(re.findall(r"(\w+)[:,}]", re.search(r"const cells = \{ (.*?\}); *$", script, flags=re.M)[1] + ","))
    for name in NAMES:
        told = name in series["more"]
        assert told or name in made
        assert not told or series["more"][name][0] == [getattr(row, name) for row in rows]


def test_tables_for_people_have_the_columns_with_headings(reported):
    """The page, the service's page and the terminal show the same columns; the terminal has the unit besides."""
    rows = reported[1].rows()
    shown = shown_table(rows, "Wh")
    assert shown["columns"] == [each.name for each in SHOWN] == [each.name for each in COLUMNS if each.heading]
    assert shown["lines"][0] == [getattr(rows[0], name) for name in shown["columns"]]
    assert [column.header for column in _rows_table(rows).columns] == [*shown["columns"], "unit"]


def test_the_docs_list_every_column():
    """The table in the docs is the columns, in order, with their words."""
    table = re.search(r"## The columns of a row\n.*?\n\n(\|.*?)\n\n", (DOCS / "versions.md").read_text(), re.S)[1]
    listed = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
    kinds = {int: "integer", str: "text"}
    assert listed == [[f"`{each.name}`", kinds[each.kind], each.description] for each in COLUMNS]


@pytest.fixture(scope="module")
def stream():
    """A stream by groups, of which one has a formula for a name."""
    town = Town(homes=30, days=12, gap_rate=0).panel()
    names = ["=HYPERLINK(1)"] * 15 + ["Hill"] * 15
    panel = dn.Panel.from_array(town.readings, grid=town.grid, groups={"suburb": names})
    plan = dn.Plan(epsilon="1", domain=(0, 50000), history=10, grid=panel.grid, groups="suburb")
    made = dn.Curator.in_memory().start(plan, history=panel.first(10), acknowledge="untested", accept_worse=True)
    made.report(panel.after(10))
    return made


def test_no_group_is_a_formula_in_a_spreadsheet(stream):
    """In CSV a group's name that begins as a formula does has an apostrophe before it; values stay as they are."""
    rows = stream.rows()
    found = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert {row["group"] for row in found} == {"'=HYPERLINK(1)", "Hill"}
    assert [row["value"] for row in found] == [str(row.value) for row in rows]


def test_rows_of_a_date_are_refused_in_a_sentence(stream):
    """Rows are asked for by step: a date is refused, and no bare TypeError."""
    for asked in (("2013-04-02",), (0, "2013-04-02")):
        with refuses(InputError, "argument-not-whole"):
            stream.rows(*asked)
