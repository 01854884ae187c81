"""What a plan is asked for: each field once, for the command line, the service and the explorer.

The flags of `diurnal plan` (`cli/verbs.py`), the body of `POST /v1/custodian/plan` (`web/models/decisions.py`) and
the controls of the explorer (`web/templates/controls.html`) are made from the fields of `PlanRequest`. To add a
field, add it here, and say in `proposal.py` what it does to the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from diurnal.errors import PlanError
from diurnal.promise.levels import LEVELS
from diurnal.promise.mechanisms import CycleMechanismName, MechanismName
from diurnal.promise.query import Histogram, Mean, Query, Share, Sum

BOUNDS = "Bounds, from public knowledge"
NOISE = "Noise"

REPORTED, PROMISED, WHO, MORE = (
    "What is reported",
    "What is promised",
    "Who and how long",
    "Noise and other settings",
)
SECTIONS = (REPORTED, PROMISED, WHO, BOUNDS, MORE)
"""The explorer's sections; the last is folded."""

DECIMAL = {"pattern": r"^[0-9]{1,12}(\.[0-9]{1,12})?$"}
"""A decimal in text, so that nothing is lost in a float."""
LENGTH = {"ge": 1, "le": 10**9}
"""How far readings may be apart."""
EPSILON_OF_A_CYCLE = "ε for any one reported cycle"
AN_EPSILON: Mapping[str, Any] = {"kind": "decimal", "value": "1", "needed": True, "slider": ("0.01", "10")}
"""How the explorer asks for an epsilon."""


@dataclass(frozen=True)
class Option:
    """One choice in a list of the explorer."""

    value: str
    """What is sent."""
    label: str
    """What is shown."""
    marks: tuple[str, ...] = ()
    """What is true once it is chosen: controls with such a `when` are shown."""


@dataclass(frozen=True)
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
class Field:
    """A field of a request, of which every surface is made."""

    name: str = ""
    """The argument, and the key of JSON; a flag has dashes."""
    kind: Any = None
    """Its type."""
    default: Any
    """What it is unless given."""
    help: str
    """The help of its flag."""
    description: str
    """Its description in the service's API."""
    panel: str | None = None
    """The heading of its flag in the help."""
    choices: tuple[str, ...] = ()
    """Every value it can have; the service refuses others, and plans do."""
    least: int | None = None
    """The least value that a flag takes."""
    limits: Mapping[str, Any]
    """What the service takes of it, by the names that pydantic has for limits."""
    control: Control | None = None
    """How the explorer asks for it; not at all unless given."""

    @property
    def section(self) -> str | None:
        """The heading it stands under in the explorer; None where that does not ask for it."""
        return self.control.section if self.control else None

    @property
    def begins(self) -> str:
        """What its control begins with."""
        begun = self.control.value if self.control else ""
        return begun or ("" if self.default is None else str(self.default))

    @property
    def options(self) -> tuple[Option, ...]:
        """What can be chosen in its control; nothing where something is typed."""
        named = self.control.options if self.control else ()
        return named or tuple(Option(each, each) for each in self.choices)


Kind = TypeVar("Kind")


def asked(
    default: Kind,
    help: str,  # noqa: A002
    *,
    description: str = "",
    least: int | None = None,
    limits: Mapping[str, Any] | None = None,
    **more: Any,
) -> Kind:
    """A field of a request: its default, the help of its flag, and what else `Field` has.

    Its description is its help unless given; what a flag takes no less of, the service does not either.
    """
    taken = {**({} if least is None else {"ge": least}), **(limits or {})}
    about = Field(default=default, help=help, description=description or help, least=least, limits=taken, **more)
    made: Kind = field(default=default, metadata={"field": about})
    return made


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
        Option(name, level.label, marks=tuple(mark for mark, is_so in marks[name].items() if is_so))
        for name, level in LEVELS.items()
    )


def _histogram(edges: str) -> Query:
    try:
        return Histogram(tuple(int(edge) for edge in edges.split(",")))
    except ValueError:
        raise PlanError("cli-edges") from None


@dataclass(frozen=True, kw_only=True)
class QueryChoice:
    """A query that can be asked for by its name."""

    make: Callable[[PlanRequest], Query | None]
    """The query of a request; None where the request lacks what it needs."""
    needs: str = ""
    """The flag that it needs."""
    label: str = ""
    """What the explorer calls it; the explorer does not offer it unless given."""
    counts: bool = False
    """Whether it counts households, and so needs a level that does."""


