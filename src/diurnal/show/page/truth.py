"""What the custodian's page has besides: the truth, the realised error, and what the check found. All private.

The truth of a step is the query's own value on the readings given. Where readings are missing, the mean of those
that are there stands for them, so that a gap is not taken for an error of the mechanism.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from diurnal.curator.started_plan import StreamRecord
from diurnal.curator.stream import Stream
from diurnal.errors import ReadingsError
from diurnal.exact import instance
from diurnal.periodicity.correlation import Correlations, worth_showing
from diurnal.periodicity.periods import in_words
from diurnal.periodicity.verdict import Verdict
from diurnal.planning.prediction import short
from diurnal.private import PrivateDict, private
from diurnal.promise.query import CountingQuery
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.panel import Panel
from diurnal.show.drawing import SCALE
from diurnal.show.page.content import Facts
from diurnal.show.page.words import day

MOST = 400
"""How many rows and columns the heatmap has, at most: beyond, cycles share one."""

BLANK = -128
"""What stands for no correlation in the heatmap's bytes."""


def private_content(facts: Facts, stream: Stream, truth: Panel, verdict: Verdict | None) -> PrivateDict:
    """The truth of every released row, how far reports are from it, and the verdict's charts."""
    instance(truth, Panel, "truth", example="panel", error=ReadingsError)
    if verdict is not None:
        instance(verdict, Verdict, "verdict", example="dn.check(panel)", error=ReadingsError)
    true = true_values(facts, stream._record(), truth)
    content: PrivateDict = private(
        {
            "overlay": {
                "label": "the truth",
                "values": [_written(facts, true, place) for place in range(len(true))],
            },
            "errors": [_errors(facts, true, place) for place in range(len(true))],
            "check": None if verdict is None else _check(verdict),
        }
    )
    return content


def true_values(facts: Facts, record: StreamRecord, truth: Panel) -> Floats:
    """The query's true value, a row a series and a column a released step; NaN where nobody was read."""
    steps, cells = np.array(facts.steps, dtype=np.int64), len(facts.plan.query.series)
    if not len(steps):
        return np.zeros((0, 0))
    homes = record.profiles()
    sums = np.zeros((cells, len(facts.names), len(steps)), dtype=np.int64)
    seen = np.zeros(sums.shape[1:], dtype=np.int64)
    there = _cut(facts, truth)
    inside = np.flatnonzero(np.isin(steps, np.array(there.steps)))
    for block in there.blocks():
        places = np.array([record.places.get(name, -1) for name in block.households])
        group = np.where(places < 0, 0, homes.group[places])
        for number in range(len(facts.names)):
            mine = np.flatnonzero(group == number + 1)
            part = block.columns(mine)
            rows = steps[inside] - block.first_step
            weights = homes.weight[places[mine]]
            sums[:, number, inside] += _sums(facts, part.readings[rows], part.present[rows], weights)
            seen[number, inside] += np.count_nonzero(part.present[rows], axis=1)
    if not seen.any():
        raise ReadingsError("truth-no-reading")
    return _scaled(facts, sums, seen, np.bincount(homes.group, minlength=len(facts.names) + 1)[1:])


def _sums(facts: Facts, readings: Integers, present: Marks, weights: Integers) -> Integers:
    """The query's sums over some households of a group: a row a series, a column a step."""
    query = facts.plan.query
    if not isinstance(query, CountingQuery):
        return np.asarray((readings * weights).sum(axis=1)[None])
    cells = np.where(present, query.cells(readings), -1)
    return np.stack([np.count_nonzero(cells == cell, axis=1) for cell in range(len(query.series))])


def _scaled(facts: Facts, sums: Integers, seen: Integers, members: Integers) -> Floats:
    """Sums as rows are shown, with the mean of who was read in the place of who was not."""
    over = np.array([facts.plan.query.denominator(size) for size in facts.sizes])
    missing = members[:, None] / np.maximum(seen, 1)
    values = np.where(seen > 0, sums / over[:, None] * missing, np.nan)
    return np.asarray(values.reshape(-1, sums.shape[2]))


def _cut(facts: Facts, truth: Panel) -> Panel:
    """The truth on the stream's grid, and no more of it than was released; readings beyond the domain are gaps."""
    placed = truth.on_grid(facts.grid).between(facts.steps[0], facts.steps[-1] + 1)
    return placed.within(*facts.plan.domain)[0]


