"""What readings may come from: files, globs, folders, partitions, frames, databases."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from support import refuses

START = datetime(2012, 7, 1)
TIMES = [START + timedelta(minutes=30 * i) for i in range(48)]
ROWS = [(home, time, 0.001 * (100 * h + i)) for h, home in enumerate("ab") for i, time in enumerate(TIMES)]
EXPECTED = np.array([[i, 100 + i] for i in range(48)])


def table():
    columns = zip(*ROWS, strict=True)
    return pa.table(dict(zip(["household", "time", "kwh"], map(list, columns), strict=True)))


def check(panel):
    assert panel.households == ("a", "b")
    np.testing.assert_array_equal(panel.readings, EXPECTED)
    assert panel.quality.rows == panel.quality.kept == 96


FRAMES = {
    "pyarrow": table,
    "pyarrow reader": lambda: table().to_reader(max_chunksize=7),
    "pandas": lambda: table().to_pandas(),
    "polars": lambda: pl.from_arrow(table()),
    "duckdb": lambda: duckdb.from_arrow(table()),
    "decimals": lambda: table().set_column(2, "kwh", table()["kwh"].cast(pa.decimal128(9, 3))),
    "large strings": lambda: table().set_column(0, "household", table()["household"].cast(pa.large_string())),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_any_frame_with_an_arrow_stream(kind):
    """pandas, Polars, PyArrow and DuckDB frames give the same panel, without an adapter for any of them."""
    check(dn.panel(dn.read(FRAMES[kind]()), zone="UTC"))


def test_pandas_gaps_are_gaps():
    """NaN in a frame's float column is a gap or counted as no number, never a reading."""
    frame = table().to_pandas()
    frame.loc[3, "kwh"] = np.nan
    panel = dn.panel(dn.read(frame), zone="UTC")
    assert not panel.present[3, 0]
    assert panel.quality.kept == 95
    assert sum(panel.quality.set_aside.values()) == 1


def test_a_wide_frame():
    """A frame with a time column and a column a meter is a wide source; whole and broken numbers may mix."""
    frame = pd.DataFrame({"time": pd.date_range(START, periods=48, freq="30min"), "b": range(100, 148), "a": 0.5})
    panel = dn.panel(dn.read(frame, unit="Wh"), zone="UTC")
    assert panel.households == ("a", "b")
    assert panel.readings[:, 1].tolist() == list(range(100, 148))
    assert panel.readings[:, 0].tolist() == [0] * 48


def test_a_query_on_sqlite(tmp_path):
    """The rows of a query on a SQLite database are a source; times there are text."""
    path = tmp_path / "meters.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table r (home text, at text, kwh real)")
        connection.executemany("insert into r values (?, ?, ?)", [(h, t.isoformat(" "), v) for h, t, v in ROWS])
    connection.close()
    sql = "select home as household, at as time, kwh from r where kwh is not null"
    check(dn.panel(dn.read(sql, database=f"sqlite:///{path}"), zone="UTC"))


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
    check(dn.panel(dn.read("select * from r", database=postgres), zone="UTC"))


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
    rows = table()
    pq.write_table(rows.slice(0, 48), folder / "one.parquet")
    pq.write_table(rows.slice(48), folder / "two.parquet")


def test_files_folders_and_globs(tmp_path):
    """A list of files, a folder and a glob are the same source."""
    write_files(tmp_path)
    sources = [[tmp_path / "one.parquet", tmp_path / "two.parquet"], tmp_path, str(tmp_path / "*.parquet")]
    for source in sources:
        check(dn.panel(dn.read(source), zone="UTC"))


def test_hive_partitions(tmp_path):
    """Columns that folders name, `suburb=Hill`, are columns: groups, or households."""
    rows = table()
    for i, suburb in enumerate(("Hill", "Lake")):
        folder = tmp_path / f"suburb={suburb}" / "month=7"
        folder.mkdir(parents=True)
        pq.write_table(rows.slice(48 * i, 48), folder / "part-0.parquet")
    panel = dn.panel(dn.read(tmp_path, groups=["suburb"]), zone="UTC")
    check(panel)
    assert panel.groups == {"suburb": ("Hill", "Lake")}


