"""The description that programs read: whole, with examples, and true."""

import json
import subprocess
import sys

import services


def test_every_route_is_described(asked):
    """Every route has a summary, a description, answers with shapes, and says whose token it wants."""
    content = asked().get("/openapi.json").json()
    schemes = content["components"]["securitySchemes"]
    assert {f"{role} token" for role in services.ROLES} == schemes.keys()
    assert all(scheme["scheme"] == "bearer" for scheme in schemes.values())
    for path, methods in content["paths"].items():
        for method, told in methods.items():
            assert told["summary"], path
            assert told["description"], path
            assert {"422", "429", "503"} <= told["responses"].keys(), path
            if path.startswith("/v1"):
                wanted = "custodian" if "custodian" in path else "ingest" if path == "/v1/readings" else "public"
                assert told["security"] == [{f"{wanted} token": []}], (method, path)
    assert "example" in json.dumps(content)


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
