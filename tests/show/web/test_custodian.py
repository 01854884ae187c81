"""The custodian's routes: check, plan, start, stop, ledger, quality, drift, budget."""

import json
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import diurnal as dn
import services
from diurnal.curator.public_reader import Reader
from diurnal.curator.store import Store
from diurnal.errors import StoreError
from diurnal.show.cli import app

SMALL = {"epsilon": "1", "history": 6, "mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": 100000}


def test_a_check_has_the_numbers_of_its_charts(asked):
    """The verdict is that of `dn.check`, with its matrix, its lags and its histogram."""
    client = asked("custodian")
    found, verdict = client.get("/v1/custodian/check").json(), dn.check(services.panel())
    assert found["digest"] == verdict.digest
    assert np.allclose(found["heatmap"]["rows"], verdict.correlations.matrix, atol=5e-4)
    assert len(found["heatmap"]["cycles"]) == services.CYCLES
    assert found["lags"]["lag"] == list(range(1, services.CYCLES))
    assert sum(found["histogram"]["percent"]) == pytest.approx(100, abs=0.1)
    assert client.get("/v1/custodian/check", params={"period": "2d"}).json()["period_slots"] == 8
    assert client.get("/v1/custodian/check", params={"period": "x"}).json()["code"] == "readings"


def test_a_plan_is_what_the_command_line_says(asked, city, monkeypatch):
    """The plan, its predicted errors and its sentences are those of `diurnal plan`."""
    monkeypatch.chdir(city[0])
    words = ["plan", "homes.parquet", "--json", "--domain", "0", "900000"]
    for name, value in SMALL.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    done = CliRunner().invoke(app, words, prog_name="diurnal")
    told = json.loads(done.stdout)
    found = asked("custodian").post("/v1/custodian/plan", json=SMALL).json()
    for name in ("plan", "chosen", "mechanisms", "without_data", "split", "warnings", "sentences", "promise"):
        assert found[name] == told[name], name
    assert dn.Plan.from_json(found["document"]).hash == found["plan"]


def test_the_explorer_moves_with_what_is_asked(asked):
    """More households, or more epsilon, have less error; another period another plan; nothing at all is beside."""
    client = asked("custodian")

    def error(**more):
        found = client.post("/v1/custodian/plan", json={**SMALL, **more}).json()
        assert found["without_data"]["name"] == "nothing at all"
        return found["mechanisms"][0]["error"]

    assert error(households=2000) < error(households=200) < error(households=20)
    assert error(epsilon="4") < error(epsilon="1")
    assert error(period="2d") > error()


def test_a_question_that_cannot_be_meant_is_refused(asked):
    """Two ways to say epsilon, none, or an unknown field: 422, in the names of fields."""
    client = asked("custodian")
    for wrong in (
        {},
        {"epsilon": "1", "target_error": "2"},
        {"epsilon": "1", "cycle_radius": 3, "variation_bound": 4},
    ):
        found = client.post("/v1/custodian/plan", json=wrong)
        assert found.status_code == 422
        assert "--" not in found.text
    for wrong in ({"epsilon": "x"}, {"epsilon": 1.5}, {"epsilon": "1", "colour": "red"}, [1], "x", None):
        assert client.post("/v1/custodian/plan", json=wrong).json()["code"] == "invalid"


