"""What readings may come from: files, globs, folders, partitions, frames, databases."""

import sqlite3
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from halfhours import ROWS, START, TIMES, are_two_homes, two_homes
from support import refuses

FRAMES = {
    "pyarrow": two_homes,
    "pyarrow reader": lambda: two_homes().to_reader(max_chunksize=7),
    "pandas": lambda: two_homes().to_pandas(),
    "polars": lambda: pl.from_arrow(two_homes()),
    "duckdb": lambda: duckdb.from_arrow(two_homes()),
    "decimals": lambda: two_homes().set_column(2, "kwh", two_homes()["kwh"].cast(pa.decimal128(9, 3))),
    "large strings": lambda: two_homes().set_column(
        0, "household", two_homes()["household"].cast(pa.large_string())
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_any_frame_with_an_arrow_stream(kind):
    """pandas, Polars, PyArrow and DuckDB frames give the same panel, without an adapter for any of them."""
    are_two_homes(dn.panel(dn.read(FRAMES[kind]()), zone="UTC"))


def test_pandas_gaps_are_gaps():
    """NaN in a frame's float column is a gap or counted as no number, never a reading."""
    frame = two_homes().to_pandas()
    frame.loc[3, "kwh"] = np.nan
    panel = dn.panel(dn.read(frame), zone="UTC")
    assert not panel.present[3, 0]
    assert panel.quality.kept == 95
    assert sum(panel.quality.set_aside.values()) == 1


def test_a_query_on_sqlite(tmp_path):
    """The rows of a query on a SQLite database are a source; times there are text."""
    path = tmp_path / "meters.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table r (home text, at text, kwh real)")
        connection.executemany("insert into r values (?, ?, ?)", [(h, t.isoformat(" "), v) for h, t, v in ROWS])
    connection.close()
    sql = "select home as household, at as time, kwh from r where kwh is not null"
    are_two_homes(dn.panel(dn.read(sql, database=f"sqlite:///{path}"), zone="UTC"))


@pytest.fixture(scope="module")
def postgres(postgres):
    """A database of a real PostgreSQL with the rows in a table."""
    address = postgres()
    with psycopg.connect(address.replace("+psycopg", "")) as connection:
        connection.execute("create table r (household text, time timestamptz, kwh numeric(9,3))")
        connection.cursor().executemany(
            "insert into r values (%s, %s, %s)", [(h, t.isoformat() + "+00:00", round(v, 3)) for h, t, v in ROWS]
        )
    return address


def test_a_query_on_postgresql(postgres):
    """The rows of a query on a real PostgreSQL are a source: numeric values and times with offsets."""
    are_two_homes(dn.panel(dn.read("select * from r", database=postgres), zone="UTC"))


@pytest.mark.parametrize("sql", ["select * from nowhere", "selekt", "select 1/0 as household"])
def test_a_query_that_fails(postgres, sql):
    """A query that the database refuses is an error without the database's own words or address."""
    with refuses(ReadingsError, "database-refused") as error:
        dn.panel(dn.read(sql, database=postgres), zone="UTC")
    assert "nowhere" not in str(error.value)
    assert postgres not in repr(error.value)


def test_an_unknown_database():
    """An address of no known kind is an error that says which kinds there are."""
    with refuses(ReadingsError, "database-url"):
        dn.read("select 1", database="oracle9i://x/y")
    with refuses(ReadingsError, "database-url"):
        dn.read("select 1", database="not an address")


def write_files(folder):
    rows = two_homes()
    pq.write_table(rows.slice(0, 48), folder / "one.parquet")
    pq.write_table(rows.slice(48), folder / "two.parquet")


def test_files_folders_and_globs(tmp_path):
    """A list of files, a folder and a glob are the same source."""
    write_files(tmp_path)
    sources = [[tmp_path / "one.parquet", tmp_path / "two.parquet"], tmp_path, str(tmp_path / "*.parquet")]
    for source in sources:
        are_two_homes(dn.panel(dn.read(source), zone="UTC"))


def test_hive_partitions(tmp_path):
    """Columns that folders name, `suburb=Hill`, are columns: groups, or households."""
    rows = two_homes()
    for i, suburb in enumerate(("Hill", "Lake")):
        folder = tmp_path / f"suburb={suburb}" / "month=7"
        folder.mkdir(parents=True)
        pq.write_table(rows.slice(48 * i, 48), folder / "part-0.parquet")
    panel = dn.panel(dn.read(tmp_path, groups=["suburb"]), zone="UTC")
    are_two_homes(panel)
    assert panel.groups == {"suburb": ("Hill", "Lake")}


def test_auto_says_what_it_saw(tmp_path):
    """A recognised source says which format it is and by what, in `str` and in the account of the import."""
    write_files(tmp_path)
    homes = dn.read(tmp_path / "one.parquet")
    assert str(homes) == "one.parquet: format long (columns household, time, kwh)"
    assert str(homes) in dn.panel(homes, zone="UTC").quality.notes


@dataclass(frozen=True, kw_only=True)
class Retailer(dn.Format):
    """Semicolons and a decimal comma."""

    name: ClassVar[str] = "retailer"
    minutes: int | None = 30

    def read(self, part):
        for number, line in part.lines():
            meter, time, value = line.split(";")
            yield dn.Rows(meter=meter, time=[time], value=[value.replace(",", ".")], line=number)


def test_a_format_of_ones_own(tmp_path):
    """A layout of one's own is a class with a reader; values, times and errors are the house's."""
    path = tmp_path / "retailer.txt"
    path.write_text("\n".join(f"{h};{t};{v:.3f}".replace(".", ",") for h, t, v in ROWS))
    are_two_homes(dn.panel(dn.read(path, format=Retailer()), zone="UTC"))
    path.write_text("a;2012-07-01 00:00;0,1\na;2012-07-01 00:30;O,2\n")
    with pytest.raises(ReadingsError, match=r"retailer.txt, line 2: column value: Expected a number, got text"):
        dn.panel(dn.read(path, format=Retailer()), zone="UTC")
    with refuses(ReadingsError, "format-no-writer"):
        dn.write(dn.Panel.from_array([[1]]), path, format=Retailer())


@pytest.mark.parametrize(
    ("source", "options", "match"),
    [
        ("nowhere/*.csv", {}, "No file was found"),
        (42, {}, "Expected a path"),
        ([], {}, "Expected a path"),
        (two_homes(), {"format": "xml"}, "one of ausgrid"),
        (two_homes(), {"format": "long", "color": "red"}, "has no option 'color'"),
        (two_homes(), {"color": "red"}, "No format has the option"),
        (two_homes(), {"value": "volts"}, "The column 'volts' is missing"),
        (two_homes().drop_columns(["time"]), {"format": "long"}, "The time column could not be identified"),
        (two_homes(), {"format": "ausgrid"}, None),
        (two_homes(), {"unit": "J"}, "one of MWh"),
        (two_homes(), {"minutes": 0}, "between 1 and 1440"),
        (two_homes(), {"label": "middle"}, "'start' or 'end'"),
        (two_homes().set_column(1, "time", pa.array(range(96))), {}, "column time: Expected a date and time"),
        (two_homes().set_column(2, "kwh", pa.array([True] * 96)), {}, "column value: Expected a number, got bool"),
        (two_homes().set_column(0, "household", pa.nulls(96, pa.string())), {}, "column meter: Expected a name"),
    ],
)
def test_mistakes_in_sources(source, options, match):
    """A source or option that makes no sense is an error that says what would."""
    with pytest.raises(ReadingsError, match=match):
        dn.panel(dn.read(source, **options), zone="UTC")


def test_a_broken_parquet_file(tmp_path):
    """A Parquet file that was cut short is an error that names it."""
    write_files(tmp_path)
    path = tmp_path / "one.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    with refuses(ReadingsError, "part-not-parquet"):
        dn.panel(dn.read(path), zone="UTC")


def test_two_columns_of_one_name_in_a_frame():
    """A frame with two columns of one name is refused."""
    rows = pa.table([*two_homes().columns, two_homes()["kwh"]], ["a", "time", "kwh", "kwh"])
    with refuses(ReadingsError, "columns-repeated"):
        dn.read(rows, household="a")


def test_a_frame_can_be_read_again_and_a_stream_cannot():
    """Two panels can be made of one frame; a stream that is gone is said to be gone."""
    homes = dn.read(two_homes())
    for _ in range(2):
        are_two_homes(dn.panel(homes, zone="UTC"))
    homes = dn.read(two_homes().to_reader())
    are_two_homes(dn.panel(homes, zone="UTC"))
    with refuses(ReadingsError, "stream-read-before"):
        dn.panel(homes, zone="UTC")


def test_a_database_that_is_not_there(tmp_path):
    """A SQLite file that does not exist is an error, and is not made."""
    with refuses(ReadingsError, "database-file-missing"):
        dn.read("select 1", database=f"sqlite:///{tmp_path / 'typo.db'}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.string()])
def test_numbers_as_text_in_a_frame(kind):
    """Values that are text, of any kind Arrow has, are read as numbers; blanks are gaps."""
    texts = pa.array([f" {value:.3f}" for _, _, value in ROWS]).cast(kind)
    are_two_homes(dn.panel(dn.read(two_homes().set_column(2, "kwh", texts)), zone="UTC"))


def test_a_column_of_dates():
    """Dates without a time are midnights."""
    days = [START.date() + timedelta(days=i) for i in range(4)]
    rows = pa.table({"meter": ["a"] * 4, "time": pa.array(days, pa.date32()), "kwh": [24.0] * 4})
    panel = dn.panel(dn.read(rows), zone="UTC", interval="1d", period="7d")
    assert panel.readings[:, 0].tolist() == [24_000] * 4


def test_nulls_inside_a_dictionary():
    """A null household is found whether it is missing in the column or in its dictionary."""
    for indices, names in (([0, None], ["a"]), ([0, 1], ["a", None])):
        column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(names, pa.string()))
        rows = pa.table({"household": column, "time": TIMES[:2], "kwh": [0.1, 0.2]})
        with pytest.raises(ReadingsError, match="row 2: column meter: Expected a name, got a blank"):
            dn.panel(dn.read(rows), zone="UTC")


def test_names_of_several_lines(tmp_path):
    """A stray quote that swallows lines into a name is an error, not a household."""
    path = tmp_path / "quotes.csv"
    path.write_text('household,time,kwh\na,2012-07-01 00:00,1\n"b,2012-07-01 00:30,1\nc",2012-07-01 01:00,1\n')
    with refuses(ReadingsError, "name-too-long"):
        dn.panel(path, zone="UTC")


def test_lists_may_be_frames():
    """Meters, groups and tenancies may be frames as well as files."""
    groups = pd.DataFrame({"household": ["a", "b"], "suburb": ["Hill", "Lake"]})
    tenancies = pl.DataFrame({"household": ["a"], "from": ["2012-07-01 12:00"]})
    panel = dn.panel(dn.read(two_homes()), zone="UTC", groups=groups, tenancies=tenancies)
    assert panel.groups == {"suburb": ("Hill", "Lake")}
    assert panel.quality.tenancy_changes == 1
    with refuses(ReadingsError, "groups-not-mapping"):
        dn.panel(dn.read(two_homes()), zone="UTC", groups={"a": "Hill"})


def test_a_stream_that_failed_once_is_not_read_on():
    """After an import that failed half-way, a stream is refused, not read from where it stopped."""
    names = ["a"] * 5 + [""] + ["a"] * 42 + ["b"] * 48
    homes = dn.read(two_homes().set_column(0, "household", pa.array(names)).to_reader(max_chunksize=4))
    with pytest.raises(ReadingsError, match="row 6"):
        dn.panel(homes, zone="UTC")
    with refuses(ReadingsError, "stream-read-before"):
        dn.panel(homes, zone="UTC")


def test_a_kept_panel_is_opened_not_imported(tmp_path):
    """A kept panel given to `read` is recognised as one."""
    dn.panel(dn.read(two_homes()), zone="UTC", out=tmp_path / "panel.parquet")
    with refuses(ReadingsError, "panel-already-kept"):
        dn.read(tmp_path / "panel.parquet")


def test_reading_a_frame_leaves_its_database_free():
    """A DuckDB relation that was read blocks nothing."""
    with duckdb.connect() as connection:
        connection.execute("create table r as select 'a' as household, timestamp '2012-07-01' as time, 0.5 as kwh")
        homes = dn.read(connection.sql("select * from r"))
        connection.execute("insert into r values ('a', timestamp '2012-07-01 00:30', 0.25)")
        assert dn.panel(homes, zone="UTC", interval="30min").quality.rows == 2
