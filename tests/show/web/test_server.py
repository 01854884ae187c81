"""How the service is run, with TLS, behind a proxy and on PostgreSQL, and how it ends: told to, or killed."""

import concurrent.futures
import json
import signal
import ssl
import subprocess
import threading
import time

import httpx
import pytest
from typer.testing import CliRunner

import diurnal as dn
import services
from diurnal.client import Client
from diurnal.errors import InputError
from diurnal.show.cli import app
from diurnal.show.web.server import Door, is_own


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_in_clear_text_it_is_not_reached_from_elsewhere(city, host):
    """It does not listen at a public address without TLS, unless somebody says that there is a proxy."""
    words = ["serve", "--store", str(city[0] / "city.db"), "--host", host]
    done = CliRunner().invoke(app, words, prog_name="diurnal")
    assert done.exit_code == 1
    assert "clear text" in done.output
    Door(host=host, proxy="127.0.0.1").check("city.db")
    Door(host=host, certificate="a", key="b").check("city.db")


def test_other_doors_that_are_refused():
    """A certificate without its key, several writers to one file, and a proxy that is no address."""
    for door in (Door(certificate="a"), Door(key="b"), Door(workers=2), Door(proxy="nonsense")):
        with pytest.raises(InputError):
            door.check("city.db")
    Door(workers=2).check("postgresql+psycopg://host/name")
    Door(host="0.0.0.0", proxy="127.0.0.1, 172.16.0.0/12,::1").check("city.db")
    assert all(is_own(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"))


def test_what_is_not_there_is_said(city, tmp_path):
    """No store, no file of tokens, a port that is taken: a sentence each, and code 1."""
    with services.running(city[0]) as process:
        for words in (
            ("--store", tmp_path / "nowhere.db"),
            ("--store", city[0] / "city.db", "--tokens", tmp_path / "none.json"),
            ("--store", city[0] / "city.db", "--profiles", city[0] / "profiles", "--port", process.port),
        ):
            done = CliRunner().invoke(app, ["serve", *map(str, words)], prog_name="diurnal")
            assert (done.exit_code, "Hint" in done.output) == (1, True), done.output


def test_a_store_is_made_where_caps_are_given(tmp_path):
    """With caps, a store that is not there is made, empty; found again, its own caps hold."""
    services.tokens.make(tmp_path / "tokens.json", name="a", role="custodian")
    dn.save_panel(services.panel(), tmp_path / "homes.parquet")
    for cap in ("2", "3"):
        with services.running(tmp_path, "--pattern-cap", cap) as process, httpx.Client() as client:
            assert client.get(f"{process.url}/v1/streams", headers={"Accept": "*/*"}).json()["streams"] == []
    assert dn.Curator.open(tmp_path / "city.db", profiles=tmp_path / "profiles").budget.pattern == 2


def test_over_tls(city):
    """With a certificate it speaks TLS, and says that it is to be reached so for good."""
    folder, _ = city
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=folder,
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("needs openssl")
    trusted = ssl.create_default_context(cafile=folder / "cert.pem")
    process = services.Process(folder, "--tls-cert", folder / "cert.pem", "--tls-key", folder / "key.pem")
    try:
        assert process.url.startswith("https://")
        process.wait_until_ready(verify=trusted)
        found = httpx.get(f"{process.url}/v1/streams", verify=trusted)
        assert "max-age" in found.headers["strict-transport-security"]
        with Client(process.url, verify=trusted) as client:
            assert len(client.streams()) == 1
        with pytest.raises(httpx.TransportError):
            httpx.get(process.url.replace("https", "http"))
    finally:
        assert process.end() == 0


def test_behind_a_proxy_clients_are_told_apart(city):
    """What a proxy says of its clients is believed, so that one who guesses does not lock the others out."""
    with services.running(city[0], "--behind-proxy", "127.0.0.1") as process, process.http() as client:
        for _ in range(12):
            headers = {"X-Forwarded-For": "203.0.113.9", "Authorization": "Bearer x"}
            last = client.get("/v1/custodian/status", headers=headers)
        assert last.status_code == 429
        headers = {"X-Forwarded-For": "203.0.113.10", **services.bearer(city[0], "custodian")}
        assert client.get("/v1/custodian/status", headers=headers).status_code == 200


def test_a_client_cannot_say_who_it_is(city):
    """Without a proxy, what a request says of where it comes from is not believed."""
    with services.running(city[0]) as process, process.http() as client:
        found = [
            client.get(
                "/v1/custodian/status", headers={"X-Forwarded-For": f"203.0.113.{n}", "Authorization": "Bearer x"}
            ).status_code
            for n in range(12)
        ]
    assert found[-1] == 429


def test_it_says_where_it_listens(city):
    """With --json there is one line, once it listens; an interrupt ends it with code 0."""
    import signal

    process = services.Process(city[0])
    process.wait_until_ready()
    assert process.url == f"http://127.0.0.1:{process.port}"
    assert process.end(signal.SIGINT) == 0
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert lines[-1]["event"] == "done"


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