def test_any_column_names(tmp_path):
    """Columns of any name are taken as the user says, with their unit, separator and time format."""
    path = tmp_path / "strange.csv"
    lines = ["wann;wer;wieviel", *(f"{t:%d.%m.%Y %H:%M};{h};{round(v * 1000)}" for h, t, v in ROWS)]
    path.write_text("\n".join(lines))
    homes = dn.read(
        path,
        format="long",
        household="wer",
        time="wann",
        value="wieviel",
        unit="Wh",
        time_format="%d.%m.%Y %H:%M",
        minutes=30,
    )
    check(dn.panel(homes, zone="UTC"))


def test_auto_says_what_it_saw(tmp_path):
    """A recognised source says which format it is and by what, in `str` and in the account of the import."""
    write_files(tmp_path)
    homes = dn.read(tmp_path / "one.parquet")
    assert str(homes) == "one.parquet: format long (columns household, time, kwh)"
    assert str(homes) in dn.panel(homes, zone="UTC").quality.notes


def test_a_unit_must_be_known():
    """A value column whose name has no unit is refused until the user says it."""
    rows = table().rename_columns(["household", "time", "value"])
    with refuses(ReadingsError, "column-unit-unclear"):
        dn.read(rows)
    check(dn.panel(dn.read(rows, unit="kWh"), zone="UTC"))


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
    check(dn.panel(dn.read(path, format=Retailer()), zone="UTC"))
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
        (table(), {"format": "xml"}, "one of ausgrid"),
        (table(), {"format": "long", "color": "red"}, "has no option 'color'"),
        (table(), {"color": "red"}, "No format has the option"),
        (table(), {"value": "volts"}, "The column 'volts' is missing"),
        (table().drop_columns(["time"]), {"format": "long"}, "The time column could not be identified"),
        (table(), {"format": "ausgrid"}, None),
        (table(), {"unit": "J"}, "one of MWh"),
        (table(), {"minutes": 0}, "between 1 and 1440"),
        (table(), {"label": "middle"}, "'start' or 'end'"),
        (table().set_column(1, "time", pa.array(range(96))), {}, "column time: Expected a date and time"),
        (table().set_column(2, "kwh", pa.array([True] * 96)), {}, "column value: Expected a number, got bool"),
        (table().set_column(0, "household", pa.nulls(96, pa.string())), {}, "column meter: Expected a name"),
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


def test_a_column_may_be_household_and_group():
    """A household column may serve as a partition too."""
    panel = dn.panel(dn.read(table(), household="household", groups=["household"]), zone="UTC")
    assert panel.groups == {"household": ("a", "b")}


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (pa.float64(), "Expected names as text, got double"),
        (pa.binary(), "Expected names as text, got binary"),
    ],
)
def test_names_are_text_or_whole_numbers(kind, match):
    """Meters named by floats or bytes are refused: 1.0 and 1 would be two households. Whole numbers are names."""
    column = pa.array([1.0, 2.0] * 48) if kind == pa.float64() else pa.array([b"a", b"b"] * 48)
    rows = table().set_column(0, "household", column)
    with pytest.raises(ReadingsError, match=match):
        dn.panel(dn.read(rows), zone="UTC")
    rows = table().set_column(0, "household", pa.array([1] * 48 + [2] * 48))
    assert dn.panel(dn.read(rows), zone="UTC").households == ("1", "2")


def test_two_columns_of_one_name_in_a_frame():
    """A frame with two columns of one name is refused."""
    rows = pa.table([*table().columns, table()["kwh"]], ["a", "time", "kwh", "kwh"])
    with refuses(ReadingsError, "columns-repeated"):
        dn.read(rows, household="a")


def test_a_pandas_index_is_no_household(tmp_path):
    """The index of a frame is not a meter; a named one that speaks of time is the time."""
    frame = pd.DataFrame({"time": TIMES, "17": 0.5, "18": 0.25})
    panel = dn.panel(dn.read(frame.sample(frac=1, random_state=1)), zone="UTC")
    assert panel.households == ("17", "18")
    panel = dn.panel(dn.read(frame.set_index("time")), zone="UTC")
    assert panel.households == ("17", "18")
    assert panel.quality.kept == 96


def test_what_folders_say_is_no_household(tmp_path):
    """In a wide Parquet file in `month=7`, the month is no meter."""
    folder = tmp_path / "month=7"
    folder.mkdir()
    pq.write_table(pa.table({"time": TIMES, "17": [0.5] * 48}), folder / "wide.parquet")
    assert dn.panel(dn.read(tmp_path), zone="UTC").households == ("17",)


