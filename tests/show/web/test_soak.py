"""The load, the kills and the attacks of `make soak`, for a few seconds."""

import pytest
from benchmarks import soak
from benchmarks.soaking import attackers, city
from benchmarks.soaking.seen import Seen

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("soak")


@pytest.fixture(scope="module")
def soaked(tmp_path_factory):
    """A soak of some seconds on SQLite, with what it left behind."""
    folder = tmp_path_factory.mktemp("soak")
    return folder, soak.soak("SQLite", folder, 7, every=2.5)


def test_killed_and_attacked_nothing_is_lost_doubled_changed_or_told(soaked):
    """While all send, read, kill and attack at once, what was answered is what the store has, and nothing else."""
    _, seen = soaked
    assert seen.took
    assert seen.rows
    assert seen.ranges
    assert seen.told
    assert seen.promises
    assert seen.beside["backup"]
    assert seen.ends["killed"]
    # Which ones get an answer in so few seconds is a matter of chance.
    assert seen.attacks["no token"]["401"] + seen.attacks["guesses of tokens"].total()


def test_the_page_tells_of_every_attack(soaked, tmp_path, monkeypatch):
    """What was seen goes into a table for each database, kinds of attacks and their answers among it."""
    monkeypatch.setattr(soak, "PAGE", tmp_path / "soak.md")
    monkeypatch.setattr(soak, "PICTURE", tmp_path / "soak.svg")
    soak.write({"SQLite": soaked[1]}, 0.2, every=2.5)
    page = (tmp_path / "soak.md").read_text()
    assert all(f"| {attack.kind} |" in page for attack in (*attackers.QUICK, *attackers.SLOW))
    assert (tmp_path / "soak.svg").read_text().startswith("<?xml")


def test_what_is_private_would_be_found(soaked):
    """A name, a planted reading or an exact sum in an answer fails a soak; the same digits in a digest do not."""
    seen = Seen(needles=soaked[1].needles)
    total = int(city.steps(40, 41).readings.sum())
    for words in (city.NAMES[3], f'"value": {city.PLANTED[7]}', f"{total}", f"[{total}.0]"):
        seen.search("somebody", words.encode())
        assert len(seen.failed) == 1, words
        seen.failed.clear()
    seen.search("somebody", f"ab{city.PLANTED[7]}cd 12.{city.PLANTED[7]} {city.PLANTED[7]}1".encode())
    assert not seen.failed


def test_rows_that_change_would_be_found(soaked):
    """A row that is another than it was fails a soak, and so does a finished range."""
    seen = Seen(needles=soaked[1].needles)
    for value in ("1", "1", "2"):
        seen.shown([{"step": 3, "value": value}])
        seen.range_shown((0, 1, "csv"), value.encode())
    assert len(seen.failed) == 2
