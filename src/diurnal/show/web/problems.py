"""Problems: everything that is refused has one shape, says what to do, and shows no value.

{"error": {"code": "budget", "message": "...", "hint": "...", "request": "5f0c..."}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from diurnal import errors
from diurnal.errors import DiurnalError

BY_KIND: tuple[tuple[type[DiurnalError], int, str], ...] = (
    (errors.PrivateError, 500, "internal"),
    (errors.StoreError, 503, "store"),
    (errors.StreamError, 409, "stream"),
    (errors.BudgetError, 409, "budget"),
    (errors.DifferencingError, 409, "differencing"),
    (errors.OverlapError, 409, "overlap"),
    (errors.PopulationError, 409, "population"),
    (errors.AcknowledgeError, 409, "acknowledge"),
    (errors.WorseError, 409, "worse"),
    (errors.RefusedError, 409, "refused"),
    (errors.ClockError, 422, "clock"),
    (errors.UnitError, 422, "unit"),
    (errors.ReadingsError, 422, "readings"),
    (errors.PlanError, 422, "plan"),
    (errors.InputError, 422, "input"),
)
"""The answer to each kind of error, the first that fits."""

BY_STATUS: Mapping[int, tuple[str, str, str]] = {
    400: ("malformed", "The request cannot be read.", "See /openapi.json."),
    404: ("not-found", "There is nothing there.", "See /openapi.json for what there is."),
    405: ("method", "That cannot be done with it.", "See /openapi.json for what can."),
    406: ("format", "There is no such format.", "One of json, csv, arrow, parquet."),
    413: ("too-large", "The body is too large.", "Send less at a time."),
}
"""What is said where the framework refuses."""


class ProblemError(HTTPException):
    """Something that is refused. The framework lets those of its own kind through, from wherever they come."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str,
        *,
        retry: float | None = None,
        headers: Mapping[str, str] | None = None,
        limit: str | None = None,
    ) -> None:
        """Something that is refused; where a limit was met, with the name of that."""
        told = dict(headers or {})
        if retry is not None:
            told["Retry-After"] = str(max(1, round(retry)))
        super().__init__(status, message, told)
        self.code, self.message, self.hint, self.limit = code, message, hint, limit


def answer(problem: ProblemError, request: str) -> Response:
    """A problem as it is answered."""
    told = {"code": problem.code, "message": problem.message, "hint": problem.hint, "request": request}
    return Response(
        json.dumps({"error": told}), problem.status_code, headers=problem.headers, media_type="application/json"
    )


def too_large(limit: int) -> ProblemError:
    """A body that is too large: the connection is closed, so that the rest is not even listened to."""
    size = f"{limit // 1024:,} KiB"
    close = {"Connection": "close"}
    return ProblemError(
        413, "too-large", f"A body has at most {size}.", "Send less at a time.", headers=close, limit="bytes"
    )


def too_slow() -> ProblemError:
    """A body that does not arrive: nobody may keep a place by sending nothing."""
    close = {"Connection": "close"}
    return ProblemError(
        408, "too-slow", "The body did not arrive in time.", "Send less.", headers=close, limit="patience"
    )


def too_long() -> ProblemError:
    """A head without an end: it is never known what is asked."""
    return ProblemError(431, "too-long", "The head of the request is too long.", "Send fewer and shorter headers.")


def full() -> ProblemError:
    """All places are taken by who is being answered: it is not even heard what is asked."""
    return ProblemError(503, "busy", "Too much is going on here.", "Try again in a moment.", retry=5)


def internal() -> ProblemError:
    """Something is wrong in the service itself: nothing else is said of it."""
    hint = "Try again; if it stays so, tell the operator the number of the request."
    return ProblemError(500, "internal", "Something went wrong here.", hint)


def of_error(error: DiurnalError) -> ProblemError:
    """The problem that an error of diurnal is."""
    status, code = next((status, code) for kind, status, code in BY_KIND if isinstance(error, kind))
    if status == 500:
        return internal()
    if isinstance(error, errors.OwedError):
        # How many were erased is not for who sends readings.
        said = "The store was restored from a backup, and its custodian has yet to say what it lacks."
        return ProblemError(status, code, said, "Send it again when the store goes on.", retry=60)
    # Who sends a body names its columns by their heads alone.
    told = re.sub(r"Name it: \w+='\.\.\.'\.", "Give the column a name that is known.", error.hint)
    message, hint = (_asked(words) for words in (error.message, told))
    return ProblemError(status, code, message, hint, retry=2 if status == 503 else None)


