"""How a service ends: told to, it finishes; killed, it loses nothing; and clients carry on."""

import concurrent.futures
import signal
import threading
import time

import httpx
import pytest

import diurnal as dn
import services
from diurnal.client import Client

NEXT = services.FIRST


def test_killed_under_load_nothing_is_lost_or_doubled(tmp_path):
    """Killed again and again while batches are sent and reports read, every batch is taken once, every report that
    was seen stays as it was, the ledger is sound, and clients carry on with the service that comes back.
    """
    stream = services.found_city(tmp_path, reported=0)
    homes, seen, wrong, done = services.panel(), {}, [], threading.Event()
    process = services.Process(tmp_path, "--rate", 0).wait_until_ready()
    tokens, url = services.shown(tmp_path), process.url

    def send(cycle):
        with Client(url, token=tokens["ingest"], patience=60) as client:
            first = services.FIRST + 4 * cycle
            return client.send(homes.between(first, first + 4), key=f"cycle {cycle}")

    def watch():
        with Client(url, patience=60) as client:
            while not done.is_set():
                for row in client.reports(stream, page=20):
                    if seen.setdefault(row["step"], row["value"]) != row["value"]:
                        wrong.append(row["step"])

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            sent = [pool.submit(send, cycle) for cycle in range(services.CYCLES - services.HISTORY)]
            for pause in (0.3, 0.5, 0.4):
                time.sleep(pause)
                process.end(signal.SIGKILL)
                process = services.Process(tmp_path, "--rate", 0, port=process.port).wait_until_ready()
            answers = [each.result(timeout=60) for each in sent]
    finally:
        done.set()
        watching.join(60)
        process.end()
    assert not wrong
    assert len(answers) == 34
    curator = dn.Curator.open(tmp_path / "city.db", profiles=tmp_path / "profiles")
    rows = curator.streams()[0].rows()
    assert [row.step for row in rows] == list(range(services.FIRST, services.CYCLES * 4))
    values = {row.step: row.value for row in rows}
    assert seen.items() <= values.items()
    assert curator.verify().sound


def test_told_to_stop_it_finishes_what_it_began(city):
    """On SIGTERM a batch that is being sent is still taken and answered, who listens is let go, the code is 0."""
    folder, stream = city
    body = services.csv_of(services.rows_of(services.panel().between(56, 60)))
    with services.running(folder) as process:
        events, began = [], threading.Event()

        def slowly():
            yield body[:1000]
            began.set()
            time.sleep(1.0)
            yield body[1000:]

        def listen():
            with process.http() as client, client.stream("GET", f"/v1/streams/{stream}/events") as answer:
                for line in answer.iter_lines():
                    events.append(line)

        listening = threading.Thread(target=listen)
        listening.start()
        with concurrent.futures.ThreadPoolExecutor(1) as pool, process.http("ingest") as client:
            headers = {"Content-Type": "text/csv"}
            answer = pool.submit(lambda: client.post("/v1/readings", content=slowly(), headers=headers))
            began.wait(10)
            while not events:
                time.sleep(0.05)
            # Both are in the house now, and not before its door.
            time.sleep(0.3)
            stopped = time.monotonic()
            process.process.send_signal(signal.SIGTERM)
            assert answer.result(20).json()["streams"][0]["reports"] == 4
        listening.join(10)
        assert not listening.is_alive()
        assert process.process.wait(15) == 0
        assert time.monotonic() - stopped < 15
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{process.url}/healthz")
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    assert len(curator.streams()[0].rows(56)) == 4


def test_who_writes_keeps_no_reader_waiting(city):
    """While somebody holds the store's only write lock, reports, streams and readiness are still answered."""
    folder, stream = city
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    with services.running(folder) as process, process.http(timeout=5) as client, curator._store.transaction():
        for start in range(24, 30):
            found = client.get(f"/v1/streams/{stream}/reports", params={"start": start})
            assert found.status_code == 200
        assert client.get("/readyz").status_code == 200


def test_not_ready_without_its_store(asked, city):
    """A store that cannot be read makes the service not ready, and alive all the same."""
    client = asked()
    assert client.get("/readyz").status_code == 200
    for path in city[0].glob("city.db*"):
        path.unlink()
    client.app.state.service.reader._engine.dispose()
    found = client.get("/readyz")
    assert (found.status_code, found.json()["code"]) == (503, "store")
    assert client.get("/healthz").json() == {"status": "ok"}
    assert not (city[0] / "city.db").exists()


def test_not_ready_once_it_is_told_to_stop(asked):
    """A service that is about to end says so to who asks whether it can be asked."""
    client = asked()
    client.app.state.service.feed.stopping = True
    found = client.get("/readyz")
    assert (found.status_code, found.json()["code"]) == (503, "stopping")
