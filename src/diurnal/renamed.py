"""Renamed: arguments that go by another name since, understood for one version."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")


def renamed(**names: str) -> Callable[[Callable[Given, Found]], Callable[Given, Found]]:
    """A function that still understands arguments by the names that they had: old names, and what each is now."""

    def understands(work: Callable[Given, Found]) -> Callable[Given, Found]:
        # A class is called by its own name, and not by that of what makes it.
        name = work.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @functools.wraps(work)
        def done(*args: Given.args, **more: Given.kwargs) -> Found:
            for old, new in names.items():
                if old in more:
                    if new in more:
                        raise TypeError(f"{name}() got both {new}= and {old}=, which is its earlier name")
                    warnings.warn(f"{name}({old}=...) is now {new}=...", DeprecationWarning, stacklevel=2)
                    more[new] = more.pop(old)
            return work(*args, **more)

        return done

    return understands
