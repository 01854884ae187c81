"""Settings: how each rival is run. Written by `python -m benchmarks.rivals`.

Searched on the made-up town, 226 homes and a year, at epsilons 0.1 to 100; kept by n times epsilon, which the noise
follows. Taken is what has the least expected square error: of a day's total for those that are made for totals
(trees, matrices), of a report for the others. `clamp` is where readings are cut off, in levels (public means of a
reading); None is the whole domain, 0.25 the least that was tried (2 for PeGaSus). At that edge are only those whose
noise is so large that cutting off nearly everything is best. Corollary 1, the paper's split budget and what is ours
have nothing to search.
"""

from typing import Any

SEARCHED: dict[float, dict[str, dict[str, Any]]] = {
    22.6: {
        "constant": {"clamp": 2, "centred": True},
        "split Laplace, cut": {"clamp": 0.25},
        "split Gaussian, cut": {"clamp": 0.25},
        "Fourier": {"clamp": 2, "order": "daily", "coefficients": 1, "counted": True, "centred": True},
        "Fourier, one day": {"clamp": 2, "order": "daily", "coefficients": 1, "counted": True, "centred": True},
        "tree, one reading": {"clamp": 6, "arity": 48},
        "tree, one day": {"clamp": 1, "arity": 48},
        "matrix, one reading": {"clamp": 4},
        "matrix, one day": {"clamp": 0.5},
        "w-event BD": {"clamp": 2, "block": 48, "share": 0.1, "centred": True},
        "w-event BA": {"clamp": 2, "block": 48, "share": 0.1, "centred": True},
        "PeGaSus": {"clamp": 3, "share": 0.05, "threshold": 10, "smoother": "average", "centred": True},
        "one reading, Laplace": {"clamp": 3},
        "one day, Laplace": {"clamp": 0.25},
        "one day, Gaussian": {"clamp": 0.25},
        "OpenDP, one day": {"clamp": 0.25},
        "OpenDP, everything": {"clamp": 0.25},
    },
    226: {
        "constant": {"clamp": 4, "centred": True},
        "split Laplace, cut": {"clamp": 0.25},
        "split Gaussian, cut": {"clamp": 0.25},
        "Fourier": {"clamp": 4, "order": "lowest", "coefficients": 3, "counted": True, "centred": True},
        "Fourier, one day": {"clamp": 3, "order": "daily", "coefficients": 5, "counted": True, "centred": True},
        "tree, one reading": {"clamp": 8, "arity": 48},
        "tree, one day": {"clamp": 3, "arity": 48},
        "matrix, one reading": {"clamp": 6},
        "matrix, one day": {"clamp": 2},
        "w-event BD": {"clamp": 4, "block": 48, "share": 0.25, "centred": True},
        "w-event BA": {"clamp": 4, "block": 48, "share": 0.25, "centred": True},
        "PeGaSus": {"clamp": 6, "share": 0.2, "threshold": 0, "smoother": "average", "centred": True},
        "one reading, Laplace": {"clamp": 6},
        "one day, Laplace": {"clamp": 1},
        "one day, Gaussian": {"clamp": 1.5},
        "OpenDP, one day": {"clamp": 1},
        "OpenDP, everything": {"clamp": 0.25},
    },
    2260: {
        "constant": {"clamp": 8, "centred": True},
        "split Laplace, cut": {"clamp": 0.25},
        "split Gaussian, cut": {"clamp": 1},
        "Fourier": {"clamp": 4, "order": "lowest", "coefficients": 11, "counted": True, "centred": True},
        "Fourier, one day": {"clamp": 6, "order": "daily", "coefficients": 9, "counted": True, "centred": False},
        "tree, one reading": {"clamp": 12, "arity": 48},
        "tree, one day": {"clamp": 6, "arity": 48},
        "matrix, one reading": {"clamp": 8},
        "matrix, one day": {"clamp": 4},
        "w-event BD": {"clamp": 4, "block": 6, "share": 0.25, "centred": True},
        "w-event BA": {"clamp": 4, "block": 6, "share": 0.5, "centred": True},
        "PeGaSus": {"clamp": 8, "share": 0.4, "threshold": 0, "smoother": "average", "centred": True},
        "one reading, Laplace": {"clamp": 8},
        "one day, Laplace": {"clamp": 3},
        "one day, Gaussian": {"clamp": 4},
        "OpenDP, one day": {"clamp": 3},
        "OpenDP, everything": {"clamp": 0.25},
    },
    22600: {
        "constant": {"clamp": 8, "centred": True},
        "split Laplace, cut": {"clamp": 0.25},
        "split Gaussian, cut": {"clamp": 3},
        "Fourier": {"clamp": 4, "order": "daily", "coefficients": 193, "counted": True, "centred": True},
        "Fourier, one day": {"clamp": 6, "order": "daily", "coefficients": 33, "counted": True, "centred": False},
        "tree, one reading": {"clamp": 12, "arity": 48},
        "tree, one day": {"clamp": 8, "arity": 48},
        "matrix, one reading": {"clamp": 12},
        "matrix, one day": {"clamp": 6},
        "w-event BD": {"clamp": 6, "block": 1, "share": 0.25, "centred": False},
        "w-event BA": {"clamp": 6, "block": 1, "share": 0.25, "centred": True},
        "PeGaSus": {"clamp": 12, "share": 0.4, "threshold": 0, "smoother": "average", "centred": False},
        "one reading, Laplace": {"clamp": 12},
        "one day, Laplace": {"clamp": 6},
        "one day, Gaussian": {"clamp": 6},
        "OpenDP, one day": {"clamp": 6},
        "OpenDP, everything": {"clamp": 0.25},
    },
}
"""Fields of each rival, by n times epsilon and by its name in the table."""
