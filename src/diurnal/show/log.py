"""Log: lines of JSON about verbs, requests and what the server itself has to say. No value, no query, no trace."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

_log = logging.getLogger("diurnal.show")


class Lines(logging.Formatter):
    """A record as a line of JSON. Of an exception its kind is told: its words may show what it was about."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told: dict[str, Any] = {"time": when, "level": record.levelname.lower()}
        if record.name.startswith("diurnal"):
            told |= {"event": record.getMessage(), **getattr(record, "fields", {})}
        else:
            # What others say may have values in it: which place said it, and how their sentence goes without them.
            told |= {"event": "server", "logger": record.name, "said": str(record.msg)[:200].strip()}
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__
        return json.dumps(told)


def set_up(level: str = "info") -> None:
    """Send everything to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, least in (("diurnal", level.upper()), ("uvicorn", "WARNING"), ("asyncio", "WARNING")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False


def told(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write a line. Fields are sizes, times, numbers of requests; never a reading, a query or a token."""
    if not _log.isEnabledFor(level):
        return
    if error is not None:
        fields["error"] = type(error).__name__
    _log.log(level, event, extra={"fields": fields})
