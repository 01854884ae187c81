"""diurnal: differentially private reports, for ever, on data that repeats.

The way through the house, each room knowing only the ones before it:

    readings   any layout of meter data becomes integers on a regular grid, a column a household
               read, panel, write, open_panel, save_panel; Panel, Grid, Shape, Quality; Format, Rows
    check      are they almost periodic, and with which period? For the custodian's eyes
               check; Verdict, Thresholds, Drift, private_drift; Private, public
    promise    what is asked, bounded, hidden and promised
               Sum, Mean, Weighted, Share, Histogram; Body, Ellipsoid, Basis; Guarantee, Budget
    planning   all of it as plain data, its error predicted before anything is spent
               Plan, Reference, typical, informed, predict, choose, explain, epsilon_for, best_split, trade;
               smooth, which tells afterwards what released reports say of the truth
    curator    start once, report each step once, for ever
               Curator, Stream, Report; watch_folder, watch_table, watch_frame
    show       tables, charts, the command line
               whatever can be drawn has .draw("file.svg")
    study      beside the way: the paper as it is printed, reproduced, compared with every rival; promises audited
               diurnal.study.paper, .reproduction.reproduce, .compare.compare, .curves.curves, .town.Town;
               .audit.audit.audit, .audit.attacks.attacks

Examples:
    >>> import diurnal as dn
    >>> from diurnal.study.town import Town
    >>> panel = Town(homes=40, days=20).panel()
    >>> plan = dn.Plan(query=dn.Mean(), epsilon="1", domain=(0, 8000), history=10, grid=panel.grid)
    >>> verdict = dn.check(panel)
    >>> stream = dn.Curator.in_memory().start(plan, history=panel.first(10), acknowledge=verdict.digest)
    >>> len(stream.report(panel.after(10)))
    480
"""

from diurnal.check.drift import Drift, private_drift

# The function takes the name of its room, as its users expect; import what is in the room with `from`.
from diurnal.check.verdict import Thresholds, Verdict, check
from diurnal.curator.curator import Curator
from diurnal.curator.report import Report
from diurnal.curator.stream import Stream
from diurnal.curator.watch import watch_folder, watch_frame, watch_table
from diurnal.picture import hung_in as _hung_in
from diurnal.planning.bounds import informed
from diurnal.planning.free import Free
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
from diurnal.planning.public import typical
from diurnal.planning.reference import Reference, public_reference
from diurnal.planning.smoothing import Smoothed, smooth
from diurnal.planning.trade import Trades, trade
from diurnal.private import Private, public
from diurnal.promise.body import Body, Ellipsoid
from diurnal.promise.budget import Budget
from diurnal.promise.guarantee import Guarantee
from diurnal.promise.mechanisms.basis import Basis
from diurnal.promise.query import Histogram, Mean, Share, Sum, Weighted
from diurnal.readings.formats.base import Aside, Format, Rows
from diurnal.readings.grid import Grid
from diurnal.readings.importing import Readings, panel, read, write
from diurnal.readings.kept import open_panel, save_panel
from diurnal.readings.panel import Panel, Shape
from diurnal.readings.quality import Quality

_hung_in(*(f"diurnal.show.{room}" for room in ("attacks", "audit", "charts", "figures", "rivals")))

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
    "Free",
    "Grid",
    "Guarantee",
    "Histogram",
    "Mean",
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
    "Verdict",
    "Weighted",
    "best_split",
    "check",
    "choose",
    "epsilon_for",
    "explain",
    "informed",
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
    "write",
]
