"""What keeps the service from being worn out: places, bodies, questions, caches and threads have ends."""

import asyncio
import socket
import subprocess
import sys
import time

import pyarrow as pa
import pytest

import services
from diurnal.show.web.access import Access
from diurnal.show.web.limits import Met, Places
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.middleware import Gate
from diurnal.show.web.response_cache import ResponseCache
from diurnal.show.web.settings import Limits, Settings

NEXT = services.FIRST + 32
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
            body = services.csv_of(services.rows_of(services.panel().between(NEXT, NEXT + 4)))
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


def test_what_is_kept_is_counted_with_all_around_it():
    """However small answers are, no more of them are kept than there is room for with names and headers."""
    kept = ResponseCache(50_000, len)
    for number in range(1000):
        kept.put(("x" * 400, number), b"")
    assert len(kept._values) == 20


def test_long_questions_are_not_kept(asked, city):
    """A question that somebody made long is answered, and not remembered; a short one is."""
    client = asked()
    answers = client.app.state.service.answers
    path = f"/v1/streams/{city[1]}/reports?start=24&stop=28"
    for more, headers in (("&stop=28" * 60, {}), ("", {"Accept": "text/csv" + " " * 490})):
        assert client.get(path + more, headers=headers).status_code == 200
        assert answers.total() == 0
    client.get(path)
    assert answers.total() > 0


def test_a_page_is_made_once_for_all_who_ask(asked, city, monkeypatch):
    """Twenty who ask for the same page at the same time wait for one making of it."""
    client = asked()
    service, made = client.app.state.service, []
    making = service.pages.made

    def slow(*asked):
        made.append(asked)
        time.sleep(0.3)
        return making(*asked)

    monkeypatch.setattr(service.pages, "made", slow)
    stream = service.feed.streams()[0]

    async def twenty():
        from diurnal.show.web.pages import PageAsked

        about = PageAsked(stream=stream.key, start=24, stop=30, limit=9, group=None, form="csv", packed=False)
        found = await asyncio.gather(*(service.page(about, stream, 0, "x") for _ in range(20)))
        return {page.tag for page in found}

    assert len(client.portal.call(twenty)) == 1
    assert len(made) == 1


def test_no_more_pages_are_made_than_may(asked, city):
    """Where as many pages are being made as may, the next is told to ask again."""
    client = asked(limits={"requests": 0, "pages": 0})
    refused = client.get(f"/v1/streams/{city[1]}/reports", params={"start": 24, "stop": 25})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")


def test_no_more_batches_are_in_the_house_than_may(asked, city):
    """Where as many batches are being taken as may, the next is told to come again."""
    client = asked("ingest", limits={"requests": 0, "batches": 0})
    refused = client.post("/v1/readings", content=b"x", headers={"Content-Type": "text/csv"})
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")


def test_json_has_a_smaller_end(asked):
    """JSON, which is read while all others wait, is refused at a size at which CSV is taken in."""
    client = asked("ingest", limits={"requests": 0, "json": 1000})
    for kind, status in (("application/json", 413), ("text/csv", 422)):
        found = client.post("/v1/readings", content=b"x" * 1001, headers={"Content-Type": kind})
        assert found.status_code == status, kind


def of(**columns):
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_a_few_bytes_do_not_stand_for_many(asked):
    """Dictionaries are for names, and no text is long: a small body cannot become a large one."""
    client = asked("ingest")
    names = pa.array(["a"] * 3)
    many = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0]), pa.array(["1" * 100_000]))
    for columns in (
        {"household": names, "time": pa.array(["2022-08-01T00:00"] * 3), "wh": many},
        {"household": many, "time": pa.array(["2022-08-01T00:00"] * 3), "wh": pa.array([1] * 3)},
        {"household": names, "time": pa.array(["2022-08-01T00:00" + " " * 100] * 3), "wh": pa.array([1] * 3)},
    ):
        found = client.post("/v1/readings", content=of(**columns), headers={"Content-Type": services.ARROW})
        assert (found.status_code, found.json()["code"]) == (422, "readings")
        assert "column" in found.json()["detail"] or "characters" in found.json()["detail"]


def test_views_of_texts_are_texts(asked):
    """A frame whose texts are views, as Polars makes them, is taken."""
    rows = services.rows_of(services.panel().between(NEXT, NEXT + 1))
    columns = {name: pa.array([row[name] for row in rows], pa.string_view()) for name in ("household", "time")}
    body = of(**columns, wh=pa.array([int(row["value"]) for row in rows]))
    found = asked("ingest").post("/v1/readings", content=body, headers={"Content-Type": services.ARROW}).json()
    assert found["streams"][0]["taken"] == len(rows)


def test_a_cycle_longer_than_is_looked_at_is_refused(asked):
    """Neither check nor plan works for minutes on a cycle of years; no epsilon is too large to be asked about."""
    client = asked("custodian")
    asked_for = {"epsilon": "1", "history": 6, "period": "9999d"}
    assert client.post("/v1/custodian/plan", json=asked_for).json()["code"] == "plan"
    assert client.get("/v1/custodian/check", params={"period": "9999d"}).json()["code"] == "plan"
    huge = {"epsilon": "999999999999", "history": 6, "domain": [0, 900000]}
    assert client.post("/v1/custodian/plan", json=huge).status_code in (200, 422)


def test_what_is_thought_over_keeps_nobody_from_ending(city):
    """A service that is told to stop ends, though the custodian's question would take another hour."""
    script = """
import asyncio, sys, time
from diurnal.show.web.service import Service
from diurnal.show.web.settings import Settings
async def live():
    service = Service(Settings(store=sys.argv[1], profiles=sys.argv[2]))
    await service.open()
    thought = asyncio.create_task(service.think(lambda: time.sleep(3600)))
    await asyncio.sleep(0.2)
    thought.cancel()
    await service.close()
asyncio.run(live())
"""
    folder = city[0]
    words = [sys.executable, "-c", script, str(folder / "city.db"), str(folder / "profiles")]
    assert subprocess.run(words, timeout=60).returncode == 0


def test_what_is_thought_over_is_told(asked):
    """A question's answer comes back, and so does what went wrong with it."""
    client = asked()
    service = client.app.state.service

    async def think(work):
        return await service.think(work)

    assert client.portal.call(think, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        client.portal.call(think, lambda: 1 // 0)
