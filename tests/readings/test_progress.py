"""Progress bars."""

import sys

from diurnal.readings import progress
from diurnal.readings.progress import Progress


def test_a_bar_appears_when_a_job_takes_long(capsys, monkeypatch):
    """After its patience a job shows what it does and how far it is, on standard error only."""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with Progress("Sorting rows", 10, shown=True) as bar:
        bar.advance(4)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Sorting rows" in err
    assert "4/10" in err


def test_a_short_job_shows_nothing(capsys):
    """A job of less than two seconds shows nothing, on a terminal or not."""
    with Progress("Sorting rows", 10, shown=True) as bar:
        bar.advance(10)
    assert capsys.readouterr() == ("", "")


def test_no_bar_where_there_is_no_terminal(capsys, monkeypatch):
    """Without a terminal nothing is shown however long it takes."""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert not sys.stderr.isatty()
    with Progress("Sorting rows", 10) as bar:
        bar.advance(10)
    assert capsys.readouterr() == ("", "")
