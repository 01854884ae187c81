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

An error is a code, parameters and a kind: `PlanError("plan-history-missing", history=0)`. Its words are in
`errors.toml`, where all of them can be read and edited together, for each surface that shows them. They name the
place and the kind of what was wrong and a remedy, never a reading, a profile or a sum (theory 4.7).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any, Literal

Part = Literal["message", "remedy"]

Surface = Literal["python", "cli", "http"]
"""Where an error is shown: remedies speak of arguments, of flags, or of fields of a request."""


@cache
def texts() -> Mapping[str, Mapping[str, Any]]:
    """The words of every error, by code."""
    return tomllib.loads(resources.files("diurnal").joinpath("errors.toml").read_text(encoding="utf-8"))


OWN = "format-own"
"""The code of errors that are raised with a message and a hint instead of a code."""


class DiurnalError(Exception):
    """The base of all errors raised on purpose.

    Attributes:
        code: What was wrong, as an identifier that does not change with its words.
        params: What the words are about: names, numbers and kinds.
    """

    def __init__(self, code: str, /, **params: Any) -> None:
        if code not in texts() and "hint" in params:
            # Programs of others raise these errors too, in their own words: a format of one's own, for example.
            code, params = OWN, {**params, "message": code}
        super().__init__(code)
        self.code = code
        self.params = params

    @property
    def message(self) -> str:
        """What was wrong, in a sentence."""
        return self.said("message")

    @property
    def hint(self) -> str:
        """What to do about it, in Python."""
        return self.said("remedy")

    def said(self, part: Part, surface: Surface = "python", **more: Any) -> str:
        """What was wrong, or what to do about it, as a surface shows it.

        Where the error is about a place in a source (`place`: a file and a line), the message begins with that.

        Args:
            part: Which of the two.
            surface: Who shows it.
            **more: Parameters that a surface adds.
        """
        place = self.params.get("place") if part == "message" else None
        words = self._words(part, surface).format(**{"why": self.why, **self.params, **more})
        return words if place is None else f"{place}: {words}"

    def needed(self, part: Part, surface: Surface) -> set[str]:
        """The parameters that the words for a surface speak of."""
        return {name for _, name, _, _ in Formatter().parse(self._words(part, surface)) if name is not None}

    @property
    def why(self) -> str:
        """The part of the message that other sentences can use; empty where it has none."""
        words: str = texts()[self._text].get("why", "")
        return words.format(**self.params)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `diurnal import` that the remedy for the command line asks for."""
        return tuple(texts()[self._text].get("cli", {}).get("flags", ()))

    def _words(self, part: Part, surface: Surface) -> str:
        text = texts()[self._text]
        words: str = text.get(surface, {}).get(part, text[part])
        return words

    @property
    def _text(self) -> str:
        """Under which code its words are."""
        return self.code

    def __str__(self) -> str:
        return f"{self.message}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self.code, self.params)


def _made(kind: type[DiurnalError], code: str, params: Mapping[str, Any]) -> DiurnalError:
    """An error that was sent between processes."""
    return kind(code, **params)


class InputError(DiurnalError, ValueError):
    """What was given cannot be used; nothing was changed."""


class ReadingsError(InputError):
    """Readings that cannot be used: no integers on a regular grid, a source that cannot be read or does not fit."""


class ClockError(ReadingsError):
    """Readings of times that have not come yet: a clock is wrong, the sender's or this machine's."""

    @property
    def rows(self) -> int:
        """How many there were."""
        return int(self.params["rows"])


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
    """A plan asks for more than the cap leaves."""

    @property
    def remaining(self) -> Fraction:
        """What the most charged household of the roster has left."""
        return Fraction(self.params["remaining"])

    @property
    def requested(self) -> Fraction:
        """What the plan asks for."""
        return Fraction(self.params["requested"])


class DifferencingError(RefusedError):
    """A published sum would be about too few households (theory 4.6)."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many households each offending atom has (public: rosters are)."""
        return tuple(self.params["sizes"])

    @property
    def minimum(self) -> int:
        """How many are needed."""
        return int(self.params["minimum"])


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
        code: Its answer in a word, such as `budget`; `unreachable` if there was none.
        status: Its answer by number; 0 if there was none.
    """

    def __init__(self, text: str, /, *, code: str = "unreachable", status: int = 0, **params: Any) -> None:
        super().__init__(text, **params)
        # What its words go by is ours; what it is called is the service's.
        self.text, self.code, self.status = self.code, code, status

    @property
    def _text(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return _answered, (self.text, self.code, self.status, self.params)


def _answered(text: str, code: str, status: int, params: Mapping[str, Any]) -> ServiceError:
    return ServiceError(text, code=code, status=status, **params)
