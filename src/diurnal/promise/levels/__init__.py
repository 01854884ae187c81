"""Levels: what a plan can promise. Each is a module, and a line in `LEVELS`."""

from __future__ import annotations

from collections.abc import Mapping

from diurnal.promise.levels.base import Level, Terms
from diurnal.promise.levels.cycle import Cycle
from diurnal.promise.levels.pattern import Pattern
from diurnal.promise.levels.strong import Strong

LEVELS: Mapping[str, Level] = {level.name: level for level in (Strong(), Pattern(), Cycle())}
"""Every level by its name, which plans, ledgers and pages call it by."""

__all__ = ["LEVELS", "Level", "Terms"]
