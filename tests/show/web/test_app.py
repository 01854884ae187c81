"""The description that programs read: whole, with examples, and true."""

import json
import pathlib
import random
import string
import subprocess
import sys

import jsonschema_rs
import pytest

import diurnal as dn
import services

KEPT = pathlib.Path(__file__).parents[2] / "kept" / "service"
"""What the service has promised programs, by version: `_shapes` of its description, kept for ever."""

OPTIONAL = [{}, {"public token": []}]
"""What public routes say of tokens: one is needed only where the operator has closed reading."""

TEXT = {"/metrics", "/v1/custodian/metrics", "/v1/streams/{stream}/events"}
"""Routes whose answers are text."""


@pytest.fixture
def told(asked):
    """The description."""
    return asked().get("/openapi.json").json()


def _routes(told):
    return [(method, path, about) for path, methods in told["paths"].items() for method, about in methods.items()]


def _resolved(told, schema):
    return told["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _answer(about):
    """What a route answers when all is well."""
    (status,) = about["responses"].keys() & {"200", "201"}
    return about["responses"][status]["content"]


def _check(told, schema, value):
    """Whether a value has the shape that the description says; raises if not."""
    jsonschema_rs.validator_for({**schema, "components": told["components"]}).validate(value)


def test_it_carries_the_packages_version(told):
    """The description says which diurnal answers."""
    assert told["info"]["version"] == dn.__version__


def _fields(told, schema, within="", seen=()):
    """Every field of a shape, however deep, by its way from the top."""
    name = schema.get("$ref")
    if name in seen:
        return
    schema, seen = _resolved(told, schema), (*seen, name) if name else seen
    for each in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _fields(told, each, within, seen)
    for field, about in schema.get("properties", {}).items():
        yield f"{within}{field}"
        yield from _fields(told, about, f"{within}{field}.", seen)


def _shapes(told):
    """What a program may rely on, route by route: parameters, what must be sent, and what is answered."""
    found = {}
    for method, path, about in _routes(told):
        sent = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        answers = [each["schema"] for kind, each in _answer(about).items() if kind == "application/json"]
        asked = about.get("parameters", ())
        found[f"{method} {path}"] = {
            "parameters": sorted(each["name"] for each in asked),
            "required": sorted(
                [*(each["name"] for each in asked if each["required"]), *_resolved(told, sent).get("required", ())]
            ),
            "sent": sorted(set(_fields(told, sent))),
            "answered": sorted({field for schema in answers for field in _fields(told, schema)}),
        }
    return found


def test_what_programs_rely_on_stays(told):
    """Within /v1 no route, parameter or field is taken away, and nothing more must be sent than was."""
    now = _shapes(told)
    for route, then in json.loads((KEPT / "1" / "shapes.json").read_text()).items():
        for part in ("parameters", "sent", "answered"):
            assert set(then[part]) <= set(now[route][part]), (route, part)
        assert set(now[route]["required"]) <= set(then["required"]), route


def test_every_route_is_described(told):
    """Every route has a summary, a description, answers with shapes, and says whose token it wants."""
    schemes = told["components"]["securitySchemes"]
    assert {f"{role} token" for role in services.ROLES} == schemes.keys()
    assert all(scheme["scheme"] == "bearer" for scheme in schemes.values())
    for method, path, about in _routes(told):
        assert about["summary"], path
        assert about["description"], path
        assert {"422", "429", "503"} <= about["responses"].keys(), path
        if path.startswith("/v1"):
            wanted = "custodian" if "custodian" in path else "ingest" if path == "/v1/readings" else "public"
            security = OPTIONAL if wanted == "public" else [{f"{wanted} token": []}]
            assert about["security"] == security, (method, path)
        else:
            assert "security" not in about, path


def test_what_some_routes_refuse_is_said_of_them_alone(told):
    """A format that there is not, a body that does not arrive, one of another kind: said where it can happen."""
    refused = {
        status: {path for _, path, about in _routes(told) if status in about["responses"]}
        for status in ("406", "408", "415")
    }
    posts = {path for method, path, _ in _routes(told) if method == "post"}
    reports, readings = "/v1/streams/{stream}/reports", "/v1/readings"
    assert refused == {"406": {reports}, "408": posts, "415": {readings}}


def test_every_answer_has_a_shape_and_an_example(told):
    """Whatever is answered when all is well has a schema, and an example that is of that shape."""
    for _, path, about in _routes(told):
        content = _answer(about)
        if path in TEXT:
            (text,) = content.values()
            assert (text["schema"], len(text["example"]) > 20) == ({"type": "string"}, True), path
            continue
        schema = content["application/json"]["schema"]
        examples = _resolved(told, schema)["examples"]
        assert examples, path
        for example in examples:
            _check(told, schema, example)


def test_every_question_has_a_shape_and_an_example(told):
    """Whatever may be sent as JSON has a schema, and an example that is of that shape; CSV has one too."""
    bodies = {path: about["requestBody"]["content"] for _, path, about in _routes(told) if "requestBody" in about}
    assert len(bodies) == 6
    for content in bodies.values():
        schema = content["application/json"]["schema"]
        for example in _resolved(told, schema)["examples"]:
            _check(told, schema, example)
    assert bodies["/v1/readings"]["text/csv"]["example"].startswith("household,time,wh\n")


def test_every_field_is_described(told):
    """Every field of every question and answer says what it is, and every model has an example."""
    for name, schema in told["components"]["schemas"].items():
        assert schema["description"], name
        assert schema["examples"], name
        for field, about in schema.get("properties", {}).items():
            assert about.get("description"), (name, field)


def test_what_is_answered_is_as_it_is_described(asked, city, told):
    """The answers of a service at work have the shapes that the description says, route by route."""
    folder, stream = city
    seen = set()

    def look(method, path, **more):
        answered = client.request(method, path.replace("{stream}", stream), **more)
        assert answered.status_code in (200, 201), (path, answered.text[:300])
        schema = _answer(told["paths"][path][method])["application/json"]["schema"]
        _check(told, schema, answered.json())
        seen.add((method, path))
        return answered.json()

    client, headend = asked("custodian"), services.bearer(folder, "ingest")
    later = services.rows_of(services.panel().between(services.FIRST + 32, services.FIRST + 36))
    look("post", "/v1/readings", json={"readings": later}, headers=headend)
    late = services.rows_of(services.panel().between(services.FIRST, services.FIRST + 1))
    sent = look("post", "/v1/readings", json={"readings": late}, headers=headend)
    assert sent["streams"][0]["set_aside"]
    for method, path, _ in _routes(told):
        if method == "get" and path not in TEXT:
            look(method, path, params={"window": 2} if path.endswith("drift") else {})
    question = {"epsilon": "2", "history": 6, "mean_reading": "400000", "minimum_group": 2}
    plan = look("post", "/v1/custodian/plan", json={**question, "cycle_epsilon": "2"})["document"]
    assert look("post", "/v1/custodian/plan", json={**question, "level": "pattern"})["unspent"]
    for what in ("close", "stop"):
        path = "/v1/custodian/streams/{stream}/" + what
        look("post", path, json={"dry_run": True})
        look("post", path, json={"confirm": stream[:8]})
    wanted = {"plan": plan, "acknowledge": "untested", "skip": 20}
    typed = look("post", "/v1/custodian/explain", json=wanted)["confirm"]
    look("post", "/v1/custodian/start", json={**wanted, "confirm": typed})
    for path in ("/v1/custodian/status", "/v1/custodian/ledger", "/v1/streams"):
        look("get", path)
    assert seen == {(method, path) for method, path, _ in _routes(told) if path not in TEXT}


def test_the_description_says_how_homes_of_a_step_are_sent(told):
    """Who sends readings is told when a step closes, and that what comes for it afterwards is late."""
    words = told["paths"]["/v1/readings"]["post"]["description"]
    assert "grace of 0" in words
    assert "later is late" in words


def test_the_description_loads_nothing_from_elsewhere(asked):
    """There are no pages of documentation that would load scripts from elsewhere."""
    client = asked()
    assert {client.get(path).status_code for path in ("/docs", "/redoc")} == {404}


def test_whatever_the_description_allows_breaks_nothing(tmp_path):
    """Asked on every route in ways that the description allows, and in ways that it does not (schemathesis), the
    service never fails by itself. Events have no end, and are left out.
    """
    services.found_city(tmp_path)
    token = services.shown(tmp_path)
    with services.running(tmp_path, "--rate", 0) as process:
        for role, paths in (
            ("custodian", "^/(v1/custodian|v1/streams|healthz|readyz|metrics)"),
            ("ingest", "readings"),
        ):
            command = [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{process.url}/openapi.json"),
                *("--checks", "not_a_server_error", "--max-examples", "20", "--phases", "examples,fuzzing"),
                *("--include-path-regex", paths, "--exclude-path-regex", "events$"),
                *("--header", f"Authorization: Bearer {token[role]}", "--seed", "1", "--request-timeout", "20"),
                *("--suppress-health-check", "all", "--no-color", "--workers", "2"),
            ]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    log = [json.loads(line) for line in process.log.read_text().splitlines()]
    answered = [line for line in log if line["event"] == "request"]
    assert len(answered) > 150
    assert not [line for line in answered if line["status"] >= 500]
    assert not [line for line in log if line["event"] == "failed"]


def test_whatever_is_asked_of_events_breaks_nothing(tmp_path):
    """Events, which have no end, are asked for with any id and place: what begins or is refused never fails."""
    stream = services.found_city(tmp_path)
    rng, letters, answers = random.Random(1), string.printable[:94], set()
    with services.running(tmp_path, "--rate", 0) as process, process.http() as client:
        for number in range(150):
            word = "".join(rng.choices("0123456789abcdef-." if number % 2 else letters, k=rng.randrange(1, 32)))
            for said in ({"headers": {"Last-Event-ID": word}}, {"params": {"after": word}}):
                with client.stream("GET", f"/v1/streams/{stream}/events", **said) as answer:
                    answers.add(answer.status_code)
        for known in ("0", "1-00000000", "999999999999-ffffffff.999999999999"):
            with client.stream("GET", f"/v1/streams/{stream}/events", params={"after": known}) as answer:
                answers.add(answer.status_code)
    assert answers == {200, 422}
    assert '"failed"' not in process.log.read_text()
