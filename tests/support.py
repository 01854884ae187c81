"""What several tests need: small panels, neighbours, exact laws of whole transcripts."""

import functools
import itertools
from contextlib import contextmanager

import numpy as np
import pytest

from diurnal import Basis, Body, Budget, Curator, Ellipsoid, Grid, Histogram, Panel, Plan, Reference, Shape, Share
from diurnal.errors import ReadingsError
from diurnal.readings.formats import BLANK, Rows, as_array, micro_values
from diurnal.readings.row_buffer import RowBuffer
from diurnal.study.audit import exact


@contextmanager
def refuses(kind, code):
    """Expect an error of a kind by its code: what it says may be put otherwise one day."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code


nightly = pytest.mark.nightly


def for_now(every, *now):
    """Parameters of which only some run in `make test`: the others are nightly."""
    return [each if each in now else pytest.param(each, marks=nightly) for each in every]


@pytest.fixture(params=for_now(["memory", "sqlite", "postgresql"], "sqlite"))
def opens(request, on):
    """Opens a curator on a store, for rules in which no database has a part: on the other kinds by night."""
    return functools.partial(on, request.param)


ROOMY = Budget(pattern="1000", cycle="1000", delta="1e-6")
"""A budget that never refuses, for tests of something else."""


BASIS = {
    "level": "strong",
    "mechanism": "basis",
    "cycle_mechanism": "basis",
    "basis": Basis(size=3),
    "cycle_basis": Basis(size=3),
}
"""Strong mode that reports at the end of a cycle."""

BLOCKS = {
    "level": "strong",
    "mechanism": "cube",
    "cycle_mechanism": "blocks",
    "cycle_basis": Basis(size=2),
    "variation_bound": Ellipsoid(radius=40),
}
"""Strong mode that reports at the end of each half of a cycle."""

SLOTWISE = {"level": "strong", "mechanism": "cube", "cycle_mechanism": "laplace", "variation_bound": 30}
"""Strong mode that reports slot by slot."""


KINDS = {
    "pattern": {"level": "pattern", "mechanism": "cube"},
    "strong": SLOTWISE,
    "strong, basis": BASIS,
    "strong, blocks": BLOCKS,
    "share": {"level": "cycle", "query": Share(above=50), "history": 0},
    "histogram": {"level": "cycle", "query": Histogram([20, 60]), "history": 0},
}
"""What makes a plan of each kind."""

every_kind = pytest.mark.parametrize("name", KINDS)


def small_panel(readings, *, present=None, slots=2, **more) -> Panel:
    """A panel on a grid of few slots."""
    return Panel.from_array(readings, present=present, grid=Grid(slots=slots), **more)


def town(*, n=40, cycles=12, slots=4, seed=1, high=100, groups=None, first_step=0) -> Panel:
    """Made-up readings with a profile for each household."""
    rng = np.random.default_rng(seed)
    profile = rng.integers(0, high // 2, size=(slots, n))
    moves = rng.integers(0, high // 2, size=(cycles, slots, n))
    return small_panel((profile + moves).reshape(-1, n), slots=slots, groups=groups, first_step=first_step)


def of_groups(panel: Panel, number: int) -> Panel:
    """The households of a panel so many times, each time a group: noise is drawn for each by itself."""
    groups = {"group": [f"{each:04}" for each in range(number) for _ in panel.households]}
    return Panel.from_array(np.tile(panel.readings, (1, number)), grid=panel.grid, groups=groups)


def plan_for(panel: Panel, **more) -> Plan:
    """A plan for a small panel; pattern mode with Laplace noise unless said otherwise."""
    fields = {
        "grid": panel.grid,
        "domain": (0, 100),
        "history": 4,
        "epsilon": "1",
        "level": "pattern",
        "mechanism": "laplace",
        "minimum_group": 1,
    }
    return Plan(**{**fields, **more})


REFERENCE = Reference(profile=[300 + 50 * (s % 24) // 8 for s in range(48)])
"""What is publicly known of days of half hours."""

SHAPE = Shape(group_sizes=(226,))
"""As many homes as the real data of some tests have."""


def daily_plan(**more) -> Plan:
    """A plan for days of half hours, its mechanism left to auto; pattern mode unless said otherwise."""
    fields = {"epsilon": "1", "domain": (0, 8000), "history": 91, "level": "pattern", "body": Body(high=3000)}
    return Plan(**{**fields, **more})


def bare_plan(**more) -> Plan:
    """A plan for days of four slots that says no more than it must."""
    fields = {"epsilon": "1", "domain": (0, 100), "history": 2, "grid": Grid(slots=4, minutes=360)}
    return Plan(**{**fields, **more})


def guarantee(**more):
    """What a plan for a small panel promises."""
    return plan_for(town(), **more).guarantee()


def start(panel: Panel, plan: Plan, *, budget: Budget = ROOMY):
    """Start a plan on the first cycles of a panel, in a store of its own."""
    return Curator.in_memory(budget).start(
        plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True
    )


def begin(name: str, panel: Panel, **more):
    """Start a plan of a kind on the first cycles of a panel, in a store of its own."""
    return start(panel, plan_for(panel, **{**KINDS[name], **more}))


def start_in(curator: Curator, panel: Panel, **fields):
    """Start a plan with these fields on the first cycles of a panel, in a store that is there."""
    plan = plan_for(panel, **fields)
    return curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)


def numerators(rows) -> list:
    """The exact sums of rows."""
    return [row.numerator for row in rows]


def standard_deviation(mechanism, slots) -> float:
    """The root mean square over the slots of the standard deviation of a mechanism's noise."""
    return float(np.sqrt(np.mean([mechanism.variance(row) for row in np.eye(slots)])))


