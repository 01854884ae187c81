"""Bad files: a clear error or a counted rejection, naming file and line, and nothing left behind."""

import gzip
import itertools

import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings import quality
from diurnal.readings.formats.ausgrid import COLUMNS, HALF_HOURS
from support import refuses

SECRET = "7.654321"
"""A value that no error may show."""


def ausgrid_rows(*rows):
    """An Ausgrid file of rows (customer, category, date, values)."""
    lines = ["A title" + "," * 52, ",".join([*COLUMNS, *HALF_HOURS])]
    lines += [",".join([customer, "", "", category, date, *values]) for customer, category, date, values in rows]
    return "\n".join(lines) + "\n"


def day(value=SECRET, n=48):
    return [value] * n


GOOD_DAYS = [("1", "GC", f"{i}/07/2012", day()) for i in (1, 2)]


def long_rows(*rows, header="household,time,kwh"):
    return "\n".join([header, *rows]) + "\n"


GOOD = [f"a,2012-07-01 {i // 2:02d}:{i % 2 * 30:02d},{SECRET}" for i in range(48)]

ERRORS = {
    "47 values": (
        ausgrid_rows(*GOOD_DAYS, ("1", "GC", "3/07/2012", day(n=47))),
        "line 5: Expected 53 fields, got 52",
    ),
    "a date that does not exist": (
        ausgrid_rows(*GOOD_DAYS, ("1", "GC", "31/02/2012", day())),
        "line 5: column date: Expected a date that exists",
    ),
    "a thousands separator": (
        ausgrid_rows(*GOOD_DAYS, ("1", "GC", "3/07/2012", ['"1,234.5"', *day(n=47)])),
        "line 5: column value: Expected a number",
    ),
    "a bare thousands separator": (
        long_rows(*GOOD, "a,2012-07-02 00:00,1,234.5"),
        "line 50: Expected 3 fields, got 4",
    ),
    "a quoted thousands separator": (
        long_rows(*GOOD, 'a,2012-07-02 00:00,"1,234.5"'),
        "line 50: column value: Expected a number, got text",
    ),
    "a blank customer": (
        ausgrid_rows(*GOOD_DAYS, (" ", "GC", "3/07/2012", day())),
        "line 5: column meter: Expected a name, got a blank",
    ),
    "a blank meter": (long_rows(*GOOD, f",2012-07-02 00:00,{SECRET}"), "line 50: column meter: Expected a name"),
    "an unknown category": (
        ausgrid_rows(*GOOD_DAYS, ("1", "XX", "3/07/2012", day())),
        "line 5: column Consumption Category",
    ),
    "a header only": (ausgrid_rows(), "The source has no rows"),
    "a long header only": (long_rows(), "The source has no rows"),
    "no such time": (long_rows(*GOOD, f"a,2012-02-30 00:00,{SECRET}"), "line 50: column time: Expected a date"),
    "a blank time": (long_rows(*GOOD, f"a,,{SECRET}"), "line 50: column time"),
    "offsets on some times only": (
        long_rows(*GOOD, f"a,2012-07-02 00:00+10:00,{SECRET}"),
        "line 50: column time|Expected all times with an offset",
    ),
    "a text for a number": (long_rows(*GOOD, "a,2012-07-02 00:00,n/a"), "line 50: column value: Expected a number"),
    "two columns of one name": ("household,time,kwh,kwh\n", "two columns with the same name"),
    "no format at all": ("some\nprose\n", "Expected one of the known formats"),
    "only a newline": ("\n", "Expected one of the known formats"),
}


def import_(path, tmp_path, **options):
    out = tmp_path / "out"
    out.mkdir()
    try:
        return dn.panel(dn.read(path, **options), zone="Australia/Sydney", out=out / "panel.parquet"), out
    except ReadingsError:
        assert list(out.iterdir()) == [], "an import that failed left something behind"
        raise


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_bad_file_is_an_error_with_its_line(tmp_path, case, zipped):
    """What cannot be read is an error that names the file and line, shows no value and leaves nothing."""
    text, match = ERRORS[case]
    path = tmp_path / ("bad.csv.gz" if zipped else "bad.csv")
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    with pytest.raises(ReadingsError, match=match) as error:
        import_(path, tmp_path)
    assert path.name in str(error.value)
    assert SECRET not in str(error.value)
    assert "Hint: " in str(error.value)