SAID = {
    "Read print(dn.check(panel)), then start(..., acknowledge=verdict.digest)": "Read GET /v1/custodian/check, "
    "then send its `digest` as `acknowledge`",
    "plan = dn.informed(plan, panel, level=the public mean of a reading), or open_data=panel of other homes": ""
    "give POST /v1/custodian/plan the public mean of a reading as `mean_reading`",
    "Leave it out: history.without([...]).": "Its operator leaves it out: `diurnal serve --without`.",
    "See panel.households.": "Look at what `diurnal serve --without` was given.",
    "curator.raise_cap(...), diurnal raise-cap": "`diurnal raise-cap`",
    "curator.raise_cap(...)": "`diurnal raise-cap`",
    "take them as they are: curator.trust_units()": "its operator runs `diurnal serve --trust-units`",
    "See curator.status().": "GET /v1/streams names them.",
    "Open the store with Budget(..., delta='1e-6').": "A store is made with one: `diurnal serve --delta-cap`.",
    "Make the plan with grid=panel.grid.": "Make the plan anew: POST /v1/custodian/plan.",
    "Let informed(plan, shape, open_data=...) make the plan.": "Let POST /v1/custodian/plan make the plan.",
    "Give open_data=panel of other homes, or level=the mean": "Give mean_reading, the mean",
    "Let diurnal.choose(plan, shape) decide": "Leave it to auto",
    "or panel.with_period(...) with a shorter period": "or a shorter `period`",
    ", or a stretch of the panel: panel.first(...)": "",
    "; keep=... may ask for less": "",
    "See panel.quality.": "`diurnal import` says what became of each row.",
    "`diurnal plan` and Plan.to_json write plans.": "POST /v1/custodian/plan gives one in `document`.",
    "write it with Plan.to_json": "POST /v1/custodian/plan gives one in `document`",
    "Write the plan anew from Python.": "Make the plan anew: POST /v1/custodian/plan.",
    "See the documentation of Plan.": "POST /v1/custodian/plan gives one in `document`.",
    "Give a reference with dn.public_reference(open_data).": "Start the service with open data.",
    "or a Body": "or no body_radius",
    "It has none: say groups=... when it is made.": "It has none: they are given to `diurnal import`.",
}
"""Parts of hints that are Python, as they are said to who asks over HTTP."""


def _asked(words: str) -> str:
    """Words about Python or the command line, as words about fields of a question."""
    said = {python: http for python, http in SAID.items() if python in words}
    words = re.sub(r"--([a-z-]+)", _field, words)
    for python, http in said.items():
        words = words.replace(python, http)
    words = re.sub(r"Cut it with panel\.first\((\d+)\)\.", r"The panel needs \1 cycles after `skip`.", words)
    # What is named with a value is a field with one.
    return re.sub(r"\b([a-z_]+)=('[^']*'|\([^)]*\)|[\w.]+)", r"`\1`: \2", words)


def _field(flag: re.Match[str]) -> str:
    """A flag of the command line as a field of a question."""
    return flag[1].replace("-", "_")


async def check_query(request: Request) -> None:
    """Refuse a parameter that a route does not know: it would be answered as if nobody had asked it.

    Raises:
        ProblemError: There is one.
    """
    known = _parameters(request.scope["route"].dependant)
    if not set(request.query_params) <= set(known):
        named = f"There are {', '.join(known)}." if known else "There are none here."
        raise ProblemError(422, "parameter", "A parameter of the query is not known.", named)


def _parameters(asked: Any) -> list[str]:
    """What a route, and what it depends on, takes from a query."""
    own = [each.alias for each in asked.query_params]
    return [*own, *(name for each in asked.dependencies for name in _parameters(each))]


def install(app: FastAPI) -> None:
    """Let an application answer everything that goes wrong in one shape."""

    async def refused(request: Request, error: Exception) -> Response:
        problem = _problem(error)
        # The gate, which sees answers alone, counts limits.
        request.scope["diurnal.problem"] = problem
        return answer(problem, request.scope.get("diurnal.request", ""))

    for kind in (ProblemError, DiurnalError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, refused)


def _problem(error: Exception) -> ProblemError:
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, DiurnalError):
        return of_error(error)
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    assert isinstance(error, HTTPException)
    unknown = ("refused", "The request was refused.", "See /openapi.json.")
    code, message, hint = BY_STATUS.get(error.status_code, unknown)
    return ProblemError(error.status_code, code, message, hint, headers=error.headers)


def _invalid(error: RequestValidationError) -> ProblemError:
    """What was wrong with a request: where, and of which kind; never what was sent."""
    places = [_place(each) for each in error.errors()[:3]]
    return ProblemError(
        422, "invalid", f"Not as it should be: {'; '.join(places)}.", "See /openapi.json for what is expected."
    )


def _place(found: Mapping[str, Any]) -> str:
    # A place may be a key that somebody made up: numbers and the names of known fields only.
    where = ".".join(str(each)[:40] for each in found["loc"][:2])
    return f"{''.join(each for each in where if each.isalnum() or each in '._-')} ({found['type']})"
