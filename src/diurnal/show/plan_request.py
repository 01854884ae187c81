"""What a plan is asked for: each field once, for the command line, the service and the explorer.

The flags of `diurnal plan` (`cli/verbs.py`), the body of `POST /v1/custodian/plan` (`web/models/decisions.py`) and
the controls of the explorer (`web/templates/controls.html`) are made from the fields of `PlanRequest`. To add a
field, add it here, and say in `proposal.py` what it does to the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from diurnal.errors import PlanError
from diurnal.promise.levels import LEVELS
from diurnal.promise.mechanisms import CycleMechanismName, MechanismName
from diurnal.promise.query import Histogram, Mean, Query, Share, Sum

BOUNDS = "Bounds, from public knowledge"
NOISE = "Noise"

REPORTED, PROMISED, WHO, MORE = "What is reported", "What is promised", "Who and how long", "Noise, and what else"
SECTIONS = (REPORTED, PROMISED, WHO, BOUNDS, MORE)
"""The explorer's sections; the last is folded."""

DECIMAL = {"pattern": r"^[0-9]{1,12}(\.[0-9]{1,12})?$"}
"""A decimal in text, so that nothing is lost in a float."""
LENGTH = {"ge": 1, "le": 10**9}
"""How far readings may be apart."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One choice in a list of the explorer."""

    value: str
    """What is sent."""
    label: str
    """What is shown."""
    marks: tuple[str, ...] = ()
    """What is true once it is chosen: controls with such a `when` are shown."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """How the explorer asks for a field."""

    section: str
    """The heading it stands under."""
    label: str
    """What it is called."""
    second_label: str = ""
    """What the second number of a pair is called."""
    cycle_label: str = ""
    """What it is called where the level learns no usual cycle."""
    when: str = ""
    """The mark of a level with which it is shown; always, unless given."""
    kind: str = "whole"
    """What is typed: whole, decimal or chance; a choice is chosen."""
    value: str = ""
    """What it begins with; with the field's default unless given."""
    needed: bool = False
    """Whether it must not be empty."""
    placeholder: str = ""
    """What is said where it is empty."""
    slider: tuple[str, str] | None = None
    """The least and the largest value of a slider."""
    slides: str = ""
    """What the slider is called; as the field unless given."""
    in_unit: bool = False
    """Whether it is in the unit of readings."""
    options: tuple[Option, ...] = ()
    """What can be chosen."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What a field of a request is, beside its type and default."""

    help: str
    """The help of its flag."""
    description: str = ""
    """Its description in the service's API; its help unless given."""
    panel: str | None = None
    """The heading of its flag in the help."""
    choices: tuple[str, ...] = ()
    """Every value it can have; the service refuses others, and plans do."""
    least: int | None = None
    """The least value that a flag takes."""
    limits: Mapping[str, Any] | None = None
    """What the service takes of it, by the names that pydantic has for limits."""
    control: Control | None = None
    """How the explorer asks for it; not at all unless given."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a request, as surfaces are made of it."""

    name: str
    """The argument, and the key of JSON; a flag has dashes."""
    kind: Any
    """Its type."""
    default: Any
    """What it is unless given."""
    ask: Ask
    """All else."""

    @property
    def description(self) -> str:
        """What it is, where it is no flag."""
        return self.ask.description or self.ask.help

    @property
    def limits(self) -> dict[str, Any]:
        """What the service takes of it, by the names that pydantic has for limits."""
        return {**({} if self.ask.least is None else {"ge": self.ask.least}), **(self.ask.limits or {})}

    @property
    def section(self) -> str | None:
        """The heading it stands under in the explorer; None where that does not ask for it."""
        return self.ask.control.section if self.ask.control else None

    @property
    def begins(self) -> str:
        """What its control begins with."""
        begun = self.ask.control.value if self.ask.control else ""
        return begun or ("" if self.default is None else str(self.default))

    @property
    def options(self) -> tuple[Option, ...]:
        """What can be chosen in its control; nothing where something is typed."""
        named = self.ask.control.options if self.ask.control else ()
        return named or tuple(Option(value=each, label=each) for each in self.ask.choices)


def _options(*named: tuple[str, str]) -> tuple[Option, ...]:
    return tuple(Option(value=value, label=label) for value, label in named)


def _levels() -> tuple[Option, ...]:
    """Every level, with what it does."""
    marks = {
        name: {
            "counts": level.counts,
            "measures": not level.counts,
            "learns": level.learns,
            "layered": level.layers == 2,
        }
        for name, level in LEVELS.items()
    }
    return tuple(
        Option(value=name, label=level.label, marks=tuple(mark for mark, is_so in marks[name].items() if is_so))
        for name, level in LEVELS.items()
    )


def _histogram(edges: str) -> Query:
    try:
        return Histogram(tuple(int(edge) for edge in edges.split(",")))
    except ValueError:
        raise PlanError("cli-edges") from None