def _written(facts: Facts, true: Floats, place: int) -> str:
    """The true values of a series, as fine as its rows are written; a dash where there is none."""
    rows = facts.rows[place :: len(true)]
    return " ".join(
        "-" if np.isnan(value) else f"{value:.{len(row.value.partition('.')[2])}f}"
        for value, row in zip(true[place].tolist(), rows, strict=True)
    )


def _errors(facts: Facts, true: Floats, place: int) -> dict[str, str]:
    """How far a series is from the truth, in words and numbers."""
    rows = facts.rows[place :: len(true)]
    known = ~np.isnan(true[place])
    if not known.any():
        return {}
    value, std = (np.array([float(getattr(row, name)) for row in rows])[known] for name in ("value", "std"))
    truth, steps = true[place][known], np.array(facts.steps)[known]
    error = value - truth
    level = abs(float(truth.mean()))
    rms, worst = _rms(error), int(np.abs(error).argmax())
    moment = facts.grid.wall(int(steps[worst]))
    found = {
        f"root mean square error ({facts.unit})": short(rms),
        "relative to the mean": f"{100 * rms / level:.3g} %" if level else "the mean is 0",
        "mean error, released less true": short(float(error.mean())),
        "largest error": f"{short(abs(float(error[worst])))} on {day(moment)}, {moment:%H:%M}",
        "inside two standard deviations": f"{100 * float(np.mean(np.abs(error) <= 2 * std)):.1f} % of rows",
    }
    return found | _daily(facts, steps, error, truth)


def _daily(facts: Facts, steps: Integers, error: Floats, truth: Floats) -> dict[str, str]:
    """The error of the totals of whole local days."""
    start = np.datetime64(facts.grid.wall(0), "m")
    days = (start + steps * facts.grid.minutes).astype("datetime64[D]").astype(np.int64)
    _, place, count = np.unique(days, return_inverse=True, return_counts=True)
    whole = count == facts.grid.slots_in(days=1)
    if not whole.any():
        return {}
    totals = [np.bincount(place, weights=each)[whole] for each in (error, truth)]
    rms, level = _rms(totals[0]), abs(float(totals[1].mean()))
    share = f" ({100 * rms / level:.3g} % of a day)" if level else ""
    return {f"error of a day's total, {int(whole.sum()):,} whole days": f"{short(rms)}{share}"}


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _check(verdict: Verdict) -> dict[str, Any]:
    """The verdict in words and charts."""
    found, limit = verdict.correlations, verdict.thresholds
    edges, percent = found.histogram(50)
    lags, means = found.by_lag()
    shown = worth_showing(lags)
    return {
        "words": verdict.words,
        "period": in_words(found.grid.slots, found.grid.minutes),
        "sentences": list(verdict.sentences()),
        "since": day(found.grid.wall(found.first_step)),
        "heat": _heat(found),
        "histogram": {"edges": edges.tolist(), "percent": np.round(percent, 4).tolist()},
        "largest": round(found.largest, 4),
        "median": round(found.median, 4),
        "pairs": len(found.pairs),
        "limit": limit.largest,
        "lags": lags[shown].tolist(),
        "means": np.round(means[shown], 5).tolist(),
        "rhythm": verdict.rhythm,
    }


def _heat(found: Correlations) -> dict[str, Any]:
    """The matrix as signed bytes, a share of the largest each; cycles that do not count are blank."""
    cycles = found.cycles.numbers
    size = int(cycles[-1]) + 1
    each = -(-size // MOST)
    cells = -(-size // each)
    matrix = found.matrix.copy()
    np.fill_diagonal(matrix, 0)
    place = cycles // each
    total, count = np.zeros((cells, cells)), np.zeros((cells, cells))
    np.add.at(total, np.ix_(place, place), matrix)
    np.add.at(count, np.ix_(place, place), 1 - np.eye(len(cycles)))
    level = np.rint(127 * total / np.maximum(count, 1) / found.reach)
    coded = np.where(count > 0, level, BLANK).astype(np.int8)
    return {
        "size": cells,
        "each": each,
        "reach": found.reach,
        "scale": list(SCALE),
        "cells": base64.b64encode(coded.tobytes()).decode(),
    }
