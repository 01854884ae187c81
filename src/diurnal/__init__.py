"""diurnal: differentially private reports, for ever, on data that repeats.

The way of a reading, from a line of a file to a public chart, and of a unit of budget, from a plan to the ledger.
Each room knows only the ones before it:

    readings   a line of a file becomes an integer on a regular grid, a column a household
               read gives Readings, panel a Panel (on a Grid, of a Shape) and its Quality: what became of every row
               save_panel and open_panel for ourselves, write for others; a layout of one's own: Format, Rows, Aside
    check      are they almost periodic, and with which period? For the custodian's eyes
               check gives a Verdict (by Thresholds), private_drift a Drift; Private marks what is, public stops it
    promise    what is asked: Sum, Mean, Weighted, Share, Histogram; how far a home can move it: Body, Ellipsoid, in
               coefficients of a Basis; what is promised: Guarantee; what a custodian allows in all: Budget
    planning   all of it as plain data, a Plan, its error known before anything is spent
               from public knowledge (Reference, typical, public_reference; or VariationReference):
               with_public_bounds
               predict gives a Prediction, trade gives Trades; choose, epsilon_for, best_split; explain, numbered
    curator    start once, report each step once, for ever
               a Curator starts a Stream, each row a Report; watch_folder, watch_table, watch_frame feed it, and an
               Outcome says what became of readings
               afterwards smooth gives what released rows say of the truth: Smoothed
    show       the page, the command line, the service; whatever can be drawn has .draw("file.svg")
    study      beside the way: the paper as it is printed, reproduced, compared with every rival; promises audited
               diurnal.study.paper, .reproduction.reproduce, .compare.compare, .curves.curves, .town.Town;
               .audit.audit.audit, .audit.attacks.attacks

Examples:
    >>> import diurnal as dn
    >>> from diurnal.study.town import Town
    >>> panel = Town(homes=40, days=20).panel()
    >>> plan = dn.Plan(query=dn.Mean(), epsilon="1", domain=(0, 8000), history=10, grid=panel.grid)
    >>> plan = dn.with_public_bounds(plan, panel, mean_reading=400)  # with the domain's own bounds it is refused
    >>> verdict = dn.check(panel)
    >>> stream = dn.Curator.in_memory().start(plan, history=panel.first(10), acknowledge=verdict.digest)
    >>> len(stream.report(panel.after(10)))
    480
"""

import warnings as _warnings
from typing import Any as _Any

from diurnal.curator.curator import Curator
from diurnal.curator.intake import watch_folder, watch_frame, watch_table
from diurnal.curator.release import Outcome, Report
from diurnal.curator.stream import Stream
from diurnal.periodicity.drift import Drift, private_drift

# The function takes the name of its room, as its users expect; import what is in the room with `from`.
from diurnal.periodicity.verdict import Thresholds, Verdict, check
from diurnal.picture import register_chart_modules as _register_chart_modules
from diurnal.planning.bounds import with_public_bounds
from diurnal.planning.free import VariationReference
from diurnal.planning.plan import Plan
from diurnal.planning.planner import (
    best_split,
    choose,
    epsilon_for,
    explain,
    numbered,
    predict,
)
from diurnal.planning.prediction import Prediction
from diurnal.planning.public_tables import typical
from diurnal.planning.reference import Reference, public_reference
from diurnal.planning.smoothing import Smoothed, smooth
from diurnal.planning.trade import Trades, trade
from diurnal.private import Private, public
from diurnal.promise.body import Body, Ellipsoid
from diurnal.promise.budget import Budget
from diurnal.promise.guarantee import Guarantee
from diurnal.promise.mechanisms.basis import Basis
from diurnal.promise.query import Histogram, Mean, Share, Sum, Weighted
from diurnal.readings.formats import Aside, Format, Rows
from diurnal.readings.grid import Grid
from diurnal.readings.importing import Readings, panel, read
from diurnal.readings.panel import Panel, Shape
from diurnal.readings.panel_export import write
from diurnal.readings.panel_file import open_panel, save_panel
from diurnal.readings.quality import Quality

_CHARTS = ("attack_charts", "audit", "charts", "figure_charts", "rival_charts")
_register_chart_modules(*(f"diurnal.show.{module}" for module in _CHARTS))

__version__ = "0.1.0"

__all__ = [
    "Aside",
    "Basis",
    "Body",
    "Budget",
    "Curator",
    "Drift",
    "Ellipsoid",
    "Format",
    "Grid",
    "Guarantee",
    "Histogram",
    "Mean",
    "Outcome",
    "Panel",
    "Plan",
    "Prediction",
    "Private",
    "Quality",
    "Readings",
    "Reference",
    "Report",
    "Rows",
    "Shape",
    "Share",
    "Smoothed",
    "Stream",
    "Sum",
    "Thresholds",
    "Trades",
    "VariationReference",
    "Verdict",
    "Weighted",
    "best_split",
    "check",
    "choose",
    "epsilon_for",
    "explain",
    "numbered",
    "open_panel",
    "panel",
    "predict",
    "private_drift",
    "public",
    "public_reference",
    "read",
    "save_panel",
    "smooth",
    "trade",
    "typical",
    "watch_folder",
    "watch_frame",
    "watch_table",
    "with_public_bounds",
    "write",
]

_RENAMED = {"Free": "VariationReference", "informed": "with_public_bounds"}


def __getattr__(name: str) -> _Any:
    """What went by another name in the version before."""
    if name not in _RENAMED:
        raise AttributeError(f"module 'diurnal' has no attribute {name!r}")
    _warnings.warn(f"diurnal.{name} is now diurnal.{_RENAMED[name]}.", DeprecationWarning, stacklevel=2)
    return globals()[_RENAMED[name]]