QUERIES: Mapping[str, Callable[[PlanRequest], Query | None]] = {
    "mean": lambda _: Mean(),
    "sum": lambda _: Sum(),
    "share": lambda request: None if request.above is None else Share(above=request.above),
    "histogram": lambda request: None if request.edges is None else _histogram(request.edges),
}
"""Every query that can be asked for by its name; None where a request lacks what it needs."""


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What a plan is asked for. How fields are asked for and described is in their annotations."""

    epsilon: Annotated[
        str | None,
        Ask(
            help="For a shift of a home's periodic component, for ever.",
            limits=DECIMAL,
            control=Control(
                section=PROMISED,
                label="ε for a shift of the usual cycle, for ever",
                cycle_label="ε for any one reported cycle",
                kind="decimal",
                value="1",
                needed=True,
                slider=("0.01", "10"),
            ),
        ),
    ] = None
    query: Annotated[
        str,
        Ask(
            help="mean, sum, share (--above) or histogram (--edges).",
            description="What is to be reported.",
            choices=tuple(QUERIES),
            control=Control(
                section=REPORTED,
                label="Query",
                options=_options(
                    ("mean", "average home (mean)"),
                    ("sum", "all homes together (sum)"),
                    ("share", "share of homes above"),
                ),
            ),
        ),
    ] = "mean"
    above: Annotated[
        int | None,
        Ask(
            help="For share: the reading to count homes above.",
            description="For share: homes above it are counted.",
            limits={"ge": -(10**9), "le": 10**9},
            control=Control(
                section=REPORTED, label="Above", when="counts", value="1000", needed=True, in_unit=True
            ),
        ),
    ] = None
    edges: Annotated[
        str | None,
        Ask(
            help="For histogram: 200,500,1000 makes four bins.",
            limits={"max_length": 200, "pattern": r"^-?\d{1,9}(,-?\d{1,9}){0,15}$"},
        ),
    ] = None
    level: Annotated[
        str,
        Ask(
            help=f"{', '.join(level.label for level in LEVELS.values())}.",
            description="What is to be protected.",
            choices=tuple(LEVELS),
            control=Control(section=REPORTED, label="Level", when="measures", options=_levels()),
        ),
    ] = "strong"
    groups: Annotated[
        str | None,
        Ask(
            help="The partition to report by, such as suburb.",
            limits={"max_length": 64},
            control=Control(section=REPORTED, label="Groups", options=_options(("", "the whole roster"))),
        ),
    ] = None
    history: Annotated[
        int,
        Ask(
            help="How many whole cycles to learn patterns from.",
            limits={"ge": 1, "le": 3660},
            control=Control(
                section=WHO,
                label="History (cycles)",
                when="learns",
                needed=True,
                slider=("1", "400"),
                slides="the history",
            ),
        ),
    ] = 91
    statistic: Annotated[
        str,
        Ask(
            help="A home's profile: mean, or in pattern mode base-load, which hides less.",
            choices=("mean", "base-load"),
        ),
    ] = "mean"
    cycle_epsilon: Annotated[
        str | None,
        Ask(
            help="For one home in one reported cycle; epsilon's.",
            description="For one home in one reported cycle; as epsilon unless given.",
            limits=DECIMAL,
            control=Control(
                section=PROMISED,
                label="ε for any one reported cycle",
                when="layered",
                kind="decimal",
                value="1",
                needed=True,
                slider=("0.01", "10"),
            ),
        ),
    ] = None
    target_error: Annotated[
        str | None,
        Ask(
            help="Instead of --epsilon: the least one with such an error.",
            description="Instead of epsilon: the least one with such an error.",
            limits=DECIMAL,
        ),
    ] = None
    total_epsilon: Annotated[
        str | None,
        Ask(
            help="Instead of --epsilon: both of a strong plan together, split at best.",
            description="Instead of epsilon: both of a strong plan, split at best.",
            limits=DECIMAL,
        ),
    ] = None
    domain: Annotated[
        tuple[int, int] | None,
        Ask(
            help="Least and largest reading; the panel's own.",
            description="The least and the largest reading of a step; the panel's own unless given.",
            panel=BOUNDS,
            control=Control(
                section=BOUNDS,
                label="Least reading",
                second_label="Largest reading",
                placeholder="as in the panel",
                in_unit=True,
            ),
        ),
    ] = None
    mean_reading: Annotated[
        str | None,
        Ask(
            help="The PUBLIC mean of a reading, from statistics.",
            panel=BOUNDS,
            limits=DECIMAL,
            control=Control(
                section=BOUNDS,
                label="Public mean of a reading",
                when="learns",
                kind="decimal",
                placeholder="not known",
                in_unit=True,
            ),
        ),
    ] = None
    free: Annotated[bool, Ask(help="Pattern mode: a reference from the history's variations.", panel=BOUNDS)] = True
    body_radius: Annotated[
        int | None,
        Ask(
            help="How far a home's profile may be from the public one.",
            panel=BOUNDS,
            limits=LENGTH,
            control=Control(
                section=BOUNDS,
                label="Radius of profiles",
                when="learns",
                placeholder="chosen for you",
                slider=("1", "100000"),
                slides="the radius of profiles; at its left end it is chosen for you",
                in_unit=True,
            ),
        ),
    ] = None
    cycle_radius: Annotated[
        int | None, Ask(help="How long a day's variations may be.", panel=BOUNDS, limits=LENGTH)
    ] = None
    variation_bound: Annotated[
        int | None,
        Ask(
            help="Clip variations slot by slot to this instead.",
            description="Instead of cycle_radius: clip variations to it slot by slot.",
            panel=BOUNDS,
            limits=LENGTH,
            control=Control(
                section=BOUNDS,
                label="Bound on a cycle\N{RIGHT SINGLE QUOTATION MARK}s variations",
                when="layered",
                placeholder="none",
                in_unit=True,
            ),
        ),
    ] = None
    mechanism: Annotated[
        str,
        Ask(
            help=f"{', '.join(get_args(MechanismName))}.",
            description="The noise of the pattern; auto takes the one with the least error.",
            panel=NOISE,
            choices=get_args(MechanismName),
            control=Control(section=MORE, label="Mechanism of the pattern", cycle_label="Mechanism of a cycle"),
        ),
    ] = "auto"
    cycle_mechanism: Annotated[
        str,
        Ask(
            help="The same, or blocks, for the cycle layer of strong mode.",
            description="The noise of a cycle, in strong mode.",
            panel=NOISE,
            choices=get_args(CycleMechanismName),
            control=Control(section=MORE, label="Mechanism of a cycle", when="layered"),
        ),
    ] = "auto"
    delta: Annotated[
        str | None,
        Ask(
            help="For Gaussian noise.",
            description="For Gaussian noise: 1e-6.",
            panel=NOISE,
            limits={"pattern": r"^(0\.[0-9]{1,20}|1e-[0-9]{1,2})$"},
            control=Control(section=MORE, label="δ, for gaussian", kind="chance", placeholder="none"),
        ),
    ] = None
    grace: Annotated[
        int,
        Ask(
            help="How many steps to wait for late readings.",
            description="How many steps to wait for late readings. With 0 a step is reported with the first batch "
            "that has readings of a tenth of the homes.",
            least=0,
            limits={"le": 10_000},
            control=Control(section=MORE, label="Steps to wait for late readings"),
        ),
    ] = 2
    deadline: Annotated[
        int | None,
        Ask(
            help="After how many steps a step closes with what is there. Two days unless given.",
            description="After how many steps a step closes with what is there, from its end or the first reading "
            "of its cycle, whichever is later; two days unless given.",
            least=1,
            limits={"le": 100_000},
        ),
    ] = None
    minimum_group: Annotated[
        int,
        Ask(
            help="The least homes a published sum may be of.",
            limits={"ge": 1, "le": 10**6},
            control=Control(section=MORE, label="Least homes of a group", needed=True),
        ),
    ] = 15

    def asked_query(self) -> Query:
        """The query that is asked for.

        Raises:
            PlanError: There is none of that name, or what it needs is missing.
        """
        query = QUERIES[self.query](self) if self.query in QUERIES else None
        if query is None:
            raise PlanError("cli-query", given=self.query)
        return query

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is read.

        Raises:
            PlanError: Two things were asked for that exclude each other.
        """
        for flag, given in (("--target-error", self.target_error), ("--total-epsilon", self.total_epsilon)):
            if given is not None and self.cycle_epsilon is not None:
                raise PlanError("cli-epsilon-twice", flag=flag)
        if self.cycle_radius is not None and self.variation_bound is not None:
            raise PlanError("cli-bound-twice")


@dataclass(frozen=True, kw_only=True)
class WhatIfRequest(PlanRequest):
    """What the service may be asked for besides: a plan as it would be for other homes or another cycle."""

    period: Annotated[
        str | None,
        Ask(
            help="How long a cycle is; the panel's own unless given.",
            limits={"max_length": 16, "examples": ["1d", "7d"]},
            control=Control(section=REPORTED, label="Period", options=_options(("1d", "1 day"), ("7d", "1 week"))),
        ),
    ] = None
    households: Annotated[
        int | None,
        Ask(
            help="n; as many as the panel has unless given.",
            limits={"ge": 1, "le": 10**8},
            control=Control(
                section=WHO,
                label="Households n in a group",
                placeholder="as in the panel",
                slider=("15", "1000000"),
                slides="the number of households",
            ),
        ),
    ] = None


@cache
def asked_fields(request: type[PlanRequest]) -> Sequence[Field]:
    """The fields of a kind of request, in order."""
    return tuple(_fields(request))


def _fields(request: type[PlanRequest]) -> Iterator[Field]:
    hints = get_type_hints(request, include_extras=True)
    for field in fields(request):
        kind, ask = get_args(hints[field.name])
        yield Field(name=field.name, kind=kind, default=field.default, ask=ask)
