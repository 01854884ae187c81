"""The main job, start to end, on made-up homes: plan, promise, start once, report for ever.

Run it with `make demo`. Nothing here is real data.
"""

from __future__ import annotations

import time

import numpy as np

import diurnal as dn

DAYS, HISTORY = 240, 180
BARS = " .:-=+*#%@"


def made_up_homes(n: int, days: int, seed: int, *, evening: float) -> dn.Panel:
    """Half-hourly Wh of n homes: a day of their own, weather they share, and a lot of chance."""
    rng = np.random.default_rng(seed)
    hour = np.arange(48) / 2
    peaks = 0.5 + 0.6 * np.exp(-((hour - 7.5) ** 2) / 3) + evening * np.exp(-((hour - 19) ** 2) / 6)
    habit = peaks[:, None] * rng.lognormal(sigma=0.4, size=(48, n)) * rng.lognormal(sigma=0.5, size=n)
    weather = 1 + 0.25 * np.sin(np.arange(days) / 30) + rng.normal(scale=0.08, size=days)
    use = 250 * weather[:, None, None] * habit * rng.gamma(4, 0.25, size=(days, 48, n))
    return dn.Panel.from_array(np.rint(use).clip(0, 7999).astype(int).reshape(-1, n))


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def bars(values: np.ndarray, top: float) -> str:
    """A line of characters, one a half hour."""
    return "".join(BARS[int(np.clip(v / top * (len(BARS) - 1), 0, len(BARS) - 1))] for v in values)


def main() -> None:
    heading("1. Readings: 300 homes, a household a column, integers in Wh")
    town = made_up_homes(300, DAYS, seed=1, evening=0.9)
    elsewhere = made_up_homes(200, 60, seed=2, evening=0.7)
    print(f"{town.n_households} homes, {town.n_cycles} days of {town.grid.slots} half hours (made up)")
    print(f"{elsewhere.n_households} homes of another town stand for open data: public knowledge")

    heading("2. Plan: the error of every mechanism before anything is spent")
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
    )
    print(dn.predict(draft, town.shape, open_data=elsewhere))
    plan = dn.choose(draft, town.shape, open_data=elsewhere)
    print(f"\nchosen: {plan.mechanism} for the pattern, {plan.cycle_mechanism} for each day")

    heading("3. Promise: what is protected, and what is not")
    print(dn.numbered(dn.explain(plan, town.shape, open_data=elsewhere)))

    heading("4. Start once, report every day")
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", strong="1"))
    stream = curator.start(plan, history=town.first(HISTORY))
    started = time.perf_counter()
    rows = stream.report(town.after(HISTORY))
    seconds = time.perf_counter() - started
    print(f"{len(rows)} reports in {seconds:.1f} s; asked again they are the same: {stream.report(town) == rows}")
    released = np.array([float(row.value) for row in rows]).reshape(-1, 48)
    truth = town.after(HISTORY).readings.mean(axis=1).reshape(-1, 48)
    print("the last three days, midnight to midnight, released and (for the custodian's eyes) true:")
    for day in (-3, -2, -1):
        print(f"  released |{bars(released[day], truth.max())}|\n  true     |{bars(truth[day], truth.max())}|")

    heading("5. In short")
    error = float(np.sqrt(np.mean((released - truth) ** 2)))
    numbers = stream.guarantee.numbers()
    public = np.sqrt(np.mean((np.array(reference.profile) - truth) ** 2))
    print(
        f"Promised: epsilon {numbers['epsilon']} for a home's daily pattern for ever, {numbers['cycle_epsilon']} "
        "for any one day of any home (not for many days together; see 3).\n"
        "Cost: all of a budget of 1 and 1. A second plan over these homes would be refused.\n"
        f"Quality: an error of {error:.0f} Wh at a mean of {truth.mean():.0f}; another town's average day as the "
        f"report would be off by {public:.0f}.\n"
        "Kept: nothing; this store ends with the process.\n"
        "Next: your own readings as an integer array with a row a half hour and a column a home; see README.md."
    )


if __name__ == "__main__":
    main()
