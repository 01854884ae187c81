"""Mechanisms: laplace, cube, gaussian, basis and blocks, behind one interface (`base.Mechanism`)."""

from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.promise.mechanisms.basis import Basis, BasisMechanism
from diurnal.promise.mechanisms.blocks import Blocks
from diurnal.promise.mechanisms.cube import Cube
from diurnal.promise.mechanisms.gaussian import Gaussian
from diurnal.promise.mechanisms.laplace import Laplace

NAMES = ("laplace", "cube", "gaussian", "basis")
"""Every mechanism a plan can name for profiles."""

CYCLE_NAMES = (*NAMES, "blocks")
"""Every mechanism a plan can name for a cycle's variations."""

__all__ = [
    "CYCLE_NAMES",
    "NAMES",
    "Basis",
    "BasisMechanism",
    "Blocks",
    "Cube",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "SlotMechanism",
]