def test_a_plan_is_started_once_it_is_confirmed(asked, city):
    """Unconfirmed, a start is refused with what to type, and nothing is spent; confirmed, the stream is there."""
    client = asked("custodian")
    document = client.post("/v1/custodian/plan", json={**SMALL, "query": "sum"}).json()["document"]
    question = {"plan": document, "acknowledge": "untested", "accept_worse": True}
    meaning = client.post("/v1/custodian/explain", json=question).json()
    assert "spend 1 for ever and 1 a cycle on" in meaning["confirm"]
    assert any("pattern budget" in sentence for sentence in meaning["sentences"])
    for typed in (None, "yes", meaning["confirm"].upper()):
        refused = client.post("/v1/custodian/start", json={**question, "confirm": typed})
        assert (refused.status_code, refused.json()["code"]) == (409, "confirm")
        assert meaning["confirm"] in refused.json()["remedy"]
    assert client.get("/v1/custodian/budget").json()["pattern"]["spent"] == "1"
    started = client.post("/v1/custodian/start", json={**question, "confirm": meaning["confirm"]})
    assert started.json()["stream"] == meaning["stream"]
    assert meaning["confirm"].endswith(meaning["stream"][:8])
    assert started.status_code == 201, started.text
    names = [each["stream"] for each in client.get("/v1/streams").json()["streams"]]
    assert names == [city[1], started.json()["stream"]]
    left = client.get("/v1/custodian/budget").json()["pattern"]
    assert left == {"spent": "2", "allowed": "9", "remaining": "7"}


def test_a_plan_worse_than_nothing_is_started_once_that_is_accepted(asked):
    """`explain` says why in `worse`; a start without `accept_worse` is refused as such in the names of fields, and
    nothing is spent; with it the plan is started. Of a plan that runs, or is better, nothing is said.
    """
    client = asked("custodian")
    document = client.post("/v1/custodian/plan", json={**SMALL, "query": "sum"}).json()["document"]
    question = {"plan": document, "acknowledge": "untested"}
    meaning = client.post("/v1/custodian/explain", json=question).json()
    assert "worse than publishing nothing at all" in meaning["worse"]
    assert meaning["worse"] in meaning["sentences"]
    question["confirm"] = meaning["confirm"]
    for more in ({}, {"accept_worse": False}):
        refused = client.post("/v1/custodian/start", json={**question, **more})
        assert (refused.status_code, refused.json()["code"]) == (409, "worse")
        assert "set `accept_worse` to true" in refused.json()["remedy"]
        assert "`mean_reading`" in refused.json()["remedy"]
    assert client.get("/v1/custodian/budget").json()["pattern"]["spent"] == "1"
    for odd in ("yes", 7, None):
        assert client.post("/v1/custodian/start", json={**question, "accept_worse": odd}).status_code == 422
    assert client.post("/v1/custodian/start", json={**question, "accept_worse": True}).status_code == 201
    assert client.post("/v1/custodian/explain", json=question).json()["worse"] is None
    fine = {"epsilon": "2", "history": 6, "mean_reading": "400000", "minimum_group": 2}
    document = client.post("/v1/custodian/plan", json=fine).json()["document"]
    assert client.post("/v1/custodian/explain", json={"plan": document}).json()["worse"] is None


def test_what_the_curator_refuses_is_refused(asked):
    """A plan beyond the budget, without a verdict, or that is none, is refused by the curator's own words."""
    client = asked("custodian")

    def start(document, **more):
        question = {"plan": document, **more}
        said = client.post("/v1/custodian/explain", json=question)
        if said.status_code != 200:
            return said.json()["code"]
        question["confirm"] = said.json()["confirm"]
        return client.post("/v1/custodian/start", json=question).json()["code"]

    document = client.post("/v1/custodian/plan", json={**SMALL, "query": "sum"}).json()["document"]
    assert start(document) == "acknowledge"
    weekly = client.get("/v1/custodian/check", params={"period": "2d"}).json()["digest"]
    refused = client.post("/v1/custodian/explain", json={"plan": document, "acknowledge": weekly})
    assert (refused.status_code, refused.json()["code"]) == (409, "acknowledge")
    costly = client.post("/v1/custodian/plan", json={**SMALL, "query": "sum", "epsilon": "9"}).json()["document"]
    assert start(costly, acknowledge="untested", accept_worse=True) == "budget"
    for wrong in ({}, {"diurnal_plan": 1}, {**document, "query": {"kind": []}}, {**document, "grid": 5}):
        assert start(wrong) == "plan"


