"""Bodies and addresses that mean harm: refused cheaply, in one shape, and the service goes on."""

import asyncio
import contextlib
import gzip
import json
import pathlib
import socket
import time

import httpx
import pyarrow as pa
import pytest
import uvicorn
from uvicorn.server import ServerState

import services
from diurnal.show.web.limits import Connections, Met
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.server import Patient


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A real service that takes batches of 2 MiB at most."""
    folder = tmp_path_factory.mktemp("city")
    stream = services.found_city(folder)
    with services.running(folder, "--max-body", 2, "--max-rows", 5000, "--rate", 0) as process:
        # The service composes its promise in the background. Waiting for it keeps that out of measured memory.
        with process.http() as client:
            assert client.get(f"/v1/streams/{stream}/promise").status_code == 200
        yield process, stream


def memory(process):
    """The most memory a process ever had, in MB."""
    text = pathlib.Path(f"/proc/{process.process.pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def raw(process, head, chunks=()):
    """Send bytes as they are; the status of the answer, and how many chunks were sent until it came."""
    sent = 0
    with socket.create_connection(("127.0.0.1", process.port), timeout=20) as connection:
        connection.sendall(head)
        connection.setblocking(False)
        answer = b""
        for chunk in chunks:
            with contextlib.suppress(BlockingIOError):
                answer += connection.recv(4096)
            if answer:
                break
            connection.setblocking(True)
            try:
                connection.sendall(chunk)
            except (BrokenPipeError, ConnectionResetError):
                break
            sent += 1
            connection.setblocking(False)
        connection.settimeout(20)
        with contextlib.suppress(ConnectionResetError):
            while b"}}" not in answer and (more := connection.recv(4096)):
                answer += more
    return int(answer.split(b" ", 2)[1]) if answer else None, sent, answer


def head(process, *more, kind="text/csv"):
    token = services.shown(process.folder)["ingest"]
    lines = ["POST /v1/readings HTTP/1.1", "Host: x", f"Authorization: Bearer {token}", f"Content-Type: {kind}"]
    return "\r\n".join([*lines, *more, "", ""]).encode()


def is_shaped(answer):
    """Whether an answer has the one shape of refusals."""
    content = answer if isinstance(answer, dict) else json.loads(answer[answer.index(b'{"type"') :])
    old = {"code", "message", "hint", "request"}
    fields = {"type", "title", "status", "detail", "code", "remedy", "request", "error"}
    return content.keys() == fields and content["error"].keys() == old


def test_ten_gigabytes_are_refused_before_they_are_sent(served):
    """A body that is declared too large is refused at once, whoever sends it, and its bytes are not waited for."""
    process, _ = served
    for length in (10 * 10**9, 10**40, 3 << 20):
        began = time.monotonic()
        status, _, answer = raw(process, head(process, f"Content-Length: {length}"))
        assert status in (400, 413)
        if status == 413:
            assert is_shaped(answer)
        assert time.monotonic() - began < 2


def test_a_body_without_a_length_is_counted(served):
    """Chunks without end are cut off once they are too many."""
    process, _ = served
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    status, sent, _ = raw(process, head(process, "Transfer-Encoding: chunked"), (chunk for _ in range(2000)))
    assert status in (413, None)
    assert sent < 200


def test_a_bomb_does_not_go_off(served):
    """A gigabyte packed into a megabyte is refused after two, and costs no memory to speak of."""
    process, _ = served
    before = memory(process)
    bomb = gzip.compress(b"\0" * (1 << 29), 9)
    headers = {"Content-Type": "text/csv", "Content-Encoding": "gzip"}
    with process.http("ingest") as client:
        found = client.post("/v1/readings", content=bomb, headers=headers)
        assert (found.status_code, is_shaped(found.json())) == (413, True)
        for broken in (bomb[:1000], b"no gzip", gzip.compress(b"a") + gzip.compress(b"b")):
            assert client.post("/v1/readings", content=broken, headers=headers).json()["code"] == "encoding"
        headers["Content-Encoding"] = "br"
        assert client.post("/v1/readings", content=b"x", headers=headers).status_code == 415
    assert memory(process) - before < 60


def arrow(table, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_arrow_that_would_unpack_itself_is_refused(served):
    """Compressed buffers, columns of nothing with a billion rows, kinds that readings do not have, damage: 422."""
    process, _ = served
    long = pa.table({"household": ["a"] * 4000, "time": ["2022"] * 4000, "wh": [1] * 4000})
    many = pa.table({"household": pa.nulls(10**9)})
    listed = pa.table({"household": [["a"]], "time": ["2022"], "wh": [1]})
    coded = pa.table({"household": pa.array(["a"] * 4000).dictionary_encode(), "time": ["2022"] * 4000})
    whole = arrow(long)
    bodies = [
        *(arrow(table, compression=kind) for table in (long, coded) for kind in ("zstd", "lz4")),
        *(arrow(many), arrow(listed), whole[:900], whole[:-900], b"\xff" * 500, b"ARROW1\0\0", b"\0" * 64),
        arrow(pa.table({f"c{number}": [1] for number in range(200)})),
        arrow(pa.concat_tables([long, long])),
    ]
    before = memory(process)
    with process.http("ingest") as client:
        for body in bodies:
            found = client.post("/v1/readings", content=body, headers={"Content-Type": services.ARROW})
            assert (found.status_code, found.json()["code"]) == (422, "readings"), found.text
    assert memory(process) - before < 100


def test_damaged_arrow_never_breaks_anything(served):
    """Whatever byte of a stream is another, it is taken or refused, and the service still answers."""
    process, _ = served
    rows = services.rows_of(services.panel().between(services.FIRST, services.FIRST + 1))
    whole = services.arrow_of(rows)
    with process.http("ingest") as client:
        for at in range(0, len(whole), max(1, len(whole) // 150)):
            body = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
            found = client.post("/v1/readings", content=body, headers={"Content-Type": services.ARROW})
            assert found.status_code in (200, 422), (at, found.text)


ROW = {"household": "secret-home-01", "time": "2022-07-15T00:00", "value": "1"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[" * 100_000,
        b'{"readings": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"readings": [{"household": "a", "time": "2022-07-15T00:00", "value": NaN}]}',
        b'{"readings": [{"household": "a", "time": "2022-07-15T00:00", "value": Infinity}]}',
        b'{"readings": [{"household": "a", "time": "2022-07-15T00:00", "value": ' + b"9" * 5000 + b"}]}",
        b'{"readings": [{"household": "\\ud800", "time": "2022-07-15T00:00", "value": "1"}]}',
        b'{"readings": 5}',
        b'{"readings": "abc"}',
        b'{"readings": {"household": 1}}',
        b'{"readings": []}',
        b"null",
        b"\xff\xfe",
        *(
            json.dumps({"readings": [{**ROW, name: wrong}]}).encode()
            for name in ROW
            for wrong in (None, True, [], {}, 1.5 if name != "value" else "x", "", "'; drop table rows; --")
        ),
        json.dumps({"readings": [{**ROW, "more": 1}]}).encode(),
        json.dumps({"readings": [ROW] * 6000}).encode(),
    ],
    ids=lambda body: body[:40].decode("latin-1") + str(len(body)),
)
def test_json_that_is_no_readings_is_refused(served, body):
    """Deep, endless, not numbers, wrong kinds, too many: refused with 422 in the one shape."""
    process, _ = served
    with process.http("ingest") as client:
        found = client.post("/v1/readings", content=body, headers={"Content-Type": "application/json"})
    assert found.status_code == 422, found.text
    assert is_shaped(found.json())


def test_other_kinds_of_bodies_are_refused(served):
    """A body of no known kind is refused; so is CSV without columns, or with a thousand of them."""
    process, _ = served
    with process.http("ingest") as client:
        for kind in ("application/xml", "", "text/plain", "application/json-patch+json"):
            assert client.post("/v1/readings", content=b"x", headers={"Content-Type": kind}).status_code == 415
        many = ",".join(f"c{number}" for number in range(1000)).encode() + b"\n1\n"
        for body in (b"x", b"\n\n\n", b"a,b\n1\n", many, b"\0\0\0", b"household,time,wh\n"):
            found = client.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"})
            assert (found.status_code, is_shaped(found.json())) == (422, True), body[:20]


TRICKS = (
    "'; drop table rows; --",
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%00",
    "a" * 5000,
    "0" * 64,
    "00000000' or '1'='1",
    "\N{SNOWMAN}",
    "{{7*7}}",
    "<script>alert(1)</script>",
)


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick[:20])
def test_tricks_in_names_lead_nowhere(served, trick):
    """A stream called like a statement, a path or a script is not there; it is not even repeated."""
    process, _ = served
    with process.http("custodian") as client:
        for url in ("/v1/streams/{}", "/v1/streams/{}/reports", "/v1/custodian/streams/{}/drift", "/static/{}"):
            found = client.get(httpx.URL(process.url, path=url.format(trick)))
            assert found.status_code in (404, 422), found.text
            assert is_shaped(found.json())
            assert trick not in found.text
        for name in ("start", "stop", "group", "cursor", "format", "limit"):
            found = client.get("/v1/streams/" + served[1] + "/reports", params={name: trick})
            assert found.status_code in (404, 422) or (name == "start" and trick == "0" * 64), (name, found.text)


def test_everything_that_is_refused_has_one_shape(asked, city, monkeypatch):
    """401, 403, 404, 405, 406, 409, 413, 422, 429, 500 and 503 look the same, and have their request's number."""
    client = asked("custodian", limits={"requests": 0, "guesses": 1, "question": 2000})
    stream = f"/v1/streams/{city[1]}"
    found = {
        404: client.get("/nowhere"),
        405: client.delete("/v1/streams"),
        406: client.get(f"{stream}/reports", headers={"Accept": "image/png"}),
        409: client.post(f"/v1/custodian/streams/{city[1]}/stop", json={}),
        413: client.post("/v1/custodian/plan", content=b"x" * 3000),
        422: client.get(f"{stream}/reports?limit=x"),
        403: client.post("/v1/readings"),
        401: client.get("/v1/custodian/status", headers={"Authorization": "Bearer x"}),
        429: client.get("/v1/custodian/status", headers={"Authorization": "Bearer x"}),
    }
    service = client.app.state.service

    def broken(*_, **__):
        raise ZeroDivisionError(f"{services.SECRET} {services.HOUSEHOLD}")

    monkeypatch.setattr(service.pages, "made", broken)
    found[500] = client.get(f"{stream}/reports?limit=77")
    monkeypatch.setattr(service, "batches", 99)
    headers = {**services.bearer(city[0], "ingest"), "Content-Type": "text/csv"}
    client.app.state.access._guesses._full.clear()
    found[503] = client.post("/v1/readings", content=b"x", headers=headers)
    for status, answer in found.items():
        assert answer.status_code == status, (status, answer.text)
        assert is_shaped(answer.json())
        assert answer.json()["request"] == answer.headers["x-request-id"]
        assert "ZeroDivision" not in answer.text
        assert str(services.SECRET) not in answer.text


