"""The stream whose steps are timed, in memory and in a file."""

from __future__ import annotations

from typing import Any

import diurnal as dn


def started(curator: dn.Curator, panel: dn.Panel, level: Any, **more: Any) -> dn.Stream:
    """A stream of means with cube noise, on the first cycle of a panel. What else is said goes into its plan."""
    plan = dn.Plan(
        query=dn.Mean(),
        epsilon="1",
        domain=(0, 3000),
        grid=panel.grid,
        history=1,
        level=level,
        mechanism="cube",
        cycle_mechanism="cube",
        **more,
    )
    return curator.start(plan, history=panel.first(1), acknowledge="untested", accept_worse=True)
