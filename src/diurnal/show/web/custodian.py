"""Custodian: what is private, and what is decided. Every answer is for the custodian's eyes, and kept by nobody."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from diurnal.curator.starting import bound_to
from diurnal.errors import PlanError
from diurnal.exact import text
from diurnal.periodicity.verdict import Verdict, subject
from diurnal.periodicity.verdict import check as checked
from diurnal.planning.plan import Plan
from diurnal.planning.planner import worse_than_nothing
from diurnal.private import private
from diurnal.readings.grid import slots_of
from diurnal.readings.panel import Panel, Shape
from diurnal.readings.panel_file import open_panel
from diurnal.show.files import left_out
from diurnal.show.page.ledger import lines
from diurnal.show.plan_request import WhatIfRequest
from diurnal.show.predicted import predicted_table
from diurnal.show.proposal import Proposal, propose
from diurnal.show.web.access import FOR_CUSTODIAN, CustodianRoute
from diurnal.show.web.models import decisions, shape, standing
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.public import StreamName, service_of
from diurnal.show.web.service import Service

router = APIRouter(
    prefix="/v1/custodian", tags=["custodian"], dependencies=[FOR_CUSTODIAN], route_class=CustodianRoute
)

MOST_SLOTS = 2016
"""How many steps a cycle has that is looked at here, at most: a week of five minutes."""

SOLID = 366
"""Up to how many cycles the matrix of correlations is sent whole; of more, every so-manyeth."""


@router.get("/check", responses={200: {"model": standing.Checked}}, summary="Is it almost periodic?")
async def check(
    request: Request,
    period: Annotated[str | None, Query(max_length=16, description="Another period than the panel's: 7d.")] = None,
) -> dict[str, Any]:
    """The verdict on the panel that the service was told of, with the numbers of its heatmap and lag chart.

    Its `digest` is what `start` wants acknowledged.
    """
    service = service_of(request)
    verdicts: dict[Any, Verdict] = request.app.state.verdicts
    panel = await service.think(lambda: panel_of(service, period))
    about = (period, *_stamp(service, panel))
    if about not in verdicts:
        found = await service.think(lambda: checked(panel))
        verdicts.clear()
        verdicts[about] = found
    return _verdict(verdicts[about])


def _verdict(verdict: Verdict) -> dict[str, Any]:
    found = verdict.correlations
    each = -(-len(found.cycles) // SOLID)
    lags, means = found.by_lag()
    edges, shares = found.histogram()
    content: dict[str, Any] = private(
        {
            **verdict.to_json(),
            "heatmap": {
                "cycles": found.cycles.numbers[::each].tolist(),
                "rows": np.round(found.matrix[::each, ::each], 3).tolist(),
            },
            "lags": {"lag": lags.tolist(), "mean": np.round(means, 4).tolist()},
            "histogram": {"edges": np.round(edges, 3).tolist(), "percent": np.round(shares, 3).tolist()},
        }
    )
    return content


@router.post("/plan", response_model=decisions.Proposed, summary="Predict every mechanism's error")
async def plan(request: Request, question: decisions.PlanQuestion) -> dict[str, Any]:
    """What `diurnal plan` says: every mechanism, a budget split over all reports, nothing at all."""
    service = service_of(request)
    found = await service.think(lambda: _proposed(service, question.request()))
    table = predicted_table(found.prediction.lines(found.own.name), found.unit)
    return {**found.to_json(), "document": found.plan.to_json(), "table": table}


def _proposed(service: Service, request: WhatIfRequest) -> Proposal:
    request.check()
    homes = panel_of(service, request.period)
    shape: Shape | Panel = homes
    if request.households is not None:
        shape = replace(homes.shape, group_sizes=(request.households,))
        request = replace(request, groups=None)
    path = service.settings.open_data
    elsewhere = None if path is None else open_panel(path)
    if elsewhere is not None and request.period is not None:
        elsewhere = elsewhere.with_period(request.period)
    settled = [stream.plan.domain for stream in service.feed.streams()]
    return propose(request, shape, domain=homes.domain or next(iter(settled), None), open_data=elsewhere)


@router.post("/explain", response_model=decisions.Meaning, summary="What starting a plan would mean")
async def explain(request: Request, question: decisions.StartQuestion) -> dict[str, Any]:
    """Nothing is drawn, spent or written. It says what must be typed to start it, and whether that is worth it."""
    service = service_of(request)
    wanted, history = await service.think(lambda: _wanted(service, question))

    def work() -> tuple[list[str], str | None]:
        sentences = service.curator.explain(wanted, history, acknowledge=question.acknowledge)
        if wanted.hash in {stream.plan.hash for stream in service.curator.streams()}:
            # A stream that runs already is found, and nothing is spent.
            return sentences, None
        worse = worse_than_nothing(wanted, min(history.shape_by(wanted.groups).group_sizes))
        return sentences, None if worse is None else worse.said("message", "http")

    sentences, worse = await service.write(work)
    names = {"stream": wanted.hash, "certificate_number": wanted.certificate_number}
    return {**names, "sentences": sentences, "confirm": phrase(wanted), "worse": worse}


@router.post("/start", response_model=decisions.Started, status_code=201, summary="Start a plan")
async def start(request: Request, question: decisions.StartQuestion) -> dict[str, Any]:
    """Spend the budget and draw the noisy profile, once. It wants typed what it spends."""
    service = service_of(request)
    wanted, history = await service.think(lambda: _wanted(service, question))
    if question.confirm != phrase(wanted):
        raise ProblemError("http-confirm-start", phrase=phrase(wanted))

    def work() -> tuple[Plan, list[str], str]:
        sentences = service.curator.explain(wanted, history)
        stream = service.curator.start(
            wanted, history=history, acknowledge=question.acknowledge, accept_worse=question.accept_worse
        )
        return stream.plan, sentences, service.curator.head

    plan, sentences, head = await service.write(work)
    await service.feed.nudge()
    names = {"stream": plan.hash, "certificate_number": plan.certificate_number}
    return {**names, "sentences": sentences, "head": head}


def phrase(plan: Plan) -> str:
    """What must be typed to start a plan: what it spends, and its name."""
    numbers = plan.guarantee().numbers()
    parts = {"epsilon": "for ever", "cycle_epsilon": "a cycle"}
    spends = " and ".join(f"{numbers[name]} {words}" for name, words in parts.items() if numbers[name] is not None)
    return f"spend {spends} on {plan.hash[:8]}"


def _wanted(service: Service, question: decisions.StartQuestion) -> tuple[Plan, Panel]:
    try:
        wanted = Plan.from_json(question.plan)
    except PlanError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise PlanError("body-not-a-plan") from None
    panel = panel_of(service, None).with_period(wanted.grid.slots)
    history = panel.after(question.skip).first(wanted.history)
    # With the name that the stream will have.
    return bound_to(wanted, history), history


@router.post("/streams/{stream}/stop", response_model=decisions.Stopped, summary="Stop a stream")
async def stop(request: Request, stream: StreamName, question: decisions.StopQuestion) -> dict[str, Any]:
    """Report nothing from a step on, so that a successor may begin there. The budget stays spent.

    Unless `at` is given, that is the step after the last cycle that has begun. With `dry_run` nothing is done: the
    answer says where it would end.
    """
    service = service_of(request)
    found = service.feed.stream(stream)
    if not question.dry_run:
        _check_confirmed(question.confirm, found.key[:8], "http-confirm-stop")

    def work() -> tuple[int, str]:
        end = service.curator.stream(found.key).stop(at=question.at, dry_run=question.dry_run)
        return end, service.curator.head

    end, head = await service.write(work)
    await service.feed.nudge()
    return {"stream": found.key, "end": end, "time": found.plan.grid.time(end), "head": head}


def _check_confirmed(said: str | None, wanted: str, code: str) -> None:
    if said != wanted:
        raise ProblemError(code, phrase=wanted)


@router.post("/streams/{stream}/close", response_model=decisions.Closed, summary="Close what is open")
async def close(request: Request, stream: StreamName, question: decisions.CloseQuestion) -> dict[str, Any]:
    """Report cycles that have ended with what is there of them, before their deadline: what is missing stays so.

    With `dry_run` nothing is done but to say how many steps would be closed.
    """
    service = service_of(request)
    found = service.feed.stream(stream)
    if not question.dry_run:
        _check_confirmed(question.confirm, found.key[:8], "http-confirm-close")

    def work() -> tuple[int, int, str]:
        mine = service.curator.stream(found.key)
        before = mine.takes().stop if question.before is None else question.before
        steps = mine.open_steps(before=before)
        if not question.dry_run:
            mine.close(before=before)
        return before, len(steps), service.curator.head

    before, steps, head = await service.write(work)
    await service.feed.nudge()
    return {
        "stream": found.key,
        "before": before,
        "time": found.plan.grid.time(before),
        "steps": steps,
        "head": head,
    }


@router.get("/ledger", response_model=standing.Ledger, summary="Everything that was ever decided")
async def ledger(
    request: Request,
    after: Annotated[int, Query(ge=0, le=10**12)] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> dict[str, Any]:
    """Events in order, each with the hash of the one before."""
    service = service_of(request)
    found = await service.read(lambda: service.reader.events(after, limit))
    names = ("number", "time", "kind", "content", "hash", "nonce")
    listed = [{name: getattr(event, name) for name in names} for event in found]
    return {"events": listed, "next": found[-1].number if len(found) == limit else None}


@router.get("/status", response_model=standing.Standing, summary="How the store stands")
async def status(request: Request) -> dict[str, Any]:
    """Head, budget, and of each stream how far it is, what it holds and has set aside, and how its units look."""
    service = service_of(request)
    found = await service.write(service.curator.status)
    return found.to_json()


@router.get("/streams/{stream}/quality", response_model=standing.Counted, summary="What a stream has set aside")
async def quality(request: Request, stream: StreamName) -> dict[str, int]:
    """Counts by reason: of readings; where the name begins with "steps", of steps, as of those published before."""
    service = service_of(request)
    key = service.feed.stream(stream).key
    return await service.write(lambda: service.curator.stream(key).quality())


@router.get("/streams/{stream}/drift", response_model=standing.Drift, summary="How far the pattern has moved")
async def drift(
    request: Request,
    stream: StreamName,
    window: Annotated[int, Query(ge=2, le=366)] = 28,
    threshold: Annotated[float, Query(gt=0, le=10, allow_inf_nan=False)] = 0.3,
) -> dict[str, Any]:
    """From released rows alone: an alarm says that it is time for a successor."""
    service = service_of(request)
    key = service.feed.stream(stream).key
    found = await service.write(lambda: service.curator.stream(key).drift(window=window, threshold=threshold))
    return {"groups": {name: each.to_json() for name, each in found.items()}}


@router.get("/budget", response_model=standing.BudgetLeft, summary="What is spent, and what is left")
async def budget(request: Request) -> dict[str, Any]:
    """By the most charged household, of each cap."""
    service = service_of(request)
    found = await service.write(service.curator.status)
    return {
        **{name: _spent(*getattr(found, name)) for name in ("pattern", "strong")},
        "delta": None if found.delta is None else text(found.delta),
        "uncounted": found.uncounted(),
        "head": found.head,
    }


def _spent(spent: Fraction, allowed: Fraction) -> dict[str, str]:
    return {"spent": text(spent), "allowed": text(allowed), "remaining": text(max(Fraction(0), allowed - spent))}


@router.get("/metrics", summary="All metrics", response_class=Response, responses=shape.METRICS)
async def metrics(request: Request) -> Response:
    """Those of /metrics, with batches that came in and what was set aside."""
    service = service_of(request)
    found = await service.write(service.curator.status)
    service.metrics.set_aside({each.plan: each.counts for each in found.streams})
    service.metrics.held(found.streams, service.settings.clock())
    for each in found.streams:
        service.metrics.units(each.plan, each.units, each.refused, each.looked)
    return Response(service.metrics.all_text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def panel_of(service: Service, period: str | None = None) -> Panel:
    """The panel that the service was told of, with cycles of another period if one is given.

    Raises:
        ProblemError: It was told of none.
        PlanError: The cycle is longer than is looked at here.
    """
    path = service.settings.panel
    if path is None:
        raise ProblemError("http-no-panel")
    panel = left_out(open_panel(path), service.settings.without)
    if period is not None:
        if slots_of(period, panel.grid.minutes) > MOST_SLOTS:
            raise PlanError("service-cycle-too-long", most_slots=MOST_SLOTS)
        panel = panel.with_period(period)
    return panel


def _stamp(service: Service, panel: Panel) -> tuple[Any, ...]:
    found = Path(service.settings.panel or "").stat()
    return found.st_mtime_ns, found.st_size, subject(panel)


@router.get("/panel", response_model=standing.Homes, summary="How large the panel is")
async def homes(request: Request) -> dict[str, Any]:
    """Of the panel that the service was told of: what a plan is asked with."""
    service = service_of(request)
    panel = await service.think(lambda: panel_of(service))
    return {
        "households": panel.n_households,
        "cycles": panel.n_cycles,
        **{name: getattr(panel.grid, name) for name in ("minutes", "slots", "unit")},
        "domain": panel.domain,
        "partitions": {name: min(panel.shape_by(name).group_sizes) for name in panel.groups},
    }


@router.get("/lately", response_model=standing.Lately, summary="When readings last came in")
async def lately(request: Request) -> dict[str, Any]:
    """Of each stream, when a batch came in with which reports were released, and its end by its own clock."""
    service = service_of(request)
    streams = service.feed.streams()
    ends = {each.key: each.plan.grid.time(each.end) for each in streams if each.end is not None}

    def look() -> dict[str, str | None]:
        feed, found = service.feed, {}
        for stream in streams:
            numbers = [number for _, number in feed.released(stream.key, feed.places(stream.key) - 1, 1)]
            found[stream.key] = service.reader.events(numbers[-1] - 1, 1)[0].time if numbers else None
        return found

    return {"streams": await service.read(look), "ends": ends}


@router.get("/told", response_model=standing.Told, summary="The ledger in words")
async def told(
    request: Request, last: Annotated[int, Query(ge=1, le=5000, description="How many decisions.")] = 200
) -> dict[str, Any]:
    """The last decisions, those about people among them, for the custodian's eyes.

    Reports do not count, however many there are: between two decisions they are one line.
    """
    service = service_of(request)
    # Folded where it is read: a year of batches is many events, and no more than a line.
    told_lines = await service.read(lambda: list(lines(service.reader.decided(last), people=True)))
    content: dict[str, Any] = private({"lines": told_lines})
    return content
