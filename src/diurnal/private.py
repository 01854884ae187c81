"""Private: the mark of what was computed on private data, and the gate that nothing so marked passes.

Readings, an import's account and every result of a check are for the custodian. That is a type, not a comment:
whatever is shown to the public goes through `public`, which lets plain values and released ones pass and refuses
whatever is private, holds something private however deep, or is of a kind it does not know, such as an array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, TypeVar

from diurnal.errors import PrivateError

Value = TypeVar("Value")

PLAIN = (type(None), bool, int, float, str, Fraction)
"""What passes as it is."""


class Private:
    """What was computed on private data: for the custodian's eyes only."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, private>"


class PrivateDict(dict[str, Any], Private):
    """Plain data made of something private: what JSON is written from has the mark as well."""

    # A dict's own repr would show what is in it, and its copies would forget the mark.
    __repr__ = Private.__repr__

    def copy(self) -> PrivateDict:
        """The same, still private."""
        return PrivateDict(self)

    def __or__(self, other: Any) -> Any:
        return PrivateDict({**self, **other})

    def __ror__(self, other: Any) -> Any:
        return PrivateDict({**other, **self})


class PrivateList(list[Any], Private):
    """A list made of something private."""

    __repr__ = Private.__repr__

    def copy(self) -> PrivateList:
        """The same, still private."""
        return PrivateList(self)

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return PrivateList(found) if isinstance(at, slice) else found

    def __add__(self, other: Any) -> Any:
        return PrivateList([*self, *other])


def private(value: Any) -> Any:
    """Plain data with the mark on every mapping and list in it, so that a part of it is private too."""
    if isinstance(value, Mapping):
        return PrivateDict({name: private(each) for name, each in value.items()})
    return PrivateList(map(private, value)) if isinstance(value, (list, tuple)) else value


def public(value: Value) -> Value:
    """The value itself, once it is sure that nothing in it is private.

    Raises:
        PrivateError: The value, or something in it, was computed on private data, or is of a kind that may hold it.
    """
    if isinstance(value, Private):
        raise PrivateError("private-computed", type=type(value).__name__)
    if isinstance(value, PLAIN):
        return value
    for inner in _inside(value):
        public(inner)
    return value


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    raise PrivateError("private-unknown", type=type(value).__name__)
