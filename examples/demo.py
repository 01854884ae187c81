"""The main job, start to end, on a made-up town: import, plan, promise, start once, report for ever.

Run it with `make demo`. Nothing here is real data.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace

import numpy as np

import diurnal as dn
from diurnal.study.town import Town

DAYS, HISTORY, START = 240, 180, "2023-04-05"
BARS = " .:-=+*#%@"


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def bars(values: np.ndarray, top: float) -> str:
    """A line of characters, one a half hour."""
    return "".join(BARS[int(np.clip(v / top * (len(BARS) - 1), 0, len(BARS) - 1))] for v in values)


def main() -> None:
    heading("1. Readings: any layout becomes integers on a grid, every row accounted for")
    made_up = Town(homes=300, days=DAYS, start=START)
    with tempfile.TemporaryDirectory() as folder:
        dn.write(made_up.panel(), f"{folder}/meters.parquet")
        town = dn.panel(dn.read(f"{folder}/meters.parquet"), zone="Australia/Sydney")
    assert town.quality is not None
    print(town.quality.table())
    elsewhere = Town(homes=200, days=60, start="2023-07-01", seed=2).panel()
    print(f"{elsewhere.n_households} homes of another town stand for open data: public knowledge")

    heading("2. Check: is it almost periodic?")
    verdict = dn.check(town)
    print(verdict)

    heading("3. Plan: the error of every mechanism before anything is spent")
    reference = dn.public_reference(elsewhere)
    level = sum(reference.profile) // 48
    draft = dn.Plan(
        query=dn.Mean(),
        level="strong",
        epsilon="1",
        domain=(0, 8000),
        history=HISTORY,
        reference=reference,
        body=dn.Ellipsoid(radius=9 * level, reference=reference.profile, weighting="harmonic"),
        variation_bound=dn.Ellipsoid(radius=6 * level),
        grid=town.grid,
    )
    print(dn.predict(draft, town.shape, open_data=elsewhere))
    plan = dn.choose(draft, town.shape, open_data=elsewhere)
    print(f"\nchosen: {plan.mechanism} for the pattern, {plan.cycle_mechanism} for each day")

    heading("4. Promise: what is protected, and what is not")
    print(dn.numbered(dn.explain(plan, town.shape, open_data=elsewhere)))

    heading("5. Start once, report every day")
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", strong="1"))
    stream = curator.start(plan, history=town.first(HISTORY), acknowledge=verdict.digest)
    started = time.perf_counter()
    rows = stream.report(town.after(HISTORY))
    seconds = time.perf_counter() - started
    print(f"{len(rows)} reports in {seconds:.1f} s; asked again they are the same: {stream.report(town) == rows}")
    released = np.array([float(row.value) for row in rows]).reshape(-1, 48)
    whole = replace(made_up, gap_rate=0).panel()
    truth = whole.after(HISTORY).readings.mean(axis=1).reshape(-1, 48)
    print("the last three days, midnight to midnight, released and (for the custodian's eyes) true:")
    for day in (-3, -2, -1):
        print(f"  released |{bars(released[day], truth.max())}|\n  true     |{bars(truth[day], truth.max())}|")

    heading("6. In short")
    error = float(np.sqrt(np.mean((released - truth) ** 2)))
    numbers = stream.guarantee.numbers()
    public = np.sqrt(np.mean((np.array(reference.profile) - truth) ** 2))
    print(
        f"Promised: epsilon {numbers['epsilon']} for a home's daily pattern for ever, {numbers['cycle_epsilon']} "
        "for any one day of any home (not for many days together; see 4).\n"
        "Cost: all of a budget of 1 and 1. A second plan over these homes would be refused.\n"
        f"Quality: an error of {error:.0f} Wh at a mean of {truth.mean():.0f}; another town's average day as the "
        f"report would be off by {public:.0f}.\n"
        "Kept: nothing; this store ends with the process.\n"
        "Next: your own readings: diurnal import YOUR_FILES --zone ... --out homes.parquet; see README.md."
    )


if __name__ == "__main__":
    main()