def test_the_whole_traceback_shows_no_value(tmp_path):
    """Neither the error nor what it was raised from shows the row that was wrong."""
    path = tmp_path / "bad.csv"
    path.write_text(long_rows(*GOOD, f"a,2012-07-02 00:00,{SECRET},1"))
    with pytest.raises(ReadingsError) as error:
        import_(path, tmp_path)
    seen = error.value
    while seen is not None:
        assert SECRET not in str(seen)
        seen = None if seen.__suppress_context__ else seen.__context__ or seen.__cause__


def test_a_truncated_gzip_file(tmp_path):
    """A gzip file that ends early is an error, and nothing of it is taken."""
    path = tmp_path / "bad.csv.gz"
    rows = [f"a,2012-07-{1 + i // 48:02d} {i % 48 // 2:02d}:{i % 2 * 30:02d},{i}.5" for i in range(48 * 20)]
    path.write_bytes(gzip.compress(long_rows(*rows).encode())[:-200])
    with pytest.raises(ReadingsError, match=r"bad.csv.gz.*ends early or is damaged"):
        import_(path, tmp_path)


def test_a_damaged_gzip_file(tmp_path):
    """Bytes that are wrong inside a gzip file are an error."""
    path = tmp_path / "bad.csv.gz"
    data = bytearray(gzip.compress(long_rows(*GOOD).encode()))
    data[-6] ^= 255
    path.write_bytes(bytes(data))
    with refuses(ReadingsError, "gzip-damaged"):
        import_(path, tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_utf_16_is_named(tmp_path, encoding):
    """Text in UTF-16 is refused with the remedy."""
    path = tmp_path / "bad.csv"
    path.write_bytes(long_rows(*GOOD).encode(encoding))
    with pytest.raises(ReadingsError, match="Save the file as UTF-8"):
        import_(path, tmp_path)


def test_latin_1_is_named(tmp_path):
    """Text that is no UTF-8 is refused, naming the place."""
    path = tmp_path / "bad.csv"
    path.write_bytes(long_rows(*GOOD, "Caf\xe9,2012-07-02 00:00,1").encode("latin-1"))
    with pytest.raises(ReadingsError, match=r"bad.csv, line \d+: Expected .*UTF-8"):
        import_(path, tmp_path)


def test_an_empty_file(tmp_path):
    """An empty file is an error that names it."""
    path = tmp_path / "bad.csv"
    path.write_bytes(b"")
    with refuses(ReadingsError, "source-empty"):
        import_(path, tmp_path)


def test_a_folder_with_one_alien_file(tmp_path):
    """In a folder of apartments, one file of another kind is named; nothing is taken."""
    folder = tmp_path / "apartments"
    folder.mkdir()
    for i in range(3):
        (folder / f"Apt{i}_2015.csv").write_text("2015-01-01 00:00:00,1.5\n2015-01-01 00:15:00,1.5\n")
    (folder / "notes.csv").write_text("dear diary\n")
    with pytest.raises(ReadingsError, match=r"notes.csv: Expected a umass file like Apt0_2015.csv"):
        import_(folder, tmp_path)


def test_what_tools_leave_beside_their_data_is_no_alien(tmp_path):
    """Files such as _SUCCESS and .part.crc are not read."""
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "part-0.csv").write_text(long_rows(*GOOD))
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.crc").write_text("x")
    panel, _ = import_(folder, tmp_path)
    assert panel.quality.rows == 48


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("1000000000", quality.OUTSIDE_DOMAIN),
        ("1e300", quality.OUTSIDE_DOMAIN),
        ("NaN", quality.NOT_A_NUMBER),
        ("inf", quality.NOT_A_NUMBER),
        ("60", quality.OUTSIDE_DOMAIN),
        ("-1", quality.OUTSIDE_DOMAIN),
    ],
)
def test_a_number_that_is_no_reading_is_counted_with_its_place(tmp_path, value, reason):
    """10^9 kWh, NaN and what lies outside the domain are set aside, counted, and named by line."""
    path = tmp_path / "odd.csv"
    path.write_text(long_rows(*GOOD, f"a,2012-07-02 00:00,{value}"))
    panel, out = import_(path, tmp_path)
    assert panel.quality.set_aside == {reason: 1}
    assert panel.quality.places == {reason: "odd.csv, line 50"}
    assert panel.quality.kept == 48
    assert [file.name for file in out.iterdir()] == ["panel.parquet"]


