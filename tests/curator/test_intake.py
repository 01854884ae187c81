"""A folder or a table where readings land."""

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import intake
from diurnal.curator.intake import watch_folder, watch_table
from diurnal.errors import ReadingsError
from diurnal.study.town import Town
from support import refuses

opens = support.opens


@pytest.fixture
def town():
    """Twenty homes over twelve days."""
    return Town(homes=20, days=12, gap_rate=0).panel()


def start(opens, town):
    plan = dn.Plan(epsilon="1", domain=(0, 50000), history=6, grid=town.grid, level="pattern", mechanism="cube")
    return opens(budget=support.ROOMY).start(plan, history=town.first(6), acknowledge="untested", accept_worse=True)


def land(panel, folder, name, start, stop):
    dn.write(panel.between(start, stop), folder / name, format="long")


def test_each_file_is_taken_once(opens, town, tmp_path, monkeypatch):
    """Files that land are reported and moved to taken/; the same file under another name changes nothing, and one
    that could not be moved is known, and not read again.
    """
    folder = tmp_path / "in"
    folder.mkdir()
    stream = start(opens, town)
    land(town, folder, "a.csv", 288, 300)
    land(town, folder, "b.csv", 300, 301)
    (folder / ".hidden").write_text("not yet")
    (folder / "c.csv.partial").write_text("not yet")
    copy = (folder / "a.csv").read_bytes()
    taken = list(watch_folder(stream, folder, once=True, minutes=30))
    assert [each.name for each in taken] == ["a.csv", "b.csv"]
    assert [row.step for each in taken for row in each.rows] == list(range(288, 301))
    (folder / "again.csv").write_bytes(copy)
    again = list(watch_folder(stream, folder, once=True, minutes=30))
    assert [(each.name, each.rows, each.before) for each in again] == [("again.csv", taken[0].rows, 12)]
    assert sorted(path.name for path in (folder / "taken").iterdir()) == ["a.csv", "again.csv", "b.csv"]
    assert stream.rows() == stream.report(town.between(288, 301))
    land(town, folder, "c.csv", 301, 302)
    with monkeypatch.context() as patch:
        # Killed before it could be moved.
        patch.setattr(intake, "_aside", lambda path, target: path)
        assert len(next(iter(watch_folder(stream, folder, once=True, minutes=30))).rows) == 1
    (known,) = watch_folder(stream, folder, once=True, minutes=30)
    assert (known.name, known.again, known.rows) == ("c.csv", True, ())


def test_a_bad_file_is_moved_aside_with_its_error(opens, town, tmp_path):
    """A file that cannot be read goes to bad/, its error beside it, and the next one is taken."""
    folder = tmp_path / "in"
    folder.mkdir()
    stream = start(opens, town)
    (folder / "a.csv").write_text("household,time,wh\n1,yesterday,lots\n")
    (folder / "b.csv").write_bytes(b"\x00\xff" * 99)
    land(town, folder, "c.csv", 288, 290)
    taken = list(watch_folder(stream, folder, once=True, minutes=30))
    assert [bool(each.error) for each in taken] == [True, True, False]
    bad = {path.name: path for path in (folder / "bad").iterdir()}
    assert bad.keys() == {"a.csv", "a.csv.error.txt", "b.csv", "b.csv.error.txt"}
    assert "Hint:" in bad["a.csv.error.txt"].read_text()
    assert len(stream.rows()) == 2


def test_what_is_set_aside_is_told_and_counted(opens, town, tmp_path):
    """Rows that are no readings are told with their file, and are in the stream's counters; a file of another unit
    is refused.
    """
    folder = tmp_path / "in"
    folder.mkdir()
    stream = start(opens, town)
    land(town, folder, "a.csv", 288, 300)
    lines = (folder / "a.csv").read_text().splitlines()
    home, time, _, *groups = lines[1].split(",")
    (folder / "a.csv").write_text("\n".join([lines[0], ",".join([home, time, "-5", *groups]), *lines[2:]]) + "\n")
    (folder / "b.csv").write_text("\n".join([lines[0].replace("wh", "mwh"), *lines[1:]]) + "\n")
    first, second = watch_folder(stream, folder, once=True, minutes=30)
    assert (len(first.rows), first.set_aside) == (12, {"outside_domain": 1})
    assert stream.quality()["file_outside_domain"] == 1
    assert "another unit" in second.error
    assert (folder / "bad" / "b.csv").exists()
    assert len(stream.rows()) == 12


