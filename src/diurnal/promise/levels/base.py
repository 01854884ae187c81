"""Base: what a level is, and what it reads of a plan.

The rest of the product asks a level what it does (does it learn profiles, are its variations exact) and never which
one it is, so that a new level meets no comparison by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, Literal, Protocol

from diurnal.exact import Number
from diurnal.promise.body import AnyBody, Ellipsoid
from diurnal.promise.mechanisms import Basis, Mechanism
from diurnal.promise.mechanisms.prior import Known, Prior
from diurnal.promise.query import Query
from diurnal.readings.grid import Grid

Conflict = Literal["exact variations", "periodic component"]
"""Why two plans over the same households may not stand beside each other."""


class Terms(Protocol):
    """What a level reads of a plan."""

    @property
    def query(self) -> Query: ...
    @property
    def grid(self) -> Grid: ...
    @property
    def domain(self) -> tuple[int, int]: ...
    @property
    def eps_z(self) -> Fraction: ...
    @property
    def eps_w(self) -> Fraction: ...
    @property
    def delta(self) -> Number | None: ...
    @property
    def profile_body(self) -> AnyBody: ...
    @property
    def variation_bound(self) -> int | Ellipsoid | None: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def cycle_mechanism(self) -> str: ...
    @property
    def basis(self) -> Basis: ...
    @property
    def cycle_basis(self) -> Basis: ...
    def prior(self, body: AnyBody, known: Known | None) -> Prior | None: ...


class Level(ABC):
    """What a plan promises: its neighbours, its layers, what is public of it, and the words for all of that.

    A level has no state. `tests/promise/levels/test_base.py` is the contract that every level in `LEVELS` keeps.
    """

    name: ClassVar[str]
    """What plans and ledgers call it."""
    letter: ClassVar[str]
    """Its letter in the head of a ledger, which no other level has."""

    # What it does.
    learns: ClassVar[bool]
    """Whether profiles are learned from a history, and the periodic component is hidden."""
    hides_cycle: ClassVar[bool]
    """Whether any one reported cycle is hidden."""
    exact_variations: ClassVar[bool] = False
    """Whether sums of variations are reported without noise, which neighbours share."""
    noisy_variations: ClassVar[bool] = False
    """Whether variations from a learned profile are reported with noise of their own."""
    counts: ClassVar[bool] = False
    """Whether it is for queries that count households, and for no others."""
    profile_is_public: ClassVar[bool] = False
    """Whether the noisy profile may be shown; elsewhere that would void the promise (theory 4.3)."""
    mechanism_fields: ClassVar[tuple[str, ...]] = ("mechanism",)
    """The fields of a plan that name its mechanisms, one a layer."""

    # What it says to whoever chooses.
    known_as: ClassVar[str]
    """What is said of it beside its name."""
    unhidden: ClassVar[str]
    """What none of its epsilons hides, to stand beside them."""

    # What it says to whoever signs.
    neighbours: ClassVar[tuple[str, ...]]
    """What may differ between two data sets that the reports can hardly tell apart (theory 2, 3 and 6.8)."""
    unit: ClassVar[str]
    """What is protected as one, in the terms of NIST SP 800-226; `{cycle}` is what a cycle is called."""
    limits: ClassVar[tuple[str, ...]]
    """What it does not promise (theory 6)."""
    cycle_changes: ClassVar[str] = "variations"
    """What of a reported cycle may change."""

    # What it says to everybody.
    promised: ClassVar[str]
    """What it promises, in one sentence."""
    unprotected: ClassVar[tuple[str, ...]]
    """What it does not protect, in short; `{larger}` is what larger changes cost."""
    uncounted: ClassVar[str] = ""
    """For what nothing is counted in the ledger, because it is not protected."""
    noise: ClassVar[str]
    """How its noise comes again."""
    apart: ClassVar[str]
    """What two rows tell about a change."""

    @property
    def label(self) -> str:
        """What it is called where it is chosen."""
        return f"{self.name} ({self.known_as})"

    @property
    def layers(self) -> int:
        """How many layers of noise it has, each with an epsilon."""
        return self.learns + self.hides_cycle

    @abstractmethod
    def pattern_layer(self, terms: Terms, *, weight: int, total: int, known: Known | None) -> Mechanism | None:
        """The mechanism that hides profiles; None if the periodic component is not hidden.

        Args:
            terms: The plan's.
            weight: The heaviest weight in the group.
            total: The sum of its weights.
            known: What the history's variations say, where the plan takes a free reference.
        """

    @abstractmethod
    def cycle_layer(self, terms: Terms, *, weight: int) -> Mechanism | None:
        """The mechanism that hides one cycle; None if no cycle is hidden.

        Args:
            terms: The plan's.
            weight: The heaviest weight in the group.
        """

    def stretch(self, terms: Terms) -> Fraction:
        """How many times further one cycle's contribution can move if the household's profile changes as well."""
        return Fraction(1)

    def conflict(self, other: Level) -> Conflict | None:
        """Why a plan of this level may not stand beside one of another over the same households.

        - "periodic component": one shows what the other hides, whatever steps they report (theory 6.8).
        - "exact variations": one shows exactly what the other hides, at steps that both speak about (theory 4.5).
        """
        if self.learns != other.learns:
            return "periodic component"
        if self.exact_variations != other.exact_variations:
            return "exact variations"
        return None

    def follows(self, other: Level) -> bool:
        """Whether a plan of this level may be the successor of one of the other, and never repeats its steps."""
        return self.name == other.name