def test_a_body_that_never_comes_is_not_waited_for(city, tmp_path):
    """A body that takes longer than it may is refused with 408, and the connection is closed."""
    folder, _ = city
    script = tmp_path / "slow.py"
    script.write_text(
        f"""
import json
from pathlib import Path
from diurnal.show.web.server import Door, run
from diurnal.show.web.settings import Limits, Settings
folder = Path({str(folder)!r})
limits = Limits(patience=0.5)
settings = Settings(store=str(folder / "city.db"), profiles=str(folder / "profiles"),
                    tokens=folder / "tokens.json", limits=limits)
run(settings, Door(port=0), ready=lambda address: print(json.dumps({{"address": address}}), flush=True))
"""
    )
    with services.running(folder, script=script) as process:
        began = time.monotonic()
        status, _, answer = raw(process, head(process, "Content-Length: 1000"))
        assert (status, is_shaped(answer)) == (408, True)
        assert 0.4 < time.monotonic() - began < 10


def flooded(process, begin, more, *, count=400, pause=0):
    """Send a head, or what comes after one, without an end: what came back, and how many parts could be sent."""
    answer, sent = b"", 0
    with socket.create_connection(("127.0.0.1", process.port), timeout=20) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(begin)
            for sent in range(count):  # noqa: B007
                connection.sendall(more)
                time.sleep(pause)
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(4096):
                answer += part
    return answer, sent


