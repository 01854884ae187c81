"""The verb `demo`: the main job from readings to a page, on a made-up town of 300 homes."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from diurnal.curator.curator import Curator
from diurnal.curator.release import Report
from diurnal.curator.stream import Stream
from diurnal.periodicity.verdict import Verdict
from diurnal.periodicity.verdict import check as checked
from diurnal.planning.bounds import with_public_bounds
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose, predict
from diurnal.planning.prediction import Prediction
from diurnal.promise.budget import Budget
from diurnal.readings.data import Floats
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.importing import read
from diurnal.readings.panel import Panel
from diurnal.readings.panel_export import write
from diurnal.show.certificate import certificate
from diurnal.show.cli import verbs
from diurnal.show.cli.plans import prediction_table
from diurnal.show.cli.screen import Screen
from diurnal.show.cli.stores import ledger_table
from diurnal.show.export import export
from diurnal.study.town import Town

HISTORY = 180
"""Days from which patterns are learned; at most half of those there are."""

MADE_UP = "The homes and readings of this town are made up: the page is an example, and shows no real data."
"""What the pages of the demo say of themselves."""


def demo(
    screen: Screen,
    out: Annotated[Path | None, typer.Option(help="A new folder for all files; defaults to diurnal-demo.")] = None,
    homes: Annotated[int, typer.Option(help="The number of homes.", min=15)] = 300,
    days: Annotated[int, typer.Option(help="The number of days.", min=16)] = 365,
) -> None:
    """Run the main job from start to end on a made-up town: import, check, plan, start, report, ledger, page.

    It uses no real data. All files are in one folder.
    """
    folder = _new_folder(out)
    made_up = Town(homes=homes, days=days)
    town = _imported(screen, made_up, folder)
    elsewhere = Town(homes=200, days=60, start="2023-07-01", seed=2).panel()
    verdict = _checked(screen, town)
    plan, prediction = _planned(town, elsewhere, "strong")
    screen.heading("3. Plan: the error of every mechanism, and of nothing at all, before anything is spent")
    screen.table(prediction_table(prediction, prediction.row(plan.mechanisms_text), wide=screen.wide))
    curator, stream, rows, speed = _reported(screen, plan, town, verdict, folder / "city.db", elsewhere)
    truth = _truth(made_up, rows)
    _strong_said(screen, rows, truth)
    paper = _pattern(screen, town, elsewhere, verdict, folder / "paper.db", truth)
    screen.heading("6. Ledger: everything that was decided, each event with the hash of the one before")
    screen.table(ledger_table(curator.ledger()))
    screen.say(curator.verify())
    pages = _pages(screen, curator, stream, town, elsewhere, folder)
    error, nothing = _error(rows, truth), _off(prediction, truth)
    screen.result(
        {
            "folder": str(folder),
            "homes": homes,
            "days": days,
            "rows": len(rows),
            "rows_a_second": round(speed),
            "error": error,
            "error_in_pattern_mode": paper,
            "error_of_nothing_at_all": nothing,
            "mean": float(truth.mean()),
            "promise": stream.guarantee.to_json(),
            "pages": [str(page) for page in pages],
            "head": curator.head,
        }
    )
    _in_short(screen, stream, float(truth.mean()), error, nothing, pages[0])


def _history(town: Panel) -> int:
    return min(HISTORY, town.n_cycles // 2)


def _new_folder(out: Path | None) -> Path:
    """A folder that nobody has used: a store is never written over."""
    folder, number = out or Path("diurnal-demo"), 1
    while folder.exists():
        number += 1
        folder = (out or Path("diurnal-demo")).with_name(f"{(out or Path('diurnal-demo')).name}-{number}")
    folder.mkdir(parents=True)
    return folder


def _imported(screen: Screen, made_up: Town, folder: Path) -> Panel:
    screen.heading("1. Readings: any layout becomes integers on a grid, every row accounted for")
    write(made_up.panel(), folder / "meters.parquet")
    town = make_panel(read(folder / "meters.parquet"), zone="Australia/Sydney", out=folder / "homes.parquet")
    assert town.quality is not None
    screen.say(town.quality.table())
    screen.say("200 homes of another made-up town are used as open data of another region: public knowledge.")
    return town


def _checked(screen: Screen, town: Panel) -> Verdict:
    screen.heading("2. Check: are the readings almost periodic? The value of a pattern's epsilon depends on it")
    verdict = checked(town)
    screen.say(verdict)
    return verdict


def _planned(town: Panel, elsewhere: Panel, level: str) -> tuple[Plan, Prediction]:
    draft = Plan(
        level=level,
        epsilon="1",
        domain=(0, 8000),
        history=_history(town),
        grid=town.grid,
    )
    chosen = choose(with_public_bounds(draft, town, open_data=elsewhere), town, open_data=elsewhere)
    return chosen, predict(chosen, town, open_data=elsewhere)


def _reported(
    screen: Screen, plan: Plan, town: Panel, verdict: Verdict, store: Path, elsewhere: Panel
) -> tuple[Curator, Stream, list[Report], float]:
    screen.heading("4. Start once, at level strong; report for as long as readings arrive")
    store.with_name("plan.json").write_text(f"{json.dumps(plan.to_json(), indent=1)}\n")
    store.with_name("certificate.md").write_text(certificate(plan, town, open_data=elsewhere))
    curator = Curator.open(store, Budget(pattern="1", cycle="1"))
    stream = curator.start(plan, history=town.first(_history(town)), acknowledge=verdict.digest)
    screen.sentences(stream.guarantee.sentences())
    began = time.perf_counter()
    rows = stream.report(town.after(_history(town)))
    speed = len(rows) / (time.perf_counter() - began)
    screen.say(f"\n{len(rows):,} half hours of {town.n_households} homes reported, {speed:,.0f} a second.")
    screen.say(f"Reporting again returns the same rows: {stream.report(town.after(_history(town))) == rows}.")
    return curator, stream, rows, speed


def _truth(made_up: Town, rows: list[Report]) -> Floats:
    """The mean of all homes at the reported steps: nobody has this but who made the town up."""
    whole = replace(made_up, gap_rate=0).panel()
    truth: Floats = whole.readings.mean(axis=1)[[row.step for row in rows]]
    return truth


def _error(rows: list[Report], truth: Floats) -> float:
    """Root mean square error of reports."""
    return float(np.sqrt(np.mean((np.array([float(row.value) for row in rows]) - truth) ** 2)))


def _off(prediction: Prediction, truth: Floats) -> float:
    """The error of the public profile as the report: nothing at all."""
    assert prediction.plan.reference is not None
    profile = np.array(prediction.plan.reference.profile, dtype=float)
    return float(np.sqrt(np.mean((np.resize(profile, truth.shape) - truth) ** 2)))


SHADES = " .:-=+*#%@"


def _strong_said(screen: Screen, rows: list[Report], truth: Floats) -> None:
    slots = 48
    released = np.array([float(row.value) for row in rows])
    screen.say("The last two days, midnight to midnight, released and (for the custodian's eyes) true:")
    for day in (-2, -1):
        part = slice(day * slots, (day + 1) * slots or None)
        screen.say(f"  released |{_shades(released[part], truth.max())}|")
        screen.say(f"  true     |{_shades(truth[part], truth.max())}|")


def _shades(values: Floats, top: float) -> str:
    """A line of characters, one a half hour, darker for more."""
    places = np.clip(values / top * (len(SHADES) - 1), 0, len(SHADES) - 1).astype(int)
    return "".join(SHADES[place] for place in places)


def _pattern(screen: Screen, town: Panel, elsewhere: Panel, verdict: Verdict, store: Path, truth: Floats) -> float:
    screen.heading("5. For comparison: the paper's level, pattern, in a second store")
    screen.say(
        "Real homes allow only one of the two, and one store: level pattern publishes exact sums of variations, "
        "which would void what level strong promises. These homes are made up."
    )
    plan, _ = _planned(town, elsewhere, "pattern")
    stream = Curator.open(store).start(plan, history=town.first(_history(town)), acknowledge=verdict.digest)
    error = _error(stream.report(town.after(_history(town))), truth)
    screen.say(
        f"The error of its reports is {error:.0f} Wh: smaller, but they protect little more than standby load."
    )
    return error


def _pages(
    screen: Screen, curator: Curator, stream: Stream, town: Panel, elsewhere: Panel, folder: Path
) -> list[Path]:
    screen.heading("7. The page: one file that opens offline")
    pages = [folder / "page.html", folder / "page-private.html"]
    export(curator, stream, folder / "reports.csv")
    export(curator, stream, pages[0], open_data=elsewhere, note=MADE_UP)
    export(curator, stream, pages[1], truth=town, open_data=elsewhere, note=MADE_UP)
    screen.say(f"{pages[0]} is for everybody; {pages[1]} shows the truth beside it, for the custodian's eyes.")
    return pages


def _in_short(screen: Screen, stream: Stream, mean: float, error: float, nothing: float, page: Path) -> None:
    numbers = stream.guarantee.numbers()
    screen.heading("In short")
    screen.say(
        f"Promised: epsilon {numbers['epsilon']} for a shift of a home's daily pattern, over all reports, and "
        f"{numbers['cycle_epsilon']} for its variations in any one reported day; not for many days together, the "
        "days of the history, nor who is on the "
        "roster (see 4).\n"
        "Cost: all of a budget of 1 and 1. A second plan over these homes would be refused.\n"
        f"Quality: an error of {error:.0f} Wh at a mean of {mean:.0f}; another town's average day would have "
        f"{nothing:.0f}.\n"
        f"Page: {page}\n"
        "Next: your own readings: diurnal import YOUR_FILES --zone ... --out homes.parquet, then diurnal check "
        "homes.parquet."
    )


def add(app: typer.Typer) -> None:
    """Add the verb."""
    verbs.add(app, "demo", demo, example="diurnal demo")
