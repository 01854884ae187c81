"""Lines of JSON about verbs, requests and the server: no value, no query, no trace."""

import io
import json
import logging
import sys

import pytest

from diurnal.show import log


@pytest.fixture
def lines(monkeypatch):
    """What was logged since it was set up, line by line; afterwards loggers are as they were."""
    loggers = [logging.getLogger(name) for name in ("diurnal", "uvicorn", "asyncio")]
    before = [(each, list(each.handlers), each.level, each.propagate) for each in loggers]
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    log.set_up()
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    for each, handlers, level, propagate in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


def test_of_an_error_its_kind_is_told(lines):
    """The words of an exception may show a reading: a line has its kind alone, whoever logs it."""
    error = ValueError("a reading of 12345")
    log.told("failed", error=error, verb="import")
    logging.getLogger("uvicorn.error").error("Exception in %s", "12345", exc_info=error)
    ours, theirs = lines()
    assert (ours["event"], ours["error"], ours["verb"]) == ("failed", "ValueError", "import")
    assert (theirs["event"], theirs["error"]) == ("server", "ValueError")
    assert "12345" not in json.dumps([ours, theirs])


def test_what_others_say_is_told_without_its_values(lines):
    """Of a record of another package stand its logger and its sentence, with its places left open."""
    logging.getLogger("uvicorn.access").warning("%s - %s", "192.0.2.1", "/v1/streams?token=secret")
    (line,) = lines()
    assert (line["logger"], line["said"]) == ("uvicorn.access", "%s - %s")
    assert "secret" not in json.dumps(line)


def test_below_its_level_nothing_is_written(lines):
    """What is less than was asked for is no line."""
    log.told("looked", level=logging.DEBUG)
    assert lines() == []
