"""Every error of diurnal.

    DiurnalError
    ├── InputError (ValueError)        what was given cannot be used; nothing was changed
    │   ├── ReadingsError              readings: floats, ragged rows, a wrong period, a file that is none, ...
    │   │   ├── ClockError             all of them are of times that have not come yet
    │   │   └── UnitError              readings in another unit, by all that is public about them
    │   ├── QueryError                 weights, groups, levels and edges
    │   ├── BodyError                  bounds, caps, references
    │   ├── PlanError                  a plan that contradicts itself, or does not fit its data
    │   └── LimitError                 sums that could leave 64 bits
    ├── RefusedError (RuntimeError)    the curator says no; nothing was drawn, spent or published
    │   ├── BudgetError                the cap would be passed
    │   ├── DifferencingError          too few households would share a published sum
    │   ├── OverlapError               plans that may not speak about the same steps
    │   ├── PopulationError            another grid, period or domain than the store's
    │   ├── AcknowledgeError           nobody has said to have read the verdict on these readings
    │   ├── WorseError                 reports would be worse than publishing nothing at all
    │   ├── PrivateError               what was computed on private data was about to be made public
    │   ├── StoreError                 a store that cannot be reached, written, or believed
    │   │   ├── NoStoreError           there is none
    │   │   └── OwedError              a restored one that does not know yet who was erased since
    │   ├── StreamError                an unknown or stopped stream
    │   └── BatchError                 (of services before; raised no more)
    └── ServiceError (RuntimeError)    a service that says no, or does not answer: it may have done what was asked

Texts name the place and the kind of what was wrong and a remedy, never a reading, a profile or a sum
(docs/theory.md, section 4.7).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def installs(extra: str) -> str:
    """What installs an extra, from an index or in a clone."""
    return f"pip install 'diurnal[{extra}]' (in a clone: pip install -e '.[{extra}]')"


class DiurnalError(Exception):
    """The base of all errors raised on purpose.

    Attributes:
        message: What was wrong, in one sentence.
        hint: What to do about it.
    """

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(f"{message}\nHint: {hint}")
        self.message = message
        self.hint = hint


class InputError(DiurnalError, ValueError):
    """What was given cannot be used; nothing was changed."""


class ReadingsError(InputError):
    """Readings that cannot be used: no integers on a regular grid, a source that cannot be read or does not fit."""


class ClockError(ReadingsError):
    """Readings of times that have not come yet: a clock is wrong, the sender's or this machine's.

    Attributes:
        rows: How many there were.
    """

    def __init__(self, message: str, *, hint: str, rows: int) -> None:
        super().__init__(message, hint=hint)
        self.rows = rows


class UnitError(ReadingsError):
    """Readings are a thousand times too small or too large for what is public about such homes."""


class QueryError(InputError):
    """A query, its weights or its groups make no sense."""


class BodyError(InputError):
    """Bounds that hold no vector, or do not fit the period."""


class PlanError(InputError):
    """A plan that contradicts itself, or does not fit the data it is used with."""


class LimitError(InputError):
    """Sums could leave 64 bits, so nothing is computed at all."""


class RefusedError(DiurnalError, RuntimeError):
    """The curator says no; nothing was drawn, spent or published."""


class BudgetError(RefusedError):
    """A plan asks for more than the cap leaves.

    Attributes:
        remaining: What the most charged household of the roster has left.
        requested: What the plan asks for.
    """

    def __init__(self, message: str, *, hint: str, remaining: Fraction, requested: Fraction) -> None:
        super().__init__(message, hint=hint)
        self.remaining = remaining
        self.requested = requested


class DifferencingError(RefusedError):
    """A published sum would be about too few households (theory 4.6).

    Attributes:
        sizes: How many households each offending atom has (public: rosters are).
        minimum: How many are needed.
    """

    def __init__(self, message: str, *, hint: str, sizes: Sequence[int], minimum: int) -> None:
        super().__init__(message, hint=hint)
        self.sizes = tuple(sizes)
        self.minimum = minimum


class OverlapError(RefusedError):
    """Two plans may not speak about the same steps of the same households (theory 4.5)."""


class PopulationError(RefusedError):
    """One store is one population: one grid, one period, one domain, one channel."""


class AcknowledgeError(RefusedError):
    """Nobody has said to have read the verdict on these readings (`dn.check`)."""


class WorseError(RefusedError):
    """Reports are predicted, from public numbers alone, to be worse than publishing nothing at all."""


class PrivateError(RefusedError):
    """What was computed on private data was about to be made public."""


class StoreError(RefusedError):
    """The store cannot be reached, written or believed; nothing was drawn, spent or published."""


class NoStoreError(StoreError):
    """There is no store, and none was to be made."""


class OwedError(StoreError):
    """A restored store does not know who was erased, or has moved out, since its backup."""


class StreamError(RefusedError):
    """The stream is unknown here, or has been stopped."""


class BatchError(RefusedError):
    """A batch of readings came under a key that other readings were taken with.

    It is raised no more, since it told whether a guess of readings was right; programs that catch it go on.
    """


class ServiceError(DiurnalError, RuntimeError):
    """A service has said no, or has not answered.

    Where it has not (`status` 0), or says that something went wrong (500 and above), nobody knows here whether it
    has done what was asked: ask again. A batch that is sent again under its key is taken once.

    Attributes:
        status: Its answer by number; 0 if there was none.
        code: Its answer in a word.
    """

    def __init__(self, message: str, *, hint: str, status: int = 0, code: str = "unreachable") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
