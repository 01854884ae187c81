"""Timing: when the rows of a plan come out, in a sentence. It is the same wherever a plan is spoken of."""

from __future__ import annotations

from diurnal.planning.plan import Plan


def when_out(plan: Plan) -> str:
    """When rows come out. It is no part of the promise.

    Raises:
        PlanError: A mechanism is still `auto`: choose first.
    """
    slots, cycle = plan.grid.slots, plan.cycle_layer()
    length = 1 if cycle is None else cycle.ready(0) + 1
    if length == 1:
        said = "Rows come out step by step, each step's with its readings"
    elif length < slots:
        said = f"Rows of a block come out together, with the readings of its last step: every {length} steps"
    else:
        said = f"Rows of a cycle come out together, with the readings of its last step: every {slots} steps"
    waits = f", or up to {plan.grace} steps later where readings are missing" if plan.grace else ""
    sooner = ""
    if length == slots > 1 and plan.level == "strong":
        sooner = " The cycle mechanism blocks gives them sooner, usually with a larger error."
    return f"{said}{waits}.{sooner}"
