"""Mechanisms: laplace, cube, gaussian and basis, behind one interface (`base.Mechanism`)."""

from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.promise.mechanisms.basis import Basis, BasisMechanism
from diurnal.promise.mechanisms.cube import Cube
from diurnal.promise.mechanisms.gaussian import Gaussian
from diurnal.promise.mechanisms.laplace import Laplace

NAMES = ("laplace", "cube", "gaussian", "basis")
"""Every mechanism a plan can name."""

__all__ = [
    "NAMES",
    "Basis",
    "BasisMechanism",
    "Cube",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "SlotMechanism",
]
