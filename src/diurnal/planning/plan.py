"""Plan: everything a stream of reports is decided by, as plain data.

A plan is a file: versioned JSON both ways, decimals as strings, and a hash that stays the same for ever. It
holds public knowledge only. What follows from it (mechanisms, guarantee) is computed here; what it would
cost in accuracy is predicted by `planner`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from diurnal.errors import PlanError
from diurnal.exact import Number, instance, positive, text
from diurnal.planning import checks
from diurnal.planning.free import VariationReference
from diurnal.planning.reference import Reference
from diurnal.promise.body import (
    AnyBody,
    Body,
    Ellipsoid,
    body_from_json,
)
from diurnal.promise.budget import NOTHING, Loss, check_delta
from diurnal.promise.guarantee import Guarantee, HistoryBound
from diurnal.promise.levels import LEVELS, Level
from diurnal.promise.mechanisms import (
    Basis,
    CycleMechanismName,
    Mechanism,
    MechanismName,
    SlotMechanism,
)
from diurnal.promise.mechanisms.prior import Known, Prior
from diurnal.promise.query import Mean, Query, query_from_json
from diurnal.readings.grid import Grid
from diurnal.readings.kernels import Statistic
from diurnal.readings.panel import Panel, Shape

VERSION = 1
LATER = frozenset({"fill", "shrink", "free", "deadline"})
"""Fields that plans of this version did not have from the beginning."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A query, a promise, and how it is kept. Strong is recommended and the default.

    Examples:
        >>> plan = Plan(query=Mean(), epsilon="1", domain=(0, 8000), history=91)
        >>> plan.level, plan.mechanism
        ('strong', 'auto')
    """

    query: Query = field(default_factory=Mean)
    """What is reported."""
    groups: str | None = None
    """The partition of the roster to report by; None for the whole roster."""
    roster: str | None = None
    """A digest of who is in it; filled in when the plan is started."""
    grid: Grid = field(default_factory=Grid)
    """Unit, interval, time zone, anchor and period."""
    channel: str = "consumption"
    """What is metered: consumption, generation or net."""
    domain: tuple[int, int]
    """The physical range of a reading; what lies outside is set aside as missing."""
    level: str = "strong"
    """`strong`, `pattern` (the paper's), or `cycle` for Share and Histogram."""
    epsilon: Number
    """eps_z, for a shift of the periodic component; the cycle's at level `cycle`."""
    cycle_epsilon: Number | None = None
    """eps_w, for one reported cycle; epsilon unless given."""
    delta: Number | None = None
    """For Gaussian noise."""
    history: int = 0
    """How many complete cycles the profile is made from."""
    first_cycle: int | None = None
    """The cycle at which the history begins; filled in when the plan is started."""
    horizon: int = 365
    """For how many reported cycles the bound on a history cycle is stated."""
    min_readings: int | None = None
    """k_min, below which a household's slot has no profile; half of the history unless given."""
    default_reading: int = 0
    """The public constant that stands for a slot without a profile."""
    statistic: Statistic = "mean"
    """`mean`, or `base-load`: the least reading of the history. Pattern mode only."""
    body: AnyBody | None = None
    """Where profiles are put; the domain unless given."""
    variation_bound: int | Ellipsoid | None = None
    """W, to which variations are clipped in strong mode; or a ball of a cycle's coefficients."""
    mechanism: MechanismName = "auto"
    """For the pattern layer; for the only layer at level `cycle`."""
    cycle_mechanism: CycleMechanismName = "auto"
    """For the cycle layer of strong mode."""
    basis: Basis = field(default_factory=Basis)
    """The coefficients of the pattern layer, where its mechanism is `basis`."""
    cycle_basis: Basis = field(default_factory=lambda: checks.CYCLE_BASIS)
    """The coefficients of the cycle layer, where its mechanism is `basis`; its size is the number of `blocks`."""
    reference: Reference | None = None
    """Public knowledge for predictions; without it no biased mechanism is chosen."""
    fill: Number = Fraction(0)
    """How much of what a basis drops of the reference is put back into the noisy profile."""
    shrink: bool = False
    """Whether noisy coefficients of the profile are drawn towards the reference, by its mismatch."""
    free: VariationReference | None = None
    """In pattern mode: how a reference is made from the history's variations, which neighbours share."""
    grace: int = 0
    """How many steps to wait for late readings."""
    deadline: int | None = None
    """After how many steps a step is closed with what is there, from its end or the first reading of its cycle,
    whichever is later; two days unless given."""
    minimum_group: int = 15
    """The least number of households a group, and in pattern mode an atom, may have."""
    calendar: str | None = None
    """A digest of the public calendar; filled in when the plan is started."""

    def __post_init__(self) -> None:
        checks.check_kinds(self)
        checks.check_choices(self)
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        if self.cycle_epsilon is not None:
            object.__setattr__(self, "cycle_epsilon", positive(self.cycle_epsilon, "cycle_epsilon"))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta(self.delta))
        object.__setattr__(self, "domain", checks.check_domain(self.domain))
        object.__setattr__(self, "fill", checks.check_fill(self.fill))
        checks.check_counts(self)
        checks.check_level(self)
        checks.check_free(self)
        checks.check_bodies(self)

    @cached_property
    def hash(self) -> str:
        """The plan's name: a digest of its canonical JSON."""
        content = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    @cached_property
    def certificate_number(self) -> str:
        """By what its certificate is found again: its digest without what a start fills in from the history.

        It is the same before and after a start, once mechanisms are chosen. It is not cut short: with 64 bits of it
        somebody could look for two plans of one number, have the better one signed, and start the other.
        """
        return self.with_(roster=None, calendar=None, first_cycle=None).hash

    @cached_property
    def protection(self) -> Level:
        """Its level, as an object that says what it hides and makes its layers."""
        return LEVELS[self.level]

    @property
    def eps_z(self) -> Fraction:
        """Epsilon as a fraction."""
        return Fraction(self.epsilon)

    @property
    def eps_w(self) -> Fraction:
        """cycle_epsilon as a fraction."""
        return Fraction(self.epsilon if self.cycle_epsilon is None else self.cycle_epsilon)

    @property
    def k_min(self) -> int:
        """How many readings a household's slot needs to have a profile."""
        return max(1, (self.history + 1) // 2) if self.min_readings is None else self.min_readings

    @property
    def profile_body(self) -> AnyBody:
        """The body of the pattern layer."""
        return Body(low=self.domain[0], high=self.domain[1]) if self.body is None else self.body

    @property
    def clip(self) -> int | None:
        """W, where variations are clipped slot by slot."""
        return self.variation_bound if isinstance(self.variation_bound, int) else None

    @property
    def bounded(self) -> bool:
        """Whether bounds may clip what lies in the domain."""
        return self.body is not None or self.variation_bound is not None

    @property
    def half(self) -> int:
        """The largest W at which changing a profile moves one cycle's variations no further than readings can."""
        return max(1, self._width() // 2)

    @cached_property
    def stretch(self) -> Fraction:
        """How many times further one cycle's contribution can move if the household's profile changes as well."""
        return self.protection.stretch(self)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The names of its mechanisms, one a layer."""
        return tuple(getattr(self, name) for name in self.protection.mechanism_fields)

    @property
    def mechanisms_text(self) -> str:
        """Its mechanisms in a word, as in predictions and on pages: `cube+laplace`."""
        return "+".join(self.mechanisms)

    def pattern_layer(self, weight: int = 1, total: int = 1, known: Known | None = None) -> Mechanism | None:
        """The mechanism that hides profiles, for a group; None where the periodic component is not hidden.

        Args:
            weight: The heaviest weight in the group.
            total: The sum of its weights.
            known: What the history's variations say, for a plan that takes a free reference.
        """
        return self.protection.pattern_layer(self, weight=weight, total=total, known=known)

    def cycle_layer(self, weight: int = 1) -> Mechanism | None:
        """The mechanism that hides one cycle, for the heaviest weight of a group; None where no cycle is hidden."""
        return self.protection.cycle_layer(self, weight=weight)

    @cached_property
    def losses(self) -> Mapping[str, Loss]:
        """What it costs each of its households, by the cap of a `Budget` that counts it.

        `pattern` is what a shift of the periodic component loses, `strong` what any one reported cycle does; where
        a level does not protect one of them, nothing is counted for it, which is not a loss of nothing.
        """
        layers = {"pattern": self.pattern_layer(), "strong": self.cycle_layer()}
        return {name: layer.loss if layer else NOTHING for name, layer in layers.items()}

    def shape_of(self, homes: Shape | Panel) -> Shape:
        """How large its groups are, among homes of which nothing else is used."""
        instance(homes, (Shape, Panel), "shape", example="panel.shape_by(plan.groups)")
        return homes.shape_by(self.groups) if isinstance(homes, Panel) else homes

    def guarantee(self) -> Guarantee:
        """What the plan promises, in words and numbers.

        Raises:
            PlanError: A mechanism is still `auto`: choose first.
        """
        pattern, cycle = self.pattern_layer(), self.cycle_layer()
        return Guarantee(
            level=self.level,
            pattern=pattern.loss if pattern else None,
            cycle=cycle.loss if cycle else None,
            delta=None if self.delta is None else Fraction(self.delta),
            history=_history_bound(self, pattern, cycle),
            groups=self.groups is not None,
            free=self.free is not None,
            base_load=self.statistic == "base-load",
            law=cycle.law(Fraction(1)) if cycle else None,
            stretched=cycle.law(self.stretch) if cycle else None,
            stretch=self.stretch,
            cycle_days=self.grid.cycle_days,
            from_midnight=self.grid.from_midnight,
        )

    def with_(self, **changes: Any) -> Plan:
        """The same plan with some fields changed."""
        unknown = set(changes) - {each.name for each in fields(self)}
        if unknown:
            raise PlanError("plan-unknown-fields", fields=sorted(unknown))
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Versioned plain data with decimals as strings."""
        data: dict[str, Any] = {"diurnal_plan": VERSION}
        for each in fields(self):
            value = getattr(self, each.name)
            # What is as before there was such a field goes without saying: plans keep their names.
            if each.name not in LATER or value != each.default:
                data[each.name] = _plain(value)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan that `to_json` wrote.

        Raises:
            PlanError: Another version, or a field that is unknown or missing.
        """
        instance(data, Mapping, "a plan", example="json.loads(text)")
        values = dict(data)
        version = values.pop("diurnal_plan", None)
        if version != VERSION:
            later = isinstance(version, int) and version > VERSION
            raise PlanError("plan-file-later" if later else "plan-file-version", known=VERSION, version=version)
        known = {each.name for each in fields(cls)}
        missing, unknown = known - LATER - set(values), set(values) - known
        if missing or unknown:
            raise PlanError("plan-file-fields", missing=sorted(missing), unknown=sorted(unknown))
        bound, body = values["variation_bound"], values["body"]
        try:
            return cls._of_plain(values, bound, body)
        except (TypeError, KeyError, AttributeError) as cause:
            raise PlanError("plan-file-form") from cause

    @classmethod
    def _of_plain(cls, values: dict[str, Any], bound: Any, body: Any) -> Plan:
        return cls(
            **{
                **values,
                "query": query_from_json(values["query"]),
                "grid": Grid(**values["grid"]),
                "domain": tuple(values["domain"]),
                "body": None if body is None else body_from_json(body),
                "variation_bound": body_from_json(bound) if isinstance(bound, Mapping) else bound,
                "basis": Basis.from_json(values["basis"]),
                "cycle_basis": Basis.from_json(values["cycle_basis"]),
                "reference": Reference(**values["reference"]) if values["reference"] else None,
                "free": VariationReference.from_json(values["free"]) if values.get("free") else None,
            }
        )

    def _width(self) -> int:
        return self.domain[1] - self.domain[0]

    def prior(self, body: AnyBody, known: Known | None) -> Prior | None:
        """What is known of the mean profile besides what is released, public or free."""
        if not isinstance(body, Ellipsoid) or body.reference is None:
            return None
        target = replace(body, scale=1).centre(self.grid.slots)
        fill = [round(Fraction(self.fill) * int(value)) for value in target] if known is None else known.fill
        far = float(self.reference.mismatch or 0) if self.shrink and self.reference is not None else None
        return Prior(target=target, fill=np.array(fill, dtype=np.int64), distance=far)


def _history_bound(plan: Plan, pattern: Mechanism | None, cycle: Mechanism | None) -> HistoryBound | None:
    """What a change in one history cycle costs in strong mode (theory 4.3)."""
    if not (isinstance(pattern, SlotMechanism) and isinstance(cycle, SlotMechanism)):
        return None
    move = -(-(plan.domain[1] - plan.domain[0]) // plan.k_min)
    shift = [move] * plan.grid.slots
    base, each = pattern.loss_of_shift(shift), cycle.loss_of_shift(shift)
    if base is None or each is None:
        return None
    if isinstance(plan.profile_body, Body) and not plan.profile_body.by_slot:
        base = _diameter_and(base, pattern.loss)
    return HistoryBound(base=base, each=each, horizon=plan.horizon)


def _diameter_and(shift: Loss, diameter: Loss) -> Loss:
    """The loss of a move by the body's diameter and a shift together: distances add, zCDP is their square."""
    if not diameter.zcdp:
        return Loss.pure(shift.epsilon + diameter.epsilon)
    # (sqrt(a) + sqrt(b))^2 <= 2 (a + b)
    return Loss.concentrated(2 * (shift.zcdp + diameter.zcdp))


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return text(value)
    if isinstance(value, tuple):
        return list(value)
    return value.to_json() if hasattr(value, "to_json") else value