QUERIES = {
    "mean": QueryChoice(make=lambda _: Mean(), label="average home (mean)"),
    "sum": QueryChoice(make=lambda _: Sum(), label="all homes together (sum)"),
    "share": QueryChoice(
        make=lambda request: None if request.above is None else Share(above=request.above),
        needs="--above",
        label="share of homes above",
        counts=True,
    ),
    "histogram": QueryChoice(
        make=lambda request: None if request.edges is None else _histogram(request.edges),
        needs="--edges",
        counts=True,
    ),
}
"""Every query that can be asked for, by its name. Help, errors and the explorer's options are made from it."""

QUERY_NAMES = ", ".join(f"{name} ({choice.needs})" if choice.needs else name for name, choice in QUERIES.items())
"""Their names, with what each needs."""


def _queries() -> tuple[Option, ...]:
    """Every query that the explorer offers."""
    return tuple(
        Option(name, choice.label, marks=("counting",) if choice.counts else ())
        for name, choice in QUERIES.items()
        if choice.label
    )


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """What a plan is asked for. A field has its default, its flag's help, and how else it is asked for."""

    epsilon: str | None = asked(
        None,
        "For a shift of a home's periodic component, over all reports.",
        limits=DECIMAL,
        control=Control(
            PROMISED,
            "ε for a shift of the usual cycle, over all reports",
            cycle_label=EPSILON_OF_A_CYCLE,
            **AN_EPSILON,
        ),
    )
    query: str = asked(
        "mean",
        f"{QUERY_NAMES}.",
        description="What is to be reported.",
        choices=tuple(QUERIES),
        control=Control(
            REPORTED,
            "Query",
            options=_queries(),
        ),
    )
    above: int | None = asked(
        None,
        "For share: the reading to count homes above.",
        description="For share: homes above it are counted.",
        limits={"ge": -(10**9), "le": 10**9},
        control=Control(REPORTED, "Above", when="counts", value="1000", needed=True, in_unit=True),
    )
    edges: str | None = asked(
        None,
        "For histogram: 200,500,1000 makes four bins.",
        limits={"max_length": 200, "pattern": r"^-?\d{1,9}(,-?\d{1,9}){0,15}$"},
    )
    level: str = asked(
        "strong",
        f"{', '.join(level.label for level in LEVELS.values())}.",
        description="What is to be protected.",
        choices=tuple(LEVELS),
        control=Control(REPORTED, "Level", when="measures", options=_levels()),
    )
    groups: str | None = asked(
        None,
        "The partition to report by, such as suburb.",
        limits={"max_length": 64},
        control=Control(REPORTED, "Groups", options=(Option("", "the whole roster"),)),
    )
    history: int = asked(
        91,
        "How many whole cycles to learn patterns from.",
        limits={"ge": 1, "le": 3660},
        control=Control(
            WHO, "History (cycles)", when="learns", needed=True, slider=("1", "400"), slides="the history"
        ),
    )
    statistic: str = asked(
        "mean",
        "A home's profile: mean, or in pattern mode base-load, which hides less.",
        choices=("mean", "base-load"),
    )
    cycle_epsilon: str | None = asked(
        None,
        "For one home in one reported cycle; epsilon's.",
        description="For one home in one reported cycle; as epsilon unless given.",
        limits=DECIMAL,
        control=Control(PROMISED, EPSILON_OF_A_CYCLE, when="layered", **AN_EPSILON),
    )
    target_error: str | None = asked(
        None,
        "Instead of --epsilon: the least one with such an error.",
        description="Instead of epsilon: the least one with such an error.",
        limits=DECIMAL,
    )
    total_epsilon: str | None = asked(
        None,
        "Instead of --epsilon: both of a strong plan together, split at best.",
        description="Instead of epsilon: both of a strong plan, split at best.",
        limits=DECIMAL,
    )
    domain: tuple[int, int] | None = asked(
        None,
        "Least and largest reading; the panel's own.",
        description="The least and the largest reading of a step; the panel's own unless given.",
        panel=BOUNDS,
        control=Control(
            BOUNDS,
            "Least reading",
            second_label="Largest reading",
            placeholder="as in the panel",
            in_unit=True,
        ),
    )
    mean_reading: str | None = asked(
        None,
        "The PUBLIC mean of a reading, from statistics.",
        panel=BOUNDS,
        limits=DECIMAL,
        control=Control(
            BOUNDS,
            "Public mean of a reading",
            when="learns",
            kind="decimal",
            placeholder="not known",
            in_unit=True,
        ),
    )
    free: bool = asked(True, "Pattern mode: a reference from the history's variations.", panel=BOUNDS)
    body_radius: int | None = asked(
        None,
        "How far a home's profile may be from the public one.",
        panel=BOUNDS,
        limits=LENGTH,
        control=Control(
            BOUNDS,
            "Radius of profiles",
            when="learns",
            placeholder="chosen for you",
            slider=("1", "100000"),
            slides="the radius of profiles; at its left end it is chosen for you",
            in_unit=True,
        ),
    )
    cycle_radius: int | None = asked(None, "How long a day's variations may be.", panel=BOUNDS, limits=LENGTH)
    variation_bound: int | None = asked(
        None,
        "Clip variations slot by slot to this instead.",
        description="Instead of cycle_radius: clip variations to it slot by slot.",
        panel=BOUNDS,
        limits=LENGTH,
        control=Control(
            BOUNDS,
            "Bound on a cycle\N{RIGHT SINGLE QUOTATION MARK}s variations",
            when="layered",
            placeholder="none",
            in_unit=True,
        ),
    )
    mechanism: str = asked(
        "auto",
        f"{', '.join(get_args(MechanismName))}.",
        description="The noise of the pattern; auto takes the one with the least error.",
        panel=NOISE,
        choices=get_args(MechanismName),
        control=Control(MORE, "Mechanism of the pattern", cycle_label="Mechanism of a cycle"),
    )
    cycle_mechanism: str = asked(
        "auto",
        "The same, or blocks, for the cycle layer of strong mode.",
        description="The noise of a cycle, in strong mode.",
        panel=NOISE,
        choices=get_args(CycleMechanismName),
        control=Control(MORE, "Mechanism of a cycle", when="layered"),
    )
    delta: str | None = asked(
        None,
        "For Gaussian noise.",
        description="For Gaussian noise: 1e-6.",
        panel=NOISE,
        limits={"pattern": r"^(0\.[0-9]{1,20}|1e-[0-9]{1,2})$"},
        control=Control(MORE, "δ, for Gaussian noise", kind="chance", placeholder="none"),
    )
    grace: int = asked(
        2,
        "How many steps to wait for late readings.",
        description="How many steps to wait for late readings. With 0 a step is reported with the first batch that "
        "has readings of a tenth of the homes.",
        least=0,
        limits={"le": 10_000},
        control=Control(MORE, "Steps to wait for late readings"),
    )
    deadline: int | None = asked(
        None,
        "After how many steps a step closes with what is there. Two days unless given.",
        description="After how many steps a step closes with what is there, from its end or the first reading of "
        "its cycle, whichever is later; two days unless given.",
        least=1,
        limits={"le": 100_000},
    )
    minimum_group: int = asked(
        15,
        "Minimum number of homes in a published sum.",
        limits={"ge": 1, "le": 10**6},
        control=Control(MORE, "Minimum homes per group", needed=True),
    )

    def asked_query(self) -> Query:
        """The query that is asked for.

        Raises:
            PlanError: There is none of that name, or what it needs is missing.
        """
        query = QUERIES[self.query].make(self) if self.query in QUERIES else None
        if query is None:
            raise PlanError("cli-query", given=self.query, choices=QUERY_NAMES)
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

    period: str | None = asked(
        None,
        "How long a cycle is; the panel's own unless given.",
        limits={"max_length": 16, "examples": ["1d", "7d"]},
        control=Control(REPORTED, "Period", options=(Option("1d", "1 day"), Option("7d", "1 week"))),
    )
    households: int | None = asked(
        None,
        "n; as many as the panel has unless given.",
        limits={"ge": 1, "le": 10**8},
        control=Control(
            WHO,
            "Households n in a group",
            placeholder="as in the panel",
            slider=("15", "1000000"),
            slides="the number of households",
        ),
    )


@cache
def asked_fields(request: type[PlanRequest]) -> Sequence[Field]:
    """The fields of a kind of request, in order."""
    kinds = get_type_hints(request)
    return tuple(replace(each.metadata["field"], name=each.name, kind=kinds[each.name]) for each in fields(request))
