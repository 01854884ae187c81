"""Mechanisms: laplace, cube, gaussian, basis and blocks, behind one interface (`base.Mechanism`)."""

from typing import Literal

from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.promise.mechanisms.basis import Basis, BasisMechanism
from diurnal.promise.mechanisms.blocks import Blocks
from diurnal.promise.mechanisms.cube import Cube
from diurnal.promise.mechanisms.gaussian import Gaussian
from diurnal.promise.mechanisms.laplace import Laplace

SLOTS: dict[str, type[Laplace | Cube | Gaussian]] = {each.name: each for each in (Laplace, Cube, Gaussian)}
"""Those that add noise slot by slot, by name."""

MechanismName = Literal["auto", "laplace", "cube", "gaussian", "basis"]
"""What a plan can name for profiles; `auto` leaves it to `choose`."""

CycleMechanismName = Literal["auto", "laplace", "cube", "gaussian", "basis", "blocks"]
"""What a plan can name for a cycle's variations."""

__all__ = [
    "SLOTS",
    "Basis",
    "BasisMechanism",
    "Blocks",
    "Cube",
    "CycleMechanismName",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "MechanismName",
    "SlotMechanism",
]
