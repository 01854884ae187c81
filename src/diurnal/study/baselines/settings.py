"""Settings: how each rival is run. Written by `python -m benchmarks.rivals`.

Searched on the made-up town, 226 homes and a year, at epsilons 0.1 to 100; kept by n times epsilon, which the noise
follows. Taken is what has the least expected square error: of a day's total for those that are made for totals
(trees, matrices), of a report for the others. `clamp` is where readings are cut off, in levels (public means of a
reading); None is the whole domain, 2 the least that was tried. Corollary 1, the paper's split budget and what is
ours have nothing to search.
"""

from typing import Any

SEARCHED: dict[float, dict[str, dict[str, Any]]] = {
    22.6: {
        "constant": {"clamp": 2},
        "Fourier": {"clamp": 2, "order": "daily"},
        "tree, one reading": {"clamp": 4, "arity": 16},
        "tree, one day": {"clamp": 2, "arity": 16},
        "matrix, one reading": {"clamp": 4},
        "matrix, one day": {"clamp": 2},
        "w-event BD": {"clamp": 2, "block": 48, "share": 0.25, "centred": True},
        "w-event BA": {"clamp": 2, "block": 48, "share": 0.1, "centred": True},
        "PeGaSus": {"clamp": 4, "share": 0.05, "threshold": 10, "smoother": "median", "centred": True},
        "one reading, Laplace": {"clamp": 3},
        "one day, Laplace": {"clamp": 2},
        "OpenDP, one day": {"clamp": 2},
        "OpenDP, everything": {"clamp": 2},
    },
    226: {
        "constant": {"clamp": 4},
        "Fourier": {"clamp": 3, "order": "daily"},
        "tree, one reading": {"clamp": 6, "arity": 16},
        "tree, one day": {"clamp": 2, "arity": 16},
        "matrix, one reading": {"clamp": 6},
        "matrix, one day": {"clamp": 2},
        "w-event BD": {"clamp": 4, "block": 48, "share": 0.25, "centred": True},
        "w-event BA": {"clamp": 4, "block": 48, "share": 0.25, "centred": True},
        "PeGaSus": {"clamp": 6, "share": 0.2, "threshold": 0, "smoother": "average", "centred": True},
        "one reading, Laplace": {"clamp": 6},
        "one day, Laplace": {"clamp": 2},
        "OpenDP, one day": {"clamp": 2},
        "OpenDP, everything": {"clamp": 2},
    },
    2260: {
        "constant": {"clamp": 8},
        "Fourier": {"clamp": 3, "order": "daily"},
        "tree, one reading": {"clamp": 12, "arity": 16},
        "tree, one day": {"clamp": 6, "arity": 16},
        "matrix, one reading": {"clamp": 8},
        "matrix, one day": {"clamp": 4},
        "w-event BD": {"clamp": 4, "block": 6, "share": 0.25, "centred": True},
        "w-event BA": {"clamp": 4, "block": 6, "share": 0.5, "centred": True},
        "PeGaSus": {"clamp": 8, "share": 0.4, "threshold": 0, "smoother": "average", "centred": True},
        "one reading, Laplace": {"clamp": 8},
        "one day, Laplace": {"clamp": 3},
        "OpenDP, one day": {"clamp": 3},
        "OpenDP, everything": {"clamp": 2},
    },
    22600: {
        "constant": {"clamp": 8},
        "Fourier": {"clamp": 4, "order": "daily"},
        "tree, one reading": {"clamp": 12, "arity": 16},
        "tree, one day": {"clamp": 8, "arity": 16},
        "matrix, one reading": {"clamp": 12},
        "matrix, one day": {"clamp": 6},
        "w-event BD": {"clamp": 6, "block": 1, "share": 0.25, "centred": False},
        "w-event BA": {"clamp": 6, "block": 1, "share": 0.25, "centred": True},
        "PeGaSus": {"clamp": 12, "share": 0.4, "threshold": 0, "smoother": "average", "centred": False},
        "one reading, Laplace": {"clamp": 12},
        "one day, Laplace": {"clamp": 6},
        "OpenDP, one day": {"clamp": 6},
        "OpenDP, everything": {"clamp": 2},
    },
}
"""Fields of each rival, by n times epsilon and by its name in the table."""
