"""Settings for every rival, searched on the made-up town: no straw men. Writes study/baselines/settings.py.

    python -m benchmarks.rivals

The town of 226 homes over a year, another town as open data. What suits a rival depends on its noise, hence on n
times epsilon, so there are settings for several. Taken is what has the least expected square error, by formula or
in a few draws: of a day's total for rivals that are made for totals, else of a report. It says where readings are
cut off at the least that was tried: there even less might do better.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from diurnal.readings.kernels import Progress
from diurnal.study import baselines
from diurnal.study.baselines import (
    Baseline,
    Constant,
    Factorisation,
    Fourier,
    Pegasus,
    Task,
    Tree,
    Window,
    task_of,
)
from diurnal.study.baselines.base import totals
from diurnal.study.town import Town

FILE = pathlib.Path(baselines.__file__).parent / "settings.py"
CLAMPS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, None)
DRAWS = 3
EPSILONS = ("0.1", "1", "10", "100")
GRIDS: dict[type[Baseline], dict[str, tuple[Any, ...]]] = {
    Constant: {"centred": (True, False)},
    # Powers of 2, and the cycle's slots with their divisors.
    Tree: {"arity": (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)},
    Fourier: {
        "order": ("daily", "lowest"),
        "coefficients": (1, 2, 3, 5, 7, 9, 11, 13, 17, 25, 33, 48, 65, 97, 145, 193, 289),
        "counted": (True,),
        "centred": (True, False),
    },
    Window: {"block": (1, 6, 12, 24, 48), "share": (0.1, 0.25, 0.5), "centred": (True, False)},
    Pegasus: {
        "share": (0.05, 0.2, 0.4),
        "threshold": (0, 1, 3, 10),
        "smoother": ("median", "average"),
        "centred": (True, False),
        "clamp": (2, 3, 4, 6, 8, 12, None),
    },
}
"""What is tried of each kind, besides where readings are cut off."""

HEAD = '''"""Settings: how each rival is run. Written by `python -m benchmarks.rivals`.

Searched on the made-up town, 226 homes and a year, at epsilons 0.1 to 100; kept by n times epsilon, which the noise
follows. Taken is what has the least expected square error: of a day's total for those that are made for totals
(trees, matrices), of a report for the others. `clamp` is where readings are cut off, in levels (public means of a
reading); None is the whole domain, 0.25 the least that was tried (2 for PeGaSus). At that edge are only those whose
noise is so large that cutting off nearly everything is best. Corollary 1, the paper's split budget and what is ours
have nothing to search.
"""

from typing import Any

SEARCHED: dict[float, dict[str, dict[str, Any]]] = {
'''
TAIL = '}\n"""Fields of each rival, by n times epsilon and by its name in the table."""\n'


def town_task() -> Task:
    made = Town(homes=226, days=91 + 365)
    other = Town(homes=150, days=60, seed=2).panel()
    return task_of(made.panel(), epsilon="1", open_data=other, domain=made.domain)


def candidates(rival: Baseline) -> Iterator[dict[str, Any]]:
    """Every combination of settings that is tried."""
    grid = {"clamp": CLAMPS, **GRIDS.get(type(rival), {})}
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def square_error(rival: Baseline, task: Task) -> float:
    length = task.slots if isinstance(rival, (Tree, Factorisation)) else 1
    known = rival.mean_square_error(task, length)
    if known is not None:
        return known
    rng = np.random.default_rng(1)
    drawn = (totals(rival.draw(task, rng) - task.truth, length) for _ in range(DRAWS))
    return float(np.mean([np.mean(off**2) for off in drawn]))


def best(rival: Baseline, task: Task) -> dict[str, Any]:
    """The settings with the least error."""
    tried = list(candidates(rival))
    errors = []
    with Progress(rival.name, len(tried)) as bar:
        for fields in tried:
            errors.append(square_error(dataclasses.replace(rival, **fields), task))
            bar.advance(1)
    found = tried[int(np.argmin(errors))]
    if found["clamp"] == min(each["clamp"] for each in tried if each["clamp"] is not None):
        print(f"# {rival.name} at {task.n * float(task.epsilon):g}: cut off at the least that was tried")
    return found


def line(name: str, fields: dict[str, Any]) -> str:
    inside = ", ".join(f'"{key}": {_literal(value)}' for key, value in fields.items())
    return f'        "{name}": {{{inside}}},\n'


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def part(task: Task) -> str:
    """The settings of every rival for one epsilon."""
    lines = [line(rival.name, best(rival, task)) for rival in baselines.PLAIN]
    return f"    {task.n * float(task.epsilon):g}: {{\n{''.join(lines)}    }},\n"


def main() -> None:
    task, parts = town_task(), []
    for epsilon in EPSILONS:
        parts.append(part(task.at(epsilon=epsilon)))
        print(parts[-1], end="", flush=True)
    FILE.write_text(HEAD + "".join(parts) + TAIL)


if __name__ == "__main__":
    main()
