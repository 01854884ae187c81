"""Odd readings that were given, and what is said of them."""

import pyarrow as pa
import pyarrow.parquet as pq

import diurnal as dn
from diurnal.errors import ReadingsError
from support import refuses


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
