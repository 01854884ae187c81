"""Streams of readings that nobody meets by chance, and what is seen of them on their pages."""

import json
import re
from html.parser import HTMLParser

import numpy as np

import diurnal as dn
import support

SECRET = 1_765_432
HOUSEHOLD = "Q-secret-household-77"
GRID = dn.Grid(slots=4, minutes=360, zone="Australia/Sydney", anchor="2022-09-20T00:00")
CYCLES, HISTORY = 14, 6
LEVELS = {
    "pattern": {"level": "pattern", "mechanism": "laplace"},
    "slotwise": {"level": "strong", "mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": 10**5},
    "basis": {**support.BASIS},
    "share": {"query": dn.Share(above=15 * 10**5), "level": "cycle", "mechanism": "laplace", "history": 0},
    "histogram": {
        "query": dn.Histogram([14 * 10**5, 16 * 10**5]),
        "level": "cycle",
        "mechanism": "cube",
        "history": 0,
    },
}


def secret_panel(cycles=CYCLES) -> dn.Panel:
    """Readings of seven digits, which nobody meets by chance, and a household with a name to look for."""
    rng = np.random.default_rng(3)
    usual = rng.integers(115 * 10**4, 185 * 10**4, size=20)
    readings = usual + rng.integers(-(10**5), 10**5, size=(cycles * 4, 20))
    readings[:, 7] = SECRET
    names = [f"secret-home-{i:02}" for i in range(20)]
    names[7] = HOUSEHOLD
    return dn.Panel.from_array(readings, households=names, grid=GRID, calendar=[HISTORY * 4 + 9])


def started(level, *, calendar_budget="1000"):
    """A curator, a stream that has reported up to the middle of a cycle, and the panel."""
    panel = secret_panel()
    fields = {
        "query": dn.Sum(),
        "grid": GRID,
        "domain": (0, 2 * 10**6),
        "history": HISTORY,
        "epsilon": "1",
        "minimum_group": 1,
        **LEVELS[level],
    }
    plan = dn.Plan(**fields)
    curator = dn.Curator.in_memory(dn.Budget(pattern=calendar_budget, cycle=calendar_budget))
    history = panel.first(plan.history)
    read = dn.check(panel).digest if plan.history else None
    stream = curator.start(plan, history=history, acknowledge=read, accept_worse=True)
    for cycle in range(HISTORY, CYCLES - 1):
        stream.report(panel.between(4 * cycle, 4 * cycle + 4))
    stream.report(panel.between(4 * CYCLES - 4, 4 * CYCLES - 2))
    return curator, stream, panel


def written(values, least=10**6) -> set[str]:
    """How whole numbers might be written, those that are too small to be recognised left out."""
    found = {abs(int(value)) for value in values}
    return {form for value in found if value >= least for form in (str(value), f"{value:,}")}


def seen(secrets, page) -> list[str]:
    """Those secrets that are on a page: long ones anywhere, numbers of a few digits as numbers of their own."""
    numbers = set(re.findall(r"\d+(?:,\d{3})*", page))
    return [secret for secret in secrets if (secret in page if len(secret) > 9 else secret in numbers)]


def secrets_of(curator, stream, panel) -> set[str]:
    """Everything private that there is about a stream, as it might be written."""
    record, store = stream._record(), stream._store
    found = {*panel.households, *record.households} | written(panel.readings.ravel())
    found |= written(panel.readings.sum(axis=1)) | written(panel.readings.mean(axis=1))
    found |= written(record.profile.ravel()) | written(record.profile.sum(axis=1))
    if record.plan.level == "strong":
        found |= written(value for group in record.groups for value in group.noisy_profile)
    with store.transaction():
        for cycle in store.noisy_cycles(record.number):
            kept = store.cycle_noise(record.number, cycle)
            found |= written((value for values in kept.values() for value in values), least=10**4)
        found |= {store.fact("salt"), store.fact("secret"), *store.name_digests(panel.households)}
    found |= {digest[:16] for digest in found if re.fullmatch("[0-9a-f]{64}", digest)}
    for event in curator.ledger():
        found |= {
            str(event.content[name])
            for name in ("content", "acknowledged", "household", "identity")
            if event.content.get(name)
        }
    if stream.acknowledged:
        found |= {stream.acknowledged, *stream.acknowledged.split("-")}
    return found


def text_of(page: str) -> str:
    """What a reader sees of a page, in one line."""

    class Reader(HTMLParser):
        def __init__(self):
            super().__init__()
            self.words, self.hidden = [], 0

        def handle_starttag(self, tag, attrs):
            self.hidden += tag in ("script", "style")

        def handle_endtag(self, tag):
            self.hidden -= tag in ("script", "style")

        def handle_data(self, data):
            if not self.hidden:
                self.words.append(data)

    reader = Reader()
    reader.feed(page)
    reader.close()
    return " ".join("".join(reader.words).split())


def data_of(page: str, name: str = "data") -> dict:
    """The data of a page."""
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)[1])