def grid_points(dimension, reach):
    """Every integer vector with components up to `reach`."""
    return np.array(list(itertools.product(range(-reach, reach + 1), repeat=dimension)))


def laws_of(pattern, cycle, moves, reach):
    """The exact laws of a transcript and of the same moved by `moves` (cycles x slots), at transcripts in a window.

    P(y) = sum over v_z of m_z(v_z) prod_k m_w(y_k - v_z), with exact masses m_z and m_w, summed over all v_z of
    any weight (the rest is below e^-15 of the largest).
    """
    slots = moves.shape[1]
    hidden = grid_points(slots, 60 if slots == 1 else 24)
    seen = grid_points(slots, reach)
    weights = np.exp(exact.log_mass(pattern, hidden))

    def factors(shift):
        differences = (seen[:, None, :] - shift - hidden[None, :, :]).reshape(-1, slots)
        return np.exp(exact.log_mass(cycle, differences)).reshape(len(seen), len(hidden))

    letters = "abcd"[: len(moves)]
    rule = ",".join(f"{letter}z" for letter in letters) + f",z->{letters}"
    ours = np.einsum(rule, *([factors(np.zeros(slots))] * len(moves)), weights, optimize=True)
    theirs = np.einsum(rule, *(factors(move) for move in moves), weights, optimize=True)
    return ours, theirs


def worst_log_ratio(pattern, cycle, moves, reach):
    """The largest |log P(y)/P'(y)| over transcripts in a window."""
    ours, theirs = laws_of(pattern, cycle, moves, reach)
    return float(np.abs(np.log(ours) - np.log(theirs)).max())


def staged(form, part):
    """What a part gives, with RowBuffer's own checks: {(household, meter): {seconds: millionths}}, and asides."""
    buffer, found = RowBuffer(None, form), {}
    with buffer.spill:
        for rows in form.read(part):
            buffer.add(part, rows)
            if isinstance(rows, Rows):
                values = rows.sign * micro_values(as_array(rows.value, len(rows.time)), form.unit)[0]
                names = zip(rows.household.to_pylist(), rows.meter.to_pylist(), strict=True)
                for name, time, value in zip(names, rows.time.tolist(), values.tolist(), strict=True):
                    found.setdefault(name, {})[time] = None if value == BLANK else value
    return found, buffer.asides


def refusal(form, part):
    """What is said of a part that cannot be read."""
    with pytest.raises(ReadingsError) as caught:
        staged(form, part)
    return caught.value.message
