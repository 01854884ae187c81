"""Reproduction: the experiments of the paper, on the data it used or on a made-up town.

    study = reproduce("ausgrid", "ausgrid.csv.gz")
    print(study)

`experiments` has what the paper says about each data set and how the data is read; `coefficients` the test of
almost periodicity; `accuracy` the error of each mechanism, in closed form and drawn; `hypotheses` the ways the
paper may be understood where it is silent; `statements` what it says and what became of it; `results` puts all
of it together. Corollary 1 is here as printed, to be studied: no curator runs it.
"""

from __future__ import annotations

from diurnal.study.reproduction.results import Reproduction, reproduce

__all__ = ["Reproduction", "reproduce"]
