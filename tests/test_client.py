"""The client by itself: how it tries again, and what importing it takes."""

import contextlib
import http.server
import json
import subprocess
import sys
import threading

import pytest

import diurnal as dn
import services
from diurnal.client import Client
from diurnal.errors import RefusedError, ServiceError


@contextlib.contextmanager
def answering(*answers):
    """A real server that gives these answers one after the other, and the requests it got."""
    left, asked = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append((self.headers["Idempotency-Key"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.do_GET()

        def do_GET(self):
            status, headers, content = left.pop(0)
            if status is None:
                self.connection.close()
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


BUSY = {"error": {"code": "busy", "message": "Not now.", "hint": "Later.", "request": "1"}}


def test_it_tries_again_as_it_is_told():
    """What means "not now" is tried again, as late as it says; a broken connection after ever longer pauses."""
    pauses = []
    told = [(503, {"Retry-After": "7"}, BUSY), (429, {"Retry-After": "3"}, BUSY)]
    told += [(502, {"Retry-After": "2"}, {}), (504, {"Retry-After": "1"}, {})]
    broken = [(None, {}, {})] * 3
    with (
        answering(*told, *broken, (200, {}, {"streams": []})) as (url, _),
        Client(url, wait=pauses.append, patience=100) as client,
    ):
        assert client.streams() == []
    assert pauses[:4] == [7.0, 3.0, 2.0, 1.0]
    assert 1.6 <= pauses[4] <= 3.2 <= pauses[5] * 1.0001 <= 6.4 <= pauses[6] * 1.0001 <= 12.8


def test_a_batch_that_is_tried_again_has_the_same_key():
    """Sent again after a broken connection, a batch goes by the same key and has the same bytes; the same readings
    sent anew go by another: a key says nothing of them.
    """
    with (
        answering((None, {}, {}), (503, {}, BUSY), *[(200, {}, {"again": True})] * 2) as (url, asked),
        Client(url, wait=lambda _: None) as client,
    ):
        for _ in range(2):
            assert client.send(services.panel().between(0, 1)) == {"again": True}
    assert len(asked) == 4
    assert len(set(asked[:3])) == 1
    assert asked[3][1] == asked[0][1]
    assert asked[3][0] != asked[0][0]


def test_patience_ends():
    """What cannot be reached for as long as patience goes is an error that says so; a refusal is one at once."""
    with (
        Client("http://127.0.0.1:9", patience=0.5) as client,
        pytest.raises(ServiceError, match="cannot be reached") as caught,
    ):
        client.streams()
    # That nothing was drawn, spent or published is not known here.
    assert not isinstance(caught.value, RefusedError)
    with (
        answering(*[(503, {"Retry-After": "60"}, BUSY)] * 2) as (url, _),
        Client(url, patience=5) as client,
        pytest.raises(ServiceError, match="Not now") as caught,
    ):
        client.streams()
    assert caught.value.status == 503
    with (
        answering((500, {}, "nonsense")) as (url, _),
        Client(url) as client,
        pytest.raises(ServiceError, match="got 500"),
    ):
        client.streams()


def test_importing_the_client_is_light():
    """`import diurnal` and `import diurnal.client` pull in neither httpx nor the service."""
    script = (
        "import sys, diurnal, diurnal.client\n"
        "print([m for m in ('httpx', 'fastapi', 'starlette', 'uvicorn', 'prometheus_client', 'pydantic') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "client" not in dn.__all__
