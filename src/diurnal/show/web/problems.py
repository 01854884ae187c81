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
    (errors.BatchError, 409, "batch"),
    (errors.BudgetError, 409, "budget"),
    (errors.DifferencingError, 409, "differencing"),
    (errors.OverlapError, 409, "overlap"),
    (errors.PopulationError, 409, "population"),
    (errors.AcknowledgeError, 409, "acknowledge"),
    (errors.RefusedError, 409, "refused"),
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
    ) -> None:
        told = dict(headers or {})
        if retry is not None:
            told["Retry-After"] = str(max(1, round(retry)))
        super().__init__(status, message, told)
        self.code, self.message, self.hint = code, message, hint


def answer(problem: ProblemError, request: str) -> Response:
    """A problem as it is answered."""
    told = {"code": problem.code, "message": problem.message, "hint": problem.hint, "request": request}
    return Response(
        json.dumps({"error": told}), problem.status_code, headers=problem.headers, media_type="application/json"
    )


def too_large(limit: int) -> ProblemError:
    """A body that is too large: the connection is closed, so that the rest is not even listened to."""
    size = f"{limit // 1024:,} KiB"
    return ProblemError(
        413, "too-large", f"A body has at most {size}.", "Send less at a time.", headers={"Connection": "close"}
    )


def too_slow() -> ProblemError:
    """A body that does not arrive: nobody may keep a place by sending nothing."""
    return ProblemError(
        408, "too-slow", "The body did not arrive in time.", "Send less.", headers={"Connection": "close"}
    )


def too_long() -> ProblemError:
    """A head without an end: it is never known what is asked."""
    return ProblemError(431, "too-long", "The head of the request is too long.", "Send fewer and shorter headers.")


def internal() -> ProblemError:
    """Something is wrong in the service itself: nothing else is said of it."""
    hint = "Try again; if it stays so, tell the operator the number of the request."
    return ProblemError(500, "internal", "Something went wrong here.", hint)


def of_error(error: DiurnalError) -> ProblemError:
    """The problem that an error of diurnal is."""
    status, code = next((status, code) for kind, status, code in BY_KIND if isinstance(error, kind))
    if status == 500:
        return internal()
    # Who sends a body names its columns by their heads alone.
    told = re.sub(r"Name it: \w+='\.\.\.'\.", "Give the column a name that is known.", error.hint)
    message, hint = (re.sub(r"--([a-z-]+)", _field, words) for words in (error.message, told))
    return ProblemError(status, code, message, hint, retry=2 if status == 503 else None)


def _field(flag: re.Match[str]) -> str:
    """A flag of the command line as a field of a question."""
    return flag[1].replace("-", "_")


def install(app: FastAPI) -> None:
    """Let an application answer everything that goes wrong in one shape."""

    async def refused(request: Request, error: Exception) -> Response:
        return answer(_problem(error), request.scope.get("diurnal.request", ""))

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