def test_a_stream_is_stopped_once_it_is_confirmed(asked, city):
    """A stop wants the first eight letters of the stream's name."""
    client, url = asked("custodian"), f"/v1/custodian/streams/{city[1]}/stop"
    assert client.post(url, json={}).json()["code"] == "confirm"
    assert client.get("/v1/streams").json()["streams"][0]["running"]
    assert client.post(url, json={"confirm": city[1][:8]}).json()["end"] == services.FIRST + 32
    assert not client.get("/v1/streams").json()["streams"][0]["running"]


def test_the_thread_that_answers_never_waits_for_the_store(asked, city, monkeypatch):
    """Everything that the custodian's routes ask of the curator is asked in the thread that writes."""
    client, threads, transaction = asked("custodian"), [], Store.transaction

    def recorded(store):
        threads.append(threading.current_thread().name)
        return transaction(store)

    monkeypatch.setattr(Store, "transaction", recorded)
    base = f"/v1/custodian/streams/{city[1]}"
    for path in (f"{base}/quality", f"{base}/drift", "/v1/custodian/status", "/v1/custodian/budget"):
        assert client.get(path).status_code == 200
    assert client.post(f"{base}/stop", json={"confirm": city[1][:8]}).status_code == 200
    assert threads
    assert all(name.startswith("diurnal-write") for name in threads), set(threads)


def test_what_was_decided_is_answered_where_the_store_cannot_be_looked_at(asked, city, monkeypatch):
    """A start and a stop that have happened are answered as such, though the look at what is new then fails."""
    client = asked("custodian", poll=3600)
    document = client.post("/v1/custodian/plan", json={**SMALL, "query": "sum"}).json()["document"]
    question = {"plan": document, "acknowledge": "untested", "accept_worse": True}
    confirm = client.post("/v1/custodian/explain", json=question).json()["confirm"]

    def unreachable(reader, after=0):
        raise StoreError("store-unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(Reader, "look", unreachable)
        assert client.post("/v1/custodian/start", json={**question, "confirm": confirm}).status_code == 201
        url = f"/v1/custodian/streams/{city[1]}/stop"
        assert client.post(url, json={"confirm": city[1][:8]}).status_code == 200
    client.portal.call(client.app.state.service.feed.nudge)
    assert [each["running"] for each in client.get("/v1/streams").json()["streams"]] == [False, True]


def test_the_ledger_comes_in_parts(asked, city):
    """Events by number, some at a time, are those of the curator."""
    client, found, after = asked("custodian"), [], 0
    while after is not None:
        part = client.get("/v1/custodian/ledger", params={"after": after, "limit": 2}).json()
        found, after = found + part["events"], part["next"]
    curator = dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles")
    assert [event["hash"] for event in found] == [event.hash for event in curator.ledger()]


def test_status_quality_drift_and_metrics(asked, city):
    """What was set aside is counted for the custodian: in the status, by stream, and in the metrics of its own."""
    client = asked("custodian")
    late = services.csv_of(services.rows_of(services.panel().between(services.FIRST, services.FIRST + 2)))
    headers = {"Content-Type": "text/csv", **services.bearer(city[0], "ingest")}
    assert client.post("/v1/readings", content=late, headers=headers).status_code == 200
    quality = client.get(f"/v1/custodian/streams/{city[1]}/quality").json()
    assert quality["late"] == 40
    assert client.get("/v1/custodian/status").json()["streams"][0]["counts"] == quality
    drift = client.get(f"/v1/custodian/streams/{city[1]}/drift", params={"window": 2}).json()
    assert drift["groups"]["all"]["window"] == 2
    text = client.get("/v1/custodian/metrics").text
    assert 'reason="late"' in text
    assert "late" not in client.get("/metrics").text


def test_without_a_panel_there_is_no_check(asked):
    """A service that was not told of a panel says so."""
    client = asked("custodian", panel=None)
    assert client.get("/v1/custodian/check").json()["code"] == "panel"
    assert client.post("/v1/custodian/plan", json=SMALL).json()["code"] == "panel"
