"""Odd things that were given, and what is said of them."""

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.errors import InputError, ReadingsError
from diurnal.show.rows import csv_text
from diurnal.study.town import Town
from support import refuses


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


def test_a_zone_without_end_is_no_zone():
    """A time zone whose name no file can have is refused as any other that there is none of."""
    with refuses(ReadingsError, "grid-zone"):
        dn.Grid(zone="A" * 1000)


def test_facts_nested_without_end_are_a_damaged_panel(tmp_path):
    """A Parquet file whose facts are nested deeper than can be read is no panel."""
    table = pa.table({"value": [1]}).replace_schema_metadata({"diurnal": "[" * 200_000})
    pq.write_table(table, tmp_path / "deep.parquet")
    with refuses(ReadingsError, "parquet-damaged"):
        dn.open_panel(tmp_path / "deep.parquet")