LINES = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 100) for number in range(600))


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n", LINES),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ", b"a" * 65536),
        (b"GET /", b"a" * 65536),
        (b"POST /v1/readings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", LINES),
        (b"POST /v1/readings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 65536),
        (b"GET /v1/streams HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n", LINES),
    ],
    ids=["headers", "a header", "address", "trailers", "chunk", "second request"],
)
def test_a_head_without_an_end_is_hung_up_on(served, begin, more):
    """Whoever sends headers, an address or trailers without an end, with no token, costs no memory to speak of."""
    process, _ = served
    before = memory(process)
    _, sent = flooded(process, begin, more)
    assert sent < 399
    assert memory(process) - before < 20


def test_a_head_that_is_too_long_is_answered_in_the_one_shape(served):
    """A head that is somewhat too long is refused with 431; one that is long, and ends, is taken."""
    process, _ = served
    answer, _ = flooded(process, b"GET /healthz HTTP/1.1\r\nHost: x\r\n", LINES[:40_000], count=4, pause=0.1)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert is_shaped(answer)
    found = httpx.get(f"{process.url}/healthz", headers={"X-Long": "a" * 30_000})
    assert found.status_code == 200


def test_requests_are_not_piled_up_behind_each_other():
    """Of requests that are sent without waiting for answers, no more wait inside than come at once."""
    inside, count = [], 3000
    asked = b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 2000 + b"\r\n\r\n"

    async def app(scope, receive, send):
        inside.append(len(protocol.pipeline))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    class Counted(Patient):
        house = Connections(1, Met(Metrics()))

    async def serve():
        nonlocal protocol
        config = uvicorn.Config(app, http=Counted, lifespan="off", log_config=None)
        config.load()
        protocol = Counted(config, ServerState(), {})
        server = await asyncio.get_running_loop().create_server(lambda: protocol, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(asked * count)
        seen = 0
        while seen < count:
            seen += (await reader.readuntil(b"\r\n\r\n")).count(b"204")
        writer.close()
        server.close()
        await asyncio.sleep(0.1)

    protocol = None
    asyncio.run(serve())
    assert len(inside) == count
    assert max(inside) < 300


def test_answers_that_are_not_taken_are_not_kept_for_ever(city, tmp_path):
    """Who asks for much and takes nothing is hung up on, and nothing fails by it; who takes it is not."""
    folder, _ = city
    script = tmp_path / "stuck.py"
    script.write_text(
        "from diurnal.show.cli import main\nfrom diurnal.show.web import server\nserver.STUCK = 2\nmain()\n"
    )
    count, asked = 80, b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
    with services.running(folder, "--rate", 0, script=script) as process:
        for pause, whole in ((0.0, True), (3.0, False)):
            with socket.socket() as connection:
                if pause:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.settimeout(3)
                connection.connect(("127.0.0.1", process.port))
                connection.sendall(asked * count)
                time.sleep(pause)
                answers = 0
                with contextlib.suppress(TimeoutError, ConnectionResetError):
                    while answers < count and (more := connection.recv(1 << 20)):
                        answers += more.count(b"HTTP/1.1 200")
            assert (answers == count) == whole
        assert process.end() == 0
        assert '"error"' not in process.log.read_text()
