"""What every request passes: what does not come is not waited for, and places have an end."""

import asyncio
import socket
import time

import pytest

import services
from diurnal.show.web.access import Access
from diurnal.show.web.limits import Met, Places
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.middleware import Gate
from diurnal.show.web.settings import Limits, Settings

SLOW = """
import json, sys
from pathlib import Path
from diurnal.show.web import server
from diurnal.show.web.settings import Limits, Settings
server.QUIET = 0.5
folder = Path({folder!r})
settings = Settings(store=str(folder / "city.db"), profiles=str(folder / "profiles"),
                    tokens=folder / "tokens.json", limits=Limits(patience=0.5))
server.run(settings, server.Door(port=0), ready=lambda url: print(json.dumps(dict(address=url)), flush=True))
"""


@pytest.fixture
def hurried(city, tmp_path):
    """A service that waits half a second for whatever is to come."""
    script = tmp_path / "hurried.py"
    script.write_text(SLOW.format(folder=str(city[0])))
    with services.running(city[0], script=script) as process:
        yield process


def told(process, *lines):
    """What is answered to some lines of a request that goes no further, and after how many seconds."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", process.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = b""
        while more := connection.recv(4096):
            answer += more
            if b"}}" in answer:
                break
    return answer, time.monotonic() - began


def test_nobodys_body_is_read_who_may_not_send_one(hurried):
    """Without a token a body is not waited for: 401 comes while it is still to be sent."""
    for path in ("/v1/custodian/plan", "/v1/custodian/start", "/v1/readings"):
        lines = (
            f"POST {path} HTTP/1.1",
            "Host: x",
            "Content-Type: application/json",
            "Content-Length: 90",
            "",
            "{",
        )
        answer, _ = told(hurried, *lines)
        assert answer.startswith(b"HTTP/1.1 401"), (path, answer[:80])


def test_a_question_that_never_comes_is_not_waited_for(hurried):
    """The custodian's body too is refused with 408 once it takes longer than it may."""
    token = f"Authorization: Bearer {services.shown(hurried.folder)['custodian']}"
    kind = "Content-Type: application/json"
    answer, took = told(
        hurried, "POST /v1/custodian/plan HTTP/1.1", "Host: x", token, kind, "Content-Length: 90", "", "{"
    )
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"too-slow" in answer
    assert took < 10


@pytest.mark.parametrize("lines", [(), ("GET / HTTP/1.1", "Host: x")])
def test_who_says_nothing_is_hung_up_on(hurried, lines):
    """A connection without a request, or with half of one's head, is closed."""
    answer, took = told(hurried, *lines)
    assert answer == b""
    assert took < 10


def test_who_said_something_and_then_half_is_hung_up_on(hurried):
    """A connection that was answered once keeps no place by half a head afterwards; one that listens stays."""
    with socket.create_connection(("127.0.0.1", hurried.port), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        while connection.recv(4096):
            pass
    with hurried.http() as client:
        stream = client.get("/v1/streams").json()["streams"][0]["stream"]
    with hurried.http() as client, client.stream("GET", f"/v1/streams/{stream}/events") as answer:
        lines = answer.iter_lines()
        next(lines)
        time.sleep(1.5)
        with hurried.http("ingest") as sender:
            body = services.csv_of(services.rows_of(services.panel().between(services.NEXT, services.NEXT + 4)))
            assert (
                sender.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"}).status_code == 200
            )
        assert any(line == "event: reports" for line in lines)


def test_a_house_is_full_and_listeners_have_places_of_their_own():
    """So many requests are worked on at a time, the next is told 503; who listens takes none of the places."""
    done = asyncio.Event()
    answers = []

    async def app(scope, receive, send):
        await done.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def ask(gate, path):
        async def send(message):
            if message["type"] == "http.response.start":
                answers.append((path, message["status"]))

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {"type": "http", "method": "GET", "path": path, "headers": [], "client": ("127.0.0.1", 1)}
        await gate(scope, receive, send)

    async def all_at_once():
        settings, metrics = Settings(store="x", limits=Limits(at_once=3, requests=0)), Metrics()
        places = Places("listeners", most=9, retry=30)
        about = {"access": Access(settings), "metrics": metrics, "met": Met(metrics), "listeners": places}
        gate = Gate(app, settings=settings, **about)
        paths = ["/v1/streams/x/events"] * 5 + ["/v1/streams"] * 4
        waiting = [asyncio.create_task(ask(gate, path)) for path in paths]
        await asyncio.sleep(0.05)
        assert answers == [("/v1/streams", 503)]
        done.set()
        await asyncio.gather(*waiting)

    asyncio.run(all_at_once())
    assert sorted(status for _, status in answers) == [200] * 8 + [503]
