"""Where a verb's words go: to people, to programs, or nowhere."""

import pytest

from command import run


@pytest.mark.parametrize("verb", ["status", "ledger"])
def test_quiet_prints_nothing(started, verb):
    """With --quiet a verb prints nothing but errors."""
    done = run(verb, "--store", "city.db", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


def test_colour_is_for_terminals_only(started):
    """What is printed to a file or a pipe has no escape sequences."""
    for words in (("ledger", "--store", "city.db"), ("plan", "homes.parquet", "--epsilon", "1", "--history", "20")):
        assert "\x1b" not in run(*words).stdout