def test_it_waits_and_looks_again(opens, town, tmp_path):
    """Without `once` it looks again after every wait, for as long as it is asked."""
    folder = tmp_path / "in"
    folder.mkdir()
    stream = start(opens, town)
    steps = iter(range(288, 291))

    def wait(seconds):
        step = next(steps)
        land(town, folder, f"{step}.csv", step, step + 1)

    watching = watch_folder(stream, folder, wait=wait, minutes=30)
    assert [next(watching).name for _ in range(3)] == ["288.csv", "289.csv", "290.csv"]
    with refuses(ReadingsError, "folder-missing"):
        next(watch_folder(stream, tmp_path / "nowhere"))


def test_a_table_is_looked_at_again_and_again(opens, town, tmp_path):
    """What a query gives is reported; rows of steps that are reported change nothing."""
    stream = start(opens, town)
    url = f"sqlite:///{tmp_path / 'meters.db'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("create table readings (household text, time text, wh integer)")

    def add(start, stop):
        with engine.begin() as connection:
            for step in range(start, stop):
                for place, name in enumerate(town.households):
                    connection.exec_driver_sql(
                        "insert into readings values (?, ?, ?)",
                        (name, town.grid.time(step), int(town.readings[step, place])),
                    )

    add(288, 290)
    first = next(iter(watch_table(stream, "select * from readings", url, once=True)))
    assert first.error == ""
    assert [row.step for row in first.rows] == [288, 289]
    add(290, 292)
    second = next(iter(watch_table(stream, "select * from readings", url, once=True)))
    assert [row.step for row in second.rows] == [288, 289, 290, 291]
    assert second.rows[:2] == first.rows
    broken = next(iter(watch_table(stream, "select nothing", url, once=True)))
    assert broken.error
    engine.dispose()


def test_a_panel_like_a_streams_begins_with_its_first_row(town, tmp_path):
    """`like` counts steps from the stream's anchor and begins with the first row, in the middle of a day too."""
    dn.write(town.between(301, 303), tmp_path / "a.csv", format="long")
    panel = dn.panel(tmp_path / "a.csv", like=town.grid)
    assert panel.grid == town.grid
    assert panel.steps == range(301, 303)
    assert np.array_equal(panel.readings, town.between(301, 303).readings)
    with refuses(ReadingsError, "panel-like-stays-in-memory"):
        dn.panel(tmp_path / "a.csv", like=town.grid, out=tmp_path / "b.parquet")


def test_what_nobody_understands_is_said_before_any_file_is_touched(opens, town, tmp_path):
    """A mistyped option, or one that the named format does not have, is refused, and files stay where they are."""
    folder = tmp_path / "in"
    folder.mkdir()
    stream = start(opens, town)
    land(town, folder, "a.csv", 288, 290)
    for said in ({"minuts": 30}, {"format": "long", "minuts": 30}, {"format": "lnog"}):
        with pytest.raises(ReadingsError, match=r"option|one of"):
            next(watch_folder(stream, folder, once=True, **said))
    assert [path.name for path in folder.iterdir()] == ["a.csv"]


def test_every_batch_comes_with_the_head(opens, town, tmp_path):
    """What was taken says where the ledger stands after it: the head that fences a restored backup."""
    folder = tmp_path / "in"
    folder.mkdir()
    stream = start(opens, town)
    land(town, folder, "a.csv", 288, 290)
    (taken,) = watch_folder(stream, folder, once=True)
    assert taken.head == stream.head
    assert taken.head.split(":")[3] == "289"
