"""Attackers: those who mean harm, each from an address of its own. Every attack has the answers that are meant."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import httpx
import pyarrow as pa

from benchmarks.soaking import PATIENCE
from benchmarks.soaking.city import ROLES
from benchmarks.soaking.house import House
from benchmarks.soaking.seen import HUNG_UP, Seen
from diurnal.client import ARROW

Answer = tuple[str, bytes]
"""A status, or that the connection was hung up; and all that came back."""

BOMB = gzip.compress(b"\0" * (1 << 27), 9)
"""As much as a hundred megabytes, in as little as a hundred kilobytes."""

CUSTODIAN = ("status", "ledger", "budget", "check", "panel", "lately", "told", "metrics")

TRICKS = (
    *("/../../etc/passwd", "/static/../../../etc/passwd", "/static/..%2f..%2fetc%2fpasswd", "//etc/passwd"),
    *("/%2e%2e/%2e%2e/tokens.json", "/v1/streams/%00", "/v1/streams/..%2fcustodian%2fstatus", "/tokens.json"),
    *("/v1//custodian/status", "/V1/CUSTODIAN/STATUS", "/v1/custodian/status/", "/v1/streams/{{7*7}}"),
    *("/v1/streams/'%20or%20'1'='1", "/v1/streams/%27;drop%20table%20rows;--/reports", "/" + "a" * 5000),
)

BAD_QUESTIONS = (
    "start=x",
    "start=-1",
    "stop=1e9",
    "limit=0",
    "cursor=step-x",
    "format=xml",
    "group=a",
    "step=1&start=1",
)


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A kind of attack."""

    kind: str
    """What it is."""
    expected: frozenset[str]
    """The answers that are meant."""
    tried: Callable[[Attacker], Iterator[Answer]]
    """Tries it, in one way or several."""


