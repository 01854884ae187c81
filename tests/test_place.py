"""Where a file may be written: nowhere but where there is none, or in the place of a regular one."""

import os
import socket
import stat

import pytest
from typer.testing import CliRunner

import diurnal as dn
from diurnal.errors import InputError, StoreError
from diurnal.readings.panel_export import write
from diurnal.show.cli import app
from diurnal.show.export import export
from diurnal.show.files import check_target, write_whole
from diurnal.show.web import tokens
from diurnal.study.town import Town
from support import refuses


def a_link(path):
    path.with_name("elsewhere").write_text("as it was")
    path.symlink_to(path.with_name("elsewhere"))


def a_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


KINDS = {
    "a symbolic link": a_link,
    "a pipe": os.mkfifo,
    "a folder": lambda path: path.mkdir(),
    "a socket": a_socket,
}
"""What a path may be besides a file; a device takes root to make, and is in a test of its own."""


@pytest.fixture(scope="module")
def town():
    """A panel of a few homes."""
    return Town(homes=20, days=12, gap_rate=0).panel()


@pytest.fixture(scope="module")
def running(town):
    """A curator with a stream."""
    curator = dn.Curator.in_memory()
    plan = dn.Plan(epsilon="1", domain=(0, 8000), history=10, grid=town.grid)
    return curator, curator.start(plan, history=town.first(10), acknowledge="untested", accept_worse=True)


def writers(town, running, folder):
    """Everything that writes a file, by what it writes."""
    curator, stream = running
    lasting = dn.Curator.open(folder / "own.db")
    return {
        "panel.parquet": lambda path: dn.save_panel(town, path),
        "import.parquet": lambda path: dn.panel(town_file(town, folder), zone="Australia/Sydney", out=path),
        "layout.csv": lambda path: write(town, path),
        "rows.csv": lambda path: export(curator, stream, path),
        "rows.jsonl": lambda path: export(curator, stream, path),
        "rows.parquet": lambda path: export(curator, stream, path),
        "page.html": lambda path: export(curator, stream, path),
        "backup.db": lasting.backup,
        "tokens.json": lambda path: tokens.make(path, name="anna", role="public"),
        "check.svg": lambda path: dn.check(town).draw(path),
        "plan.json": lambda path: write_whole(path, "{}"),
        "certificate.md": check_target,
    }


def town_file(town, folder):
    if not (folder / "town.csv").exists():
        write(town, folder / "town.csv")
    return folder / "town.csv"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_over_what_is_no_regular_file(kind, town, running, tmp_path):
    """Whatever writes a file refuses a link, a pipe, a folder and a socket, and leaves them as they were."""
    for number, (name, work) in enumerate(writers(town, running, tmp_path).items()):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / name
        KINDS[kind](path)
        before = sorted(os.listdir(path.parent)), stat.S_IFMT(os.lstat(path).st_mode)
        with pytest.raises((InputError, StoreError)):
            work(path)
        assert (sorted(os.listdir(path.parent)), stat.S_IFMT(os.lstat(path).st_mode)) == before, name
        if kind == "a symbolic link":
            assert path.read_text() == "as it was"


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device takes root")
def test_a_device_stays_a_device(town, running, tmp_path):
    """No writer replaces a device, and no store is made of one or changes its mode."""
    for number, (name, work) in enumerate(writers(town, running, tmp_path).items()):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / name
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.chmod(path, 0o666)
        with pytest.raises((InputError, StoreError)):
            work(path)
        with refuses(StoreError, "store-not-a-file"):
            dn.Curator.open(path)
        assert os.lstat(path).st_mode == 0o666 | stat.S_IFCHR, name


def test_a_link_to_nowhere_is_refused_too(tmp_path):
    """A link that leads nowhere is not replaced by a file."""
    path = tmp_path / "plan.json"
    path.symlink_to(tmp_path / "nothing")
    with pytest.raises(InputError, match=r"plan\.json is a symbolic link"):
        check_target(path)
    with refuses(InputError, "output-special-file"):
        dn.Curator.open(tmp_path / "city.db").backup(path)
    assert path.is_symlink()


def test_a_file_of_a_folder_layout_is_no_link_either(town, tmp_path):
    """A layout that is a folder of files refuses a link among them before it writes any."""
    write(town, tmp_path / "homes", format="umass")
    names = sorted(path.name for path in (tmp_path / "homes").iterdir())
    (tmp_path / "homes" / names[-1]).unlink()
    a_link(tmp_path / "homes" / names[-1])
    with refuses(InputError, "output-special-file"):
        write(town, tmp_path / "homes", format="umass")
    assert (tmp_path / "homes" / names[-1]).is_symlink()


@pytest.mark.parametrize("flag", ["--out", "--certificate"])
def test_the_command_line_says_it_in_a_sentence(flag, town, tmp_path):
    """`diurnal plan` refuses a link before it does anything, in words."""
    dn.save_panel(town, tmp_path / "homes.parquet")
    a_link(tmp_path / "it")
    words = ["plan", str(tmp_path / "homes.parquet"), "--epsilon", "1", "--domain", "0", "8000"]
    done = CliRunner().invoke(app, [*words, flag, str(tmp_path / "it")])
    assert done.exit_code == 1
    assert "it is a symbolic link, and is not overwritten." in done.stderr


def test_suburbs_of_a_town_are_not_written_into_a_link(tmp_path):
    """`diurnal town --groups` refuses a link before it writes the town."""
    a_link(tmp_path / "groups.csv")
    words = ["town", "--homes", "3", "--days", "2", "--out", str(tmp_path / "town.csv")]
    done = CliRunner().invoke(app, [*words, "--groups", str(tmp_path / "groups.csv")])
    assert done.exit_code == 1
    assert not (tmp_path / "town.csv").exists()
