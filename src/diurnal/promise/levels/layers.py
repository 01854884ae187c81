"""Layers: the mechanisms that levels are made of."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from diurnal.errors import PlanError
from diurnal.promise.body import Body, Ellipsoid, Sensitivity, counting_sensitivity
from diurnal.promise.levels.base import Terms
from diurnal.promise.mechanisms import SLOTS, BasisMechanism, Blocks, Mechanism
from diurnal.promise.mechanisms.prior import Known


def profile_layer(terms: Terms, *, weight: int, total: int, known: Known | None) -> Mechanism:
    """Hides the profiles of a group's households (theory 5)."""
    body, slots = terms.profile_body, terms.grid.slots
    if terms.mechanism == "basis":
        if known is not None and isinstance(body, Ellipsoid):
            body = replace(body, reference=known.reference)
        return BasisMechanism(
            terms.basis,
            body,
            slots=slots,
            magnitude=max(map(abs, terms.domain)),
            weight=weight,
            epsilon=terms.eps_z,
            delta=_delta(terms),
            prior=terms.prior(body, known),
            total=total,
        )
    if isinstance(body, Ellipsoid):
        raise PlanError("mechanism-needs-body", mechanism=terms.mechanism)
    return _slot_layer(terms, terms.mechanism, body.sensitivity(slots), weight, terms.eps_z, body)


def variation_layer(terms: Terms, *, weight: int) -> Mechanism:
    """Hides the variations of one cycle around learned profiles (theory 4)."""
    slots, bound, reach = terms.grid.slots, terms.variation_bound, width(terms)
    if terms.cycle_mechanism == "basis":
        body = bound if isinstance(bound, Ellipsoid) else Body(low=-clip(terms), high=clip(terms))
        return BasisMechanism(
            terms.cycle_basis,
            body,
            slots=slots,
            magnitude=reach,
            weight=weight,
            epsilon=terms.eps_w,
            delta=_delta(terms),
            l2_square=_variation_sensitivity(terms).l2_square,
        )
    if terms.cycle_mechanism == "blocks":
        return Blocks(terms.cycle_basis.size, bound, slots=slots, width=reach, weight=weight, epsilon=terms.eps_w)
    if isinstance(bound, Ellipsoid):
        raise PlanError("mechanism-needs-number", mechanism=terms.cycle_mechanism)
    return _slot_layer(terms, terms.cycle_mechanism, _variation_sensitivity(terms), weight, terms.eps_w, None)


def counting_layer(terms: Terms, *, weight: int) -> Mechanism:
    """Hides in which bins a household is counted in one cycle (theory 6.8)."""
    sensitivity = counting_sensitivity(terms.grid.slots, len(terms.query.series))
    return _slot_layer(terms, terms.mechanism, sensitivity, weight, terms.eps_w, None)


def width(terms: Terms) -> int:
    """R_x, how far apart two readings can be."""
    return terms.domain[1] - terms.domain[0]


def clip(terms: Terms) -> int:
    """How far a variation can be from 0, where it is clipped slot by slot."""
    bound = terms.variation_bound
    return min(bound, width(terms)) if isinstance(bound, int) else width(terms)


def _delta(terms: Terms) -> Fraction | None:
    return None if terms.delta is None else Fraction(terms.delta)


def _variation_sensitivity(terms: Terms) -> Sensitivity:
    """R_w = min(2W, R_x) in every slot: readings of one cycle change, the profile stays."""
    reach, slots = min(2 * clip(terms), width(terms)), terms.grid.slots
    return Sensitivity(ranges=(reach,) * slots, l1=slots * reach, l2_square=slots * reach**2)


def _slot_layer(
    terms: Terms, name: str, sensitivity: Sensitivity, weight: int, epsilon: Fraction, body: Body | None
) -> Mechanism:
    if name not in SLOTS:
        raise PlanError("mechanism-impossible", name=name, choices=", ".join(SLOTS))
    kind = SLOTS[name]
    more: dict[str, Any] = {"delta": _delta(terms) or Fraction(0)} if kind.needs_delta else {}
    return kind(sensitivity, weight=weight, epsilon=epsilon, body=body, **more)