class Attacker:
    """Somebody at an address, who has some tokens and a socket."""

    def __init__(self, house: House, address: str) -> None:
        self.house, self.address, self.tokens = house, address, house.city.tokens
        # A connection each time: one that was quiet may be hung up on at the moment it is used again.
        limits = httpx.Limits(max_keepalive_connections=0)
        way = httpx.HTTPTransport(local_address=address, limits=limits)
        self.http = httpx.Client(base_url=house.url, timeout=20, transport=way)

    def asked(self, method: str, path: str, *, token: str | None = None, **more: object) -> Answer:
        """Ask as a program would."""
        headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}  # type: ignore[dict-item]
        try:
            answer = self.http.request(method, path, headers=headers, **more)  # type: ignore[arg-type]
        except httpx.TransportError:
            return HUNG_UP, b""
        return str(answer.status_code), answer.content + repr(dict(answer.headers)).encode()

    def sent(self, body: bytes, kind: str, **headers: str) -> Answer:
        """Send a body as the head-end would."""
        more = {"Content-Type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.asked("POST", "/v1/readings", token=self.tokens["ingest"], content=body, headers=more)

    def raw(self, *parts: bytes, pause: float = 0.0, wait: float = 15.0) -> Answer:
        """Send bytes as they are, and take what comes back until the other side hangs up, or has answered."""
        answer = b""
        with (
            suppress(OSError),
            socket.create_connection(
                ("127.0.0.1", self.house.port), timeout=wait, source_address=(self.address, 0)
            ) as connection,
        ):
            with suppress(BrokenPipeError, ConnectionResetError):
                for part in parts:
                    connection.sendall(part)
                    if pause:
                        time.sleep(pause)
            while more := connection.recv(65536):
                answer += more
                if answer.rstrip().endswith(b"}"):
                    break
        words = answer.split(b" ", 2)
        return (words[1].decode() if len(words) > 1 else HUNG_UP), answer

    def head(self, *more: str, kind: str = "text/csv") -> bytes:
        """The head of a batch."""
        lines = ["POST /v1/readings HTTP/1.1", "Host: x", f"Authorization: Bearer {self.tokens['ingest']}"]
        return "\r\n".join([*lines, f"Content-Type: {kind}", *more, "", ""]).encode()


def _arrow(**columns: object) -> bytes:
    table, sink = pa.table(columns), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def half_body(who: Attacker) -> Iterator[Answer]:
    yield who.raw(who.head("Content-Length: 1000"), b"household,time,wh\n")


def slow_body(who: Attacker) -> Iterator[Answer]:
    yield who.raw(who.head("Content-Length: 1000"), *(b"x" for _ in range(10)), pause=0.4)


def half_head(who: Attacker) -> Iterator[Answer]:
    yield who.raw(b"GET /v1/streams HTTP/1.1\r\nHost: x\r\nX-Slow: ")


def slow_head(who: Attacker) -> Iterator[Answer]:
    yield who.raw(b"GET /v1/streams HTTP/1.1\r\n", *(b"X-%d: 1\r\n" % each for each in range(10)), pause=0.4)


def broken_off(who: Attacker) -> Iterator[Answer]:
    """The body ends before it should, and so does the connection: nobody is there to be answered."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", who.house.port), timeout=5) as connection:
        connection.sendall(who.head("Content-Length: 1000") + b"household")
    yield HUNG_UP, b""


def never_read(who: Attacker) -> Iterator[Answer]:
    """Far more is asked for than fits on the way, and none of it is taken for a while: the rest does not come."""
    count, answer = 80, b""
    with suppress(OSError), socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((who.address, 0))
        connection.connect(("127.0.0.1", who.house.port))
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * count)
        # The server's patience begins when the way is full: on a busy machine that is not at once.
        time.sleep(2.5 * PATIENCE)
        connection.settimeout(2)
        while more := connection.recv(1 << 20):
            answer += more
    yield ("200" if answer.count(b"HTTP/1.1 200") == count else HUNG_UP), answer[-1000:]


def too_large(who: Attacker) -> Iterator[Answer]:
    for length in (3 << 20, 10 * 10**9, 10**18):
        yield who.raw(who.head(f"Content-Length: {length}"))
    yield who.raw(who.head("Content-Length: 99999999").replace(b"/v1/readings", b"/v1/custodian/plan"))


def endless(who: Attacker) -> Iterator[Answer]:
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    yield who.raw(who.head("Transfer-Encoding: chunked"), *itertools.repeat(chunk, 100))


def bombs(who: Attacker) -> Iterator[Answer]:
    yield who.sent(BOMB, "text/csv", Content_Encoding="gzip")


def bad_packing(who: Attacker) -> Iterator[Answer]:
    for body in (BOMB[:1000], b"no gzip", gzip.compress(b"a") + gzip.compress(b"b")):
        yield who.sent(body, "text/csv", Content_Encoding="gzip")
    yield who.sent(b"x", "text/csv", Content_Encoding="br")


def guesses(who: Attacker) -> Iterator[Answer]:
    for token in (os.urandom(16).hex(), "dn_custodian_" + "0" * 43, who.tokens["custodian"][:-1]):
        yield who.asked("GET", f"/v1/custodian/{random.choice(CUSTODIAN)}", token=token)
        yield who.asked("POST", "/v1/readings", token=token, content=b"x", headers={"Content-Type": "text/csv"})


def no_token(who: Attacker) -> Iterator[Answer]:
    for path in CUSTODIAN:
        yield who.asked("GET", f"/v1/custodian/{path}")
    yield who.asked("POST", "/v1/custodian/start", json={})
    yield who.asked("POST", "/v1/readings", content=b"x" * 1000)
    yield who.asked("GET", "/v1/custodian/status", headers={"Authorization": "Basic Y3VzdG9kaWFuOng="})


def other_roles(who: Attacker) -> Iterator[Answer]:
    stream = who.house.city.stream
    for role in ROLES:
        token = who.tokens[role]
        if role != "custodian":
            yield who.asked("GET", f"/v1/custodian/{random.choice(CUSTODIAN)}", token=token)
            yield who.asked("POST", f"/v1/custodian/streams/{stream}/stop", token=token, json={})
        if role != "ingest":
            yield who.asked("POST", "/v1/readings", token=token, content=b"x")


def bad_arrow(who: Attacker) -> Iterator[Answer]:
    # Nobody of these is on a roster: whatever byte is another, nothing is taken.
    whole = _arrow(household=["x-1"] * 50, time=["2022-02-01T00:00"] * 50, wh=list(range(50)))
    at = random.randrange(len(whole))
    flipped = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
    many = _arrow(household=pa.nulls(10**7))
    for body in (whole, flipped, whole[: at or 1], many, b"\xff" * 500, b"ARROW1\0\0", random.randbytes(300)):
        yield who.sent(body, ARROW)


def bad_csv(who: Attacker) -> Iterator[Answer]:
    columns = ",".join(f"c{number}" for number in range(1000)).encode() + b"\n1\n"
    for body in (b"x", b"\n\n\n", b"a,b\n1\n", b"\0\0\0", columns, b"household,time,wh\n", random.randbytes(200)):
        yield who.sent(body, "text/csv")
    yield who.sent(b"household,time,wh\nx,2022-02-01T00:00,1\n" * 6000, "text/csv")


def bad_json(who: Attacker) -> Iterator[Answer]:
    row = b'{"readings": [{"household": "x", "time": "2022-02-01T00:00", "value": %s}]}'
    deep = b'{"readings": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    for body in (b"", b"null", b"[" * 50_000, deep, b'{"readings": 5}', row % b"NaN", row % (b"9" * 5000)):
        yield who.sent(body, "application/json")


def other_media(who: Attacker) -> Iterator[Answer]:
    for kind in ("application/xml", "text/plain", "multipart/form-data; boundary=x"):
        yield who.sent(b"x", kind)


def paths(who: Attacker) -> Iterator[Answer]:
    for path in TRICKS:
        yield who.raw(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())


def questions(who: Attacker) -> Iterator[Answer]:
    base = f"/v1/streams/{who.house.city.stream}"
    for query in BAD_QUESTIONS:
        yield who.asked("GET", f"{base}/reports?{query}")
    yield who.asked("GET", f"{base}/events?after=x")
    yield who.asked("GET", f"{base}/events", headers={"Last-Event-ID": "9' or 1=1"})


def methods(who: Attacker) -> Iterator[Answer]:
    for method in ("DELETE", "PUT", "PATCH", "TRACE"):
        yield who.asked(method, "/v1/streams")


def headers(who: Attacker) -> Iterator[Answer]:
    """Heads without an end: many headers, one that is long, a long address, and headers after a body."""
    begin, long = b"GET /healthz HTTP/1.1\r\nHost: x\r\n", b"a" * 65536
    many = b"".join(b"X-%d: %s\r\n" % (each, b"a" * 100) for each in range(600))
    yield who.raw(begin, *itertools.repeat(many, 50), b"\r\n")
    yield who.raw(begin, b"X-Long: ", *itertools.repeat(long, 50), b"\r\n\r\n")
    yield who.raw(b"GET /", *itertools.repeat(long, 50), b" HTTP/1.1\r\n\r\n")


def nonsense(who: Attacker) -> Iterator[Answer]:
    """What is no HTTP, or two things at once."""
    yield who.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + random.randbytes(200))
    yield who.raw(b"\0" * 1000)
    yield who.raw(who.head("Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\n")
    yield who.raw(b"GET /v1/streams HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")


def flood(who: Attacker) -> Iterator[Answer]:
    """Far more requests than a client may make, all at once."""
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    asked = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 700
    answer = b""
    with (
        suppress(OSError),
        socket.create_connection(
            ("127.0.0.1", who.house.port), timeout=15, source_address=(who.address, 0)
        ) as connection,
    ):
        sending = threading.Thread(target=_sent, args=(connection, asked + last), daemon=True)
        sending.start()
        while more := connection.recv(65536):
            answer += more
        sending.join(5)
    found = [part[:3].decode() for part in answer.split(b"HTTP/1.1 ")[1:]]
    yield from ((each, answer if at == 0 else b"") for at, each in enumerate(found))
    if not found:
        yield HUNG_UP, b""


def _sent(connection: socket.socket, content: bytes) -> None:
    with suppress(OSError):
        connection.sendall(content)


def _attack(kind: str, tried: Callable[[Attacker], Iterator[Answer]], *expected: str) -> Attack:
    return Attack(kind=kind, expected=frozenset(expected), tried=tried)


QUICK = (
    _attack("no token", no_token, "401"),
    _attack("guesses of tokens", guesses, "401", "429"),
    _attack("tokens of other roles", other_roles, "403"),
    _attack("bodies that are said to be too large", too_large, "413", "400"),
    _attack("bodies without an end", endless, "413", HUNG_UP),
    _attack("gzip bombs", bombs, "413"),
    _attack("bodies packed wrongly", bad_packing, "400", "415"),
    _attack("invalid Arrow", bad_arrow, "422"),
    _attack("invalid CSV", bad_csv, "422"),
    _attack("invalid JSON", bad_json, "422"),
    _attack("bodies of other kinds", other_media, "415"),
    _attack("tricks in paths", paths, "404", "400", "405", "422"),
    _attack("tricks in questions", questions, "422", "404"),
    _attack("methods that there are not", methods, "405"),
    _attack("heads without an end", headers, "431", HUNG_UP),
    _attack("no HTTP at all", nonsense, "400", HUNG_UP),
    _attack("floods of requests", flood, "200", "429"),
)

SLOW = (
    _attack("half a body", half_body, "408"),
    _attack("half a head", half_head, HUNG_UP),
    _attack("a body, byte after byte", slow_body, "408"),
    _attack("a head, line after line", slow_head, HUNG_UP),
    _attack("a body that breaks off", broken_off, HUNG_UP),
    _attack("answers that are never read", never_read, HUNG_UP),
)


def attacked(
    house: House, seen: Seen, end: threading.Event, attacks: tuple[Attack, ...], *, first: int, pause: float
) -> None:
    """Try one attack after the other, each from an address of its own, until the end."""
    people = [Attacker(house, f"127.0.1.{first + number}") for number in range(len(attacks))]
    try:
        for attack, who in itertools.cycle(zip(attacks, people, strict=True)):
            while not house.is_up and not end.wait(0.1):
                pass
            _tried(attack, who, seen, end)
            if end.wait(pause):
                return
    finally:
        for who in people:
            who.http.close()


def _tried(attack: Attack, who: Attacker, seen: Seen, end: threading.Event) -> None:
    house, trial = who.house, attack.tried(who)
    while not end.is_set():
        ends, was_up = house.ends, house.is_up
        answer = next(trial, None)
        if answer is None:
            return
        excused = not was_up or not house.is_up or house.ends != ends
        seen.attacked(attack.kind, *answer, expected=attack.expected, excused=excused)
