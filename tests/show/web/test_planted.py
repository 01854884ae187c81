"""Private numbers planted everywhere: none of them in any public answer, metric or line of the log."""

import itertools
import json
import logging

import diurnal as dn
import services
from diurnal.show.log import Lines
from diurnal.show.web import tokens

NEXT = services.FIRST + 32


def needles(folder):
    """What nobody outside may see: a reading, names, exact sums and means, profiles, the noisy profile, tokens."""
    homes = services.panel()
    sums = homes.readings.sum(axis=1)
    stream = dn.Curator.open(folder / "city.db", profiles=folder / "profiles").streams()[0]
    record = stream._record()
    profile = [str(value) for value in record.profile[:, :10].ravel()]
    noisy = [str(value) for group in record.groups for value in group.noisy_profile]
    exact = [str(total) for total in sums] + [f"{total / services.HOMES:.1f}" for total in sums]
    names = [services.HOUSEHOLD, "secret-home", "of households not", "not taken", "untested"]
    kept = [token.digest for token in tokens.load(folder / "tokens.json")]
    return [str(services.SECRET), *names, *profile, *noisy, *exact, *services.shown(folder).values(), *kept]


def public_answers(client, stream):
    """Every public route, in every format, in many ways, good and bad."""
    base = f"/v1/streams/{stream}"
    yield from map(client.get, ("/", "/v1/streams", base, f"{base}/promise", "/metrics", "/healthz", "/readyz"))
    yield client.get("/openapi.json")
    for form, start in itertools.product(("json", "csv", "arrow", "parquet"), ("0", "24", "x", "2022-07-08")):
        yield client.get(f"{base}/reports", params={"format": form, "start": start})
    for path in ("/v1/custodian/status", "/v1/custodian/check", "/v1/custodian/ledger", "/nowhere"):
        yield client.get(path)
    yield client.post("/v1/readings", content=services.json_of([{"household": services.HOUSEHOLD}]))
    yield client.get(f"{base}/reports", params={"group": services.HOUSEHOLD})
    yield client.get(f"/v1/streams/{services.HOUSEHOLD}")


def test_nothing_private_reaches_the_public(city):
    """While batches come in, good and bad, and the custodian works, nothing planted is in what others can see."""
    folder, stream = city
    wanted = needles(folder)
    public = b""
    with services.running(folder) as process:
        with process.http("ingest") as headend, process.http("custodian") as custodian:
            homes = services.panel()
            for kind, first in zip(services.BODIES, (NEXT, NEXT + 2, NEXT - 2), strict=True):
                body = services.BODIES[kind](services.rows_of(homes.between(first, first + 2)))
                headers = {"Content-Type": kind, "Idempotency-Key": services.HOUSEHOLD + kind}
                assert headend.post("/v1/readings", content=body, headers=headers).status_code == 200
            for wrong in (
                b"household,time,wh\nx,765432,765432\n",
                f"{services.HOUSEHOLD},{services.SECRET}".encode(),
            ):
                query = {"key": str(services.SECRET)}
                found = headend.post(
                    "/v1/readings", content=wrong, headers={"Content-Type": "text/csv"}, params=query
                )
                assert found.status_code == 422
                public += found.content
            for path in ("check", "status", "ledger", "budget", "metrics", f"streams/{stream}/quality"):
                assert custodian.get(f"/v1/custodian/{path}").status_code == 200
        with process.http() as visitor:
            with visitor.stream("GET", f"/v1/streams/{stream}/events?after=0") as answer:
                for line in answer.iter_lines():
                    public += line.encode()
                    if '"step":59' in line:
                        break
            for answer in public_answers(visitor, stream):
                public += answer.content + json.dumps(dict(answer.headers)).encode()
        assert process.end() == 0
    logged = (folder / "log.jsonl").read_text()
    assert len(logged.splitlines()) > 40
    # A step's number or a std may have the same few digits as a profile; six of them are no accident.
    for needle in {each for each in wanted if len(each) >= 6}:
        assert needle.encode() not in public, needle
        assert needle not in logged, needle


def test_a_line_of_the_log_has_what_it_may(city):
    """A request's line has its number, method, route, status and duration, and nothing of what was asked."""
    folder, stream = city
    with services.running(folder) as process:
        with process.http() as visitor:
            number = visitor.get(f"/v1/streams/{stream}/reports?start=24&stop=30").headers["x-request-id"]
            visitor.get(f"/v1/streams/{'0' * 64}")
        process.end()
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    told = {line["request"]: line for line in lines if line["event"] == "request"}
    assert told[number].keys() == {"time", "level", "event", "request", "method", "route", "status", "milliseconds"}
    assert told[number]["route"] == "/v1/streams/{stream}/reports"
    assert stream not in json.dumps(lines)


def test_the_reader_has_no_profile(city):
    """What answers the public never opens the folder of profiles, and has no noisy profile of a strong plan."""
    from diurnal.curator.public_reader import Reader

    folder, stream = city
    for path in (folder / "profiles").iterdir():
        path.unlink()
    reader = Reader.open(folder / "city.db")
    (found,) = reader.look().streams
    assert found.key == stream
    assert all(group.noisy_profile == () for group in found.groups)
    assert len(reader.rows(found, range(100))) == 32
    reader.close()


def test_what_others_log_has_no_values():
    """Of what a library says, the log has its sentence without what was put into it."""
    record = logging.LogRecord("uvicorn.error", logging.WARNING, "x", 1, "Invalid %s from %s", ("secret", 7), None)
    line = Lines().format(record)
    assert "Invalid %s from %s" in line
    assert "secret" not in line


def test_the_public_is_not_told_how_often_readings_are_refused(asked):
    """Batches that are refused, at the gate or behind it, are in the custodian's metrics alone."""
    client = asked("ingest", limits={"requests": 0, "body": 10})
    assert client.post("/v1/readings", content=b"x" * 11, headers={"Content-Type": "text/csv"}).status_code == 413
    assert client.post("/v1/readings", content=b"x", headers={"Content-Type": "x"}).status_code == 415
    assert client.get("/v1/custodian/status").status_code == 403
    text = client.get("/metrics").text
    assert not any(words in text for words in ("413", "415", "403", "POST", "readings", "custodian"))
    mine = asked("custodian").get("/v1/custodian/metrics").text
    assert "diurnal_all_requests" in mine