def test_a_frame_can_be_read_again_and_a_stream_cannot():
    """Two panels can be made of one frame; a stream that is gone is said to be gone."""
    homes = dn.read(table())
    for _ in range(2):
        check(dn.panel(homes, zone="UTC"))
    homes = dn.read(table().to_reader())
    check(dn.panel(homes, zone="UTC"))
    with refuses(ReadingsError, "stream-read-before"):
        dn.panel(homes, zone="UTC")


def test_a_label_that_is_said_is_kept():
    """A column called `period_end` holds ends, unless the user says that it holds starts."""
    rows = table().rename_columns(["household", "period_end", "kwh"])
    homes = dn.read(rows, time="period_end")
    assert homes.format.label == "end"
    check(dn.panel(dn.read(rows, time="period_end", label="start"), zone="UTC"))


def test_a_database_that_is_not_there(tmp_path):
    """A SQLite file that does not exist is an error, and is not made."""
    with refuses(ReadingsError, "database-file-missing"):
        dn.read("select 1", database=f"sqlite:///{tmp_path / 'typo.db'}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.string()])
def test_numbers_as_text_in_a_frame(kind):
    """Values that are text, of any kind Arrow has, are read as numbers; blanks are gaps."""
    texts = pa.array([f" {value:.3f}" for _, _, value in ROWS]).cast(kind)
    check(dn.panel(dn.read(table().set_column(2, "kwh", texts)), zone="UTC"))


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
    panel = dn.panel(dn.read(table()), zone="UTC", groups=groups, tenancies=tenancies)
    assert panel.groups == {"suburb": ("Hill", "Lake")}
    assert panel.quality.tenancy_changes == 1
    with refuses(ReadingsError, "groups-not-mapping"):
        dn.panel(dn.read(table()), zone="UTC", groups={"a": "Hill"})


def test_wide_memory_goes_by_cells(tmp_path, monkeypatch):
    """Wide tables are read so many values at a time, not so many rows."""
    from diurnal.readings import source

    monkeypatch.setattr(source, "BATCH_CELLS", 100)
    rows = pa.table({"time": TIMES, **{f"m{i}": [0.001 * i] * 48 for i in range(9)}})
    pq.write_table(rows, tmp_path / "wide.parquet")
    sizes = [part.columns.num_rows for part in dn.read(tmp_path).parts[0].tables(rows.column_names)]
    assert max(sizes) == 10
    assert dn.panel(dn.read(tmp_path), zone="UTC").readings[5].tolist() == list(range(9))


def test_a_wide_column_that_is_no_number():
    """In a wide frame, a column of lists is named as what is no meter."""
    rows = pa.table({"time": TIMES, "17": [0.5] * 48, "tags": [[1, 2]] * 48})
    with refuses(ReadingsError, "wide-not-numbers"):
        dn.panel(dn.read(rows), zone="UTC")


def test_a_stream_that_failed_once_is_not_read_on():
    """After an import that failed half-way, a stream is refused, not read from where it stopped."""
    names = ["a"] * 5 + [""] + ["a"] * 42 + ["b"] * 48
    homes = dn.read(table().set_column(0, "household", pa.array(names)).to_reader(max_chunksize=4))
    with pytest.raises(ReadingsError, match="row 6"):
        dn.panel(homes, zone="UTC")
    with refuses(ReadingsError, "stream-read-before"):
        dn.panel(homes, zone="UTC")


def test_a_kept_panel_is_opened_not_imported(tmp_path):
    """A kept panel given to `read` is recognised as one."""
    dn.panel(dn.read(table()), zone="UTC", out=tmp_path / "panel.parquet")
    with refuses(ReadingsError, "panel-already-kept"):
        dn.read(tmp_path / "panel.parquet")


def test_reading_a_frame_leaves_its_database_free():
    """A DuckDB relation that was read blocks nothing."""
    with duckdb.connect() as connection:
        connection.execute("create table r as select 'a' as household, timestamp '2012-07-01' as time, 0.5 as kwh")
        homes = dn.read(connection.sql("select * from r"))
        connection.execute("insert into r values ('a', timestamp '2012-07-01 00:30', 0.25)")
        assert dn.panel(homes, zone="UTC", interval="30min").quality.rows == 2
