import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import PrivateError
from diurnal.private import PrivateDict, public
from diurnal.study.planted import planted
from support import refuses


@dataclass(frozen=True)
class Answer:
    rows: tuple
    about: object


@pytest.fixture(scope="module")
def secrets():
    """One of every kind of private result there is."""
    panel = planted("season", 0.4, homes=20, cycles=14, slots=4)
    verdict = dn.check(panel)
    plan = dn.Plan(epsilon="1", domain=(0, 2000), history=4, grid=panel.grid, level="pattern")
    return {
        "panel": panel,
        "verdict": verdict,
        "correlations": verdict.correlations,
        "evidence": verdict.evidence,
        "nonlinear": verdict.nonlinear,
        "cycles": verdict.correlations.cycles,
        "candidate": verdict.periods[0],
        "json": verdict.to_json(),
        "candidate's json": verdict.periods[0].to_json(),
        "trades": dn.trade(plan, verdict, panel),
        "drift": dn.private_drift(panel, history=4, window=4),
        "drift's json": dn.private_drift(panel, history=4, window=4).to_json(),
        "sentences": verdict.sentences(),
        "some sentences": verdict.sentences()[1:],
        "part of the json": verdict.to_json()["periods"],
        "deeper in the json": verdict.to_json()["correlation_by_lag"],
        "a copy": verdict.to_json().copy(),
        "a union": {"a": 1} | verdict.to_json(),
        "another union": verdict.to_json() | {"a": 1},
        "a sum": verdict.sentences() + ["a"],  # noqa: RUF005
        "trades' json": dn.trade(plan, verdict, panel).to_json()["periods"],
    }


def test_nothing_private_passes_however_deep(secrets):
    """A private result, bare, in a list, a mapping, a key of one or a dataclass, never passes the gate."""
    for secret in secrets.values():
        for answer in (secret, [1, secret], {"a": {"b": (secret,)}}, Answer((), secret), Answer((secret,), 1)):
            with refuses(PrivateError, "private-computed"):
                public(answer)
    for answer in ({secrets["cycles"]: 1}, frozenset([secrets["cycles"]])):
        with refuses(PrivateError, "private-computed"):
            public(answer)


def test_no_private_type_shows_itself(secrets):
    """The repr of everything private says that it is, or what is public about it, and no figure of it."""
    for name, secret in secrets.items():
        if name != "panel":
            assert repr(secret) == f"<{type(secret).__name__}, private>"
    for kind in _below(dn.Private):
        if kind is not dn.Panel and kind.__module__.startswith("diurnal.") and kind.__name__ in PLAINLY_HIDDEN:
            assert kind.__repr__ is dn.Private.__repr__


PLAINLY_HIDDEN = {
    "Quality", "Verdict", "Correlations", "Evidence", "Nonlinear", "Cycles", "Candidate", "Trade", "Trades",
    "PrivateDrift", "PrivateDict", "PrivateList",
}  # fmt: skip


def _below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


@pytest.mark.parametrize("value", [np.zeros(3), np.float64(1).reshape(1), object(), b"bytes", iter([1])])
def test_what_nobody_called_public_does_not_pass(value):
    """Arrays and objects that the gate does not know are refused, not guessed at."""
    with refuses(PrivateError, "private-unknown"):
        public({"value": value})


def test_released_rows_and_promises_pass():
    """Reports, guarantees, and what was computed from reports alone, pass the gate as they are."""
    panel = support.town(cycles=30)
    stream = support.start(panel, support.plan_for(panel))
    rows = stream.report(panel.after(4))
    drift = stream.drift(window=7)
    for value in (rows, stream.guarantee, drift, [row.to_json() for row in rows], {"half": Fraction(1, 2)}, None):
        assert public(value) is value


def test_a_streams_records_do_not_pass():
    """What a store keeps of a stream, profiles and held readings among it, is private by its type."""
    panel = support.town()
    stream = support.start(panel, support.plan_for(panel))
    with pytest.raises(PrivateError):
        public(stream._record())


def test_json_made_of_private_results_keeps_the_mark():
    """What `to_json` of a private result gives is written by json as usual, and is private still."""
    content = planted_json = dn.check(planted(homes=12, cycles=8, slots=4)).to_json()
    assert isinstance(content, PrivateDict)
    assert json.loads(json.dumps(content))["n_households"] == 12
    assert repr(planted_json) == "<PrivateDict, private>"