def test_blank_lines_and_blank_values_keep_line_numbers(tmp_path):
    """Blank lines are nothing, blank values are gaps, and neither moves the line of a later error."""
    path = tmp_path / "gaps.csv"
    rows = list(itertools.chain(GOOD, ["", "", "a,2012-07-02 00:00,", "", "a,2012-07-02 00:30,oops"]))
    path.write_text(long_rows(*rows))
    with pytest.raises(ReadingsError, match="line 54: column value"):
        import_(path, tmp_path)
    path.write_text(long_rows(*rows[:-1]))
    assert dn.panel(path, zone="UTC").quality.set_aside == {quality.BLANK: 1}


def test_a_300_before_its_200(tmp_path):
    """In a NEM12 file, interval data without the record that says whose it is are an error with its line."""
    path = tmp_path / "market.csv"
    path.write_text("100,NEM12,201207010000,A,B\n300,20120701," + ",".join(["1"] * 48) + ",A\n900\n")
    with pytest.raises(ReadingsError, match=r"market.csv, line 2"):
        import_(path, tmp_path)


# What fuzzing found.


def test_a_quoted_header_is_a_header(tmp_path):
    """Column names in quotes are names, also after a byte order mark and blank lines."""
    path = tmp_path / "quoted.csv"
    path.write_text("\ufeff\n\n" + long_rows(*GOOD, header='"household","time","kwh"'), newline="\r\n")
    panel = dn.panel(path, zone="UTC")
    assert panel.quality.kept == 48
    path.write_text("\n\n" + long_rows(*GOOD, "a,2012-07-02 00:00,oops"))
    with pytest.raises(ReadingsError, match="line 52: column value"):
        dn.panel(path, zone="UTC")


def test_an_option_of_one_format_is_not_refused_by_another(tmp_path):
    """unit='W' makes no NEM12 file and household='a' no Green Button file; a long file takes both."""
    path = tmp_path / "power.csv"
    path.write_text(long_rows(*(row.replace(SECRET, "500") for row in GOOD), header="home,time,value"))
    panel = dn.panel(dn.read(path, unit="W", household="home"), zone="UTC")
    assert set(panel.readings.ravel().tolist()) == {250}


@pytest.mark.parametrize("year", ["0001", "1899", "2200", "9999"])
def test_dates_of_other_centuries_are_errors(tmp_path, year):
    """A date that no meter ever saw is an error with its line, at once."""
    path = tmp_path / "old.csv"
    path.write_text(long_rows(*GOOD, f"a,{year}-01-01 00:00,{SECRET}"))
    with pytest.raises(ReadingsError, match="line 50: column time"):
        import_(path, tmp_path)


@pytest.mark.parametrize("zone", ["Nowhere/Here", "", "../etc/passwd"])
def test_the_zone_of_a_format_must_exist(tmp_path, zone):
    """A clock of no place is refused where it is said."""
    path = tmp_path / "long.csv"
    path.write_text(long_rows(*GOOD))
    with refuses(ReadingsError, "zone-unknown"):
        dn.read(path, format="wide", zone=zone)


def test_files_of_one_source_have_one_layout(tmp_path):
    """A second file without the columns of the first is named."""
    (tmp_path / "a.csv").write_text(long_rows(*GOOD))
    (tmp_path / "b.csv").write_text(long_rows("a,2012-07-02 00:00,1", header="household,moment,kwh"))
    with refuses(ReadingsError, "part-column-missing"):
        dn.panel(dn.read([tmp_path / "a.csv", tmp_path / "b.csv"], format="long"), zone="UTC")


def test_a_time_format_that_is_none(tmp_path):
    """A time format that Python cannot make sense of is an error, not a crash."""
    path = tmp_path / "long.csv"
    path.write_text(long_rows(*GOOD))
    with refuses(ReadingsError, "time-invalid"):
        dn.panel(dn.read(path, time_format="%d %d"), zone="UTC")
