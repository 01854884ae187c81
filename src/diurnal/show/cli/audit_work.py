"""The work of `audit`: whom and what it takes, and what it says of what it finds. Loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer
from rich.table import Table

from diurnal.errors import PlanError
from diurnal.exact import text
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose
from diurnal.readings.panel import Panel
from diurnal.readings.panel_file import is_kept
from diurnal.show import audit as page
from diurnal.show import document
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import a_panel, a_plan, a_store, a_stream, shown
from diurnal.show.files import is_store
from diurnal.study.audit.attacks import Attack, Population
from diurnal.study.audit.attacks import attacks as attacked
from diurnal.study.audit.audit import Audit
from diurnal.study.audit.audit import audit as audited
from diurnal.study.audit.transcripts import Fact, running


def audit(
    screen: Screen,
    what: str,
    out: Path,
    *,
    stream: str | None,
    data: str | None,
    open_data: str | None,
    deep: bool,
    attacks: bool,
    profiles: Path | None,
) -> None:
    """Audit what is asked for, write it, and say it."""
    document.ready(out)
    plan, held, about = _subject(what, stream, profiles)
    homes = None if data is None else _homes(data, plan)
    plan = _chosen(plan, homes)
    population = _population(plan, homes, open_data, deep=deep) if attacks else None
    done = audited(plan, deep=deep)
    result = replace(done, facts=(*done.facts, *held))
    found: tuple[Attack, ...] = ()
    if population is not None:
        given = plan if _fits(plan, population) else None
        about = [*about, _about(population, plan, given)]
        found = attacked(population, epsilon=plan.eps_z, deep=deep, plan=given)
    files = page.write(result, out, attacks=found, about=about)
    _say(screen, result, found, out, files)
    if not result.passed:
        raise typer.Exit(1)


def _subject(what: str, key: str | None, profiles: Path | None) -> tuple[Plan, list[Fact], list[str]]:
    """The plan to audit, what its store shows if it has one, and what that is in words."""
    if "://" in what or is_store(Path(what)):
        curator = a_store(what, profiles)
        found = a_stream(curator, key)
        name = shown(what) if "://" in what else Path(what).name
        said = f"Audited: stream {found.plan.hash[:12]} of the store {name}, and the store itself"
        return found.plan, running(curator, found), [f"{said}, at head {curator.head}."]
    if key is not None:
        raise PlanError("cli-stream-needs-store")
    if is_kept(what):
        raise PlanError("cli-panel-not-plan")
    return a_plan(Path(what)), [], [f"Audited: the plan of {Path(what).name}."]


def _homes(data: str, plan: Plan) -> Panel:
    """The panel of --data, in cycles of the plan."""
    panel = a_panel([data], like=plan.grid, domain=plan.domain)
    if (panel.grid.minutes, panel.grid.unit) != (plan.grid.minutes, plan.grid.unit):
        raise PlanError(
            "cli-data-grid",
            minutes=plan.grid.minutes,
            unit=plan.grid.unit,
            data_minutes=panel.grid.minutes,
            data_unit=panel.grid.unit,
        )
    return panel.with_period(plan.grid.slots)


def _chosen(plan: Plan, homes: Panel | None) -> Plan:
    """The plan with its mechanisms chosen, for as many homes as there are."""
    if "auto" not in plan.mechanisms:
        return plan
    if homes is None:
        raise PlanError("cli-plan-undecided")
    return choose(plan, homes)


def _population(plan: Plan, homes: Panel | None, open_data: str | None, *, deep: bool) -> Population:
    """Whom to attack."""
    if homes is None:
        if open_data is not None:
            raise PlanError("cli-open-data-needs-data")
        # Groups of a thousand homes take long.
        return Population.town(crowd=1000 if deep else 250)
    elsewhere = None if open_data is None else a_panel([open_data]).with_period(plan.grid.slots)
    return Population.of(homes, domain=plan.domain, open_data=elsewhere)


def _fits(plan: Plan, population: Population) -> bool:
    """Whether the plan itself can be put to a population: sums, in steps and a domain as its own."""
    grid, theirs = plan.grid, population.panel.grid
    alike = (grid.slots, grid.minutes, grid.unit) == (theirs.slots, theirs.minutes, theirs.unit)
    (low, high), (least, most) = plan.domain, population.domain
    return not plan.query.counting and alike and low <= least and most <= high


def _about(population: Population, plan: Plan, given: Plan | None) -> str:
    who = "homes of a made-up town" if population.made_up else "homes of the custodian"
    more = (
        'The audited plan is attacked as well, as "this plan".'
        if given is not None
        else "The audited plan itself is not among them: it counts, or has other steps or another domain."
    )
    return (
        f"Attacked: {population.panel.n_households:,} {who}, {population.panel.n_cycles:,} cycles, each release at "
        f"epsilon {text(plan.eps_z)}. {more}"
    )


def _say(screen: Screen, result: Audit, found: Sequence[Attack], out: Path, files: Sequence[Path]) -> None:
    private = page.is_private(found)
    content = page.numbers(result, () if private else found)
    if private:
        # Scores are against the truth: they are in the files, which are their owner's alone.
        content["attacks"] = None
    screen.result({**content, "private": private, "out": str(out), "files": [str(path) for path in files]})
    screen.say(result)
    if found and not private:
        screen.heading("What an attacker could learn about a home (this breaks no promise; see the page for more)")
        screen.table(_attacks(found))
    where = f"{out}, for the custodian's eyes" if private else f"{out}"
    screen.say(f"\nwritten to {where}: audit.html, audit.md, numbers.json, figures")


def _attacks(found: Sequence[Attack]) -> Table:
    """A row an attack, its first case and smallest group: the others are on the page."""
    head = page.scores(found).head
    shown = table(*head)
    # A number means nothing without what it would be if all were learned: for some, less is more.
    shown.columns[0].no_wrap = True
    for attack in found:
        row = page.scores([attack], head[3:]).rows[0]
        shown.add_row(attack.name, *row[1:])
    return shown
