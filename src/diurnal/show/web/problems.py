"""Problems: everything that is refused has one shape (RFC 9457), says what to do, and shows no value.

{"type": "urn:diurnal:budget-exceeded", "title": "Refused", "status": 409, "detail": "...", "code": "budget",
 "remedy": "...", "request": "5f0c..."}

`type` and `code` are identifiers: what was wrong, and of which kind that is. `detail` and `remedy` are for people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from diurnal import errors
from diurnal.errors import DiurnalError, texts

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

BY_STATUS: Mapping[int, str] = {
    400: "http-malformed",
    404: "http-not-found",
    405: "http-method",
    406: "http-format-unknown",
    413: "http-too-large",
}
"""What is said where the framework refuses."""

MEDIA = "application/problem+json"


class ProblemError(HTTPException):
    """Something that is refused. The framework lets those of its own kind through, from wherever they come."""

    def __init__(
        self,
        text: str,
        *,
        status: int | None = None,
        kind: str | None = None,
        words: tuple[str, str] | None = None,
        retry: float | None = None,
        headers: Mapping[str, str] | None = None,
        limit: str | None = None,
        **params: Any,
    ) -> None:
        """Something that is refused.

        Args:
            text: The code of its words, which also have its status and kind.
            status: Another status than its words have.
            kind: Another kind.
            words: Its message and remedy, where an error has said them already.
            retry: After how many seconds it may be tried again.
            headers: More headers of the answer.
            limit: The name of the limit that was met.
            **params: What its words are about.
        """
        told = dict(headers or {})
        if retry is not None:
            told["Retry-After"] = str(max(1, round(retry)))
        about = texts()[text]
        said = words or tuple(about[part].format(**params) for part in ("message", "remedy"))
        super().__init__(about["status"] if status is None else status, said[0], told)
        self.type, self.code, self.limit = text, about["kind"] if kind is None else kind, limit
        self.message, self.hint = said


def answer(problem: ProblemError, request: str) -> Response:
    """A problem as it is answered."""
    told = {
        "type": f"urn:diurnal:{problem.type}",
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "detail": problem.message,
        "code": problem.code,
        "remedy": problem.hint,
        "request": request,
        # The shape of earlier versions, for clients of those. It goes with the next one.
        "error": {
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "request": request,
        },
    }
    return Response(json.dumps(told), problem.status_code, headers=problem.headers, media_type=MEDIA)


def too_large(limit: int) -> ProblemError:
    """A body that is too large: the connection is closed, so that the rest is not even listened to."""
    return ProblemError("http-body-too-large", size=f"{limit // 1024:,} KiB", headers=CLOSE, limit="bytes")


def too_slow() -> ProblemError:
    """A body that does not arrive: nobody may keep a place by sending nothing."""
    return ProblemError("http-too-slow", headers=CLOSE, limit="patience")


def too_long() -> ProblemError:
    """A head without an end: it is never known what is asked."""
    return ProblemError("http-too-long")


def full() -> ProblemError:
    """All places are taken by who is being answered: it is not even heard what is asked."""
    return ProblemError("http-full", retry=5)


def internal() -> ProblemError:
    """Something is wrong in the service itself: nothing else is said of it."""
    return ProblemError("http-internal")


CLOSE = {"Connection": "close"}
"""What ends a connection."""


def of_error(error: DiurnalError) -> ProblemError:
    """The problem that an error of diurnal is."""
    status, kind = next((status, kind) for error_kind, status, kind in BY_KIND if isinstance(error, error_kind))
    if status == 500:
        return internal()
    if isinstance(error, errors.OwedError):
        # How many were erased is not for who sends readings.
        return ProblemError("http-owed", retry=60)
    words = error.said("message", "http"), error.said("remedy", "http")
    return ProblemError(error.code, status=status, kind=kind, words=words, retry=2 if status == 503 else None)


async def check_query(request: Request) -> None:
    """Refuse a parameter that a route does not know: it would be answered as if nobody had asked it.

    Raises:
        ProblemError: There is one.
    """
    known = _parameters(request.scope["route"].dependant)
    if not set(request.query_params) <= set(known):
        code = "http-parameter" if known else "http-no-parameters"
        raise ProblemError(code, choices=", ".join(known))


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
    text = BY_STATUS.get(error.status_code, "http-refused")
    return ProblemError(text, status=error.status_code, headers=error.headers)


def _invalid(error: RequestValidationError) -> ProblemError:
    """What was wrong with a request: where, and of which kind; never what was sent."""
    places = [_place(each) for each in error.errors()[:3]]
    return ProblemError("http-invalid", places="; ".join(places))


def _place(found: Mapping[str, Any]) -> str:
    # A place may be a key that somebody made up: numbers and the names of known fields only.
    where = ".".join(str(each)[:40] for each in found["loc"][:2])
    return f"{''.join(each for each in where if each.isalnum() or each in '._-')} ({found['type']})"
