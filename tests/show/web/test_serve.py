"""The verb: what it refuses, and how it runs with TLS, behind a proxy, and on PostgreSQL in several processes."""

import json
import ssl
import subprocess
import sys

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


def test_on_postgresql_in_two_processes(tmp_path, postgres):
    """Two processes on one database: batches sent to either are taken once, and both show all reports."""
    where = postgres()
    stream = services.found_city(tmp_path, reported=0, where=where)
    homes, first = services.panel(), services.FIRST
    with services.running(tmp_path, "--workers", 2, "--rate", 0, store=where) as process:
        with Client(process.url, token=services.shown(tmp_path)["ingest"]) as client:
            answers = [
                client.send(homes.between(first + 4 * (n // 2), first + 4 * (n // 2) + 4), key=f"{n // 2}")
                for n in range(12)
            ]
        assert [each["again"] for each in answers].count(False) == 6
        for _ in range(20):
            with Client(process.url) as client:
                if len(list(client.reports(stream))) == 24:
                    break
        for _ in range(6):
            with Client(process.url) as client:
                assert client.promise(stream)["level"] == "strong"
        assert process.end() == 0
    curator = dn.Curator.open(where, profiles=tmp_path / "profiles")
    assert len(curator.streams()[0].rows()) == 24
    assert curator.verify().sound


def test_it_says_where_it_listens(city):
    """With --json there is one line, once it listens; an interrupt ends it with code 0."""
    import signal

    process = services.Process(city[0])
    process.wait_until_ready()
    assert process.url == f"http://127.0.0.1:{process.port}"
    assert process.end(signal.SIGINT) == 0
    lines = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert lines[-1]["event"] == "done"


def test_processes_that_cannot_begin_are_given_up(tmp_path):
    """Without its database, a service of two processes says why and ends with code 1, not as if all were well."""
    store = "postgresql+psycopg://nobody@127.0.0.1:1/x"
    words = ["serve", "--store", store, "--workers", "2", "--port", "0", "--profiles", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", services.RUN, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Serving" not in done.stdout


def test_dying_processes_are_not_started_for_ever(tmp_path):
    """Processes that die as soon as they begin are started a few times; then it is an error."""
    script = tmp_path / "dying.py"
    script.write_text("""
import sys
from functools import partial
from diurnal.show.web.workers import supervise
if __name__ == "__main__":
    supervise(partial(sys.exit, 3), 2)
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "5 processes died" in done.stderr
