"""Who may do what: roles, tokens, guesses."""

import json
import re
from datetime import datetime, timedelta

import pytest

import services
from diurnal.errors import InputError
from diurnal.show.web import tokens
from support import refuses

PUBLIC = {"/v1/streams", "/healthz", "/readyz", "/metrics"}


def routes(client, stream):
    """Every route of the description: method, path, and the role it is for."""
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        where = path.replace("{stream}", stream)
        for method in methods:
            if path.startswith("/v1/custodian"):
                yield method, where, "custodian"
            elif path == "/v1/readings":
                yield method, where, "ingest"
            else:
                assert path.startswith(tuple(PUBLIC)), path
                yield method, where, "public"


@pytest.mark.parametrize("closed", [False, True])
def test_every_route_is_for_its_role_alone(asked, city, closed):
    """Over every route and role: who may is let in, who has no token is told 401, who has another role's 403."""
    client = asked(reads_need_token=closed, limits={"requests": 0, "listeners": 0, "guesses": 1000})
    seen = 0
    for method, where, needed in routes(client, city[1]):
        open_to_all = needed == "public" and (not closed or not where.startswith("/v1"))
        for role in (None, "wrong", *services.ROLES):
            headers = {"Authorization": "Bearer dn_wrong"} if role == "wrong" else services.bearer(city[0], role)
            found = client.request(method, where, headers=headers).status_code
            allowed = open_to_all or role == needed or (needed == "public" and role in services.ROLES)
            expected = None if allowed else 401 if role in (None, "wrong") else 403
            assert (found == expected) if expected else found not in (401, 403), (method, where, role, found)
            seen += 1
    assert seen >= 5 * 19


def test_guessing_tokens_is_limited(asked, city):
    """After ten wrong tokens even the right one has to wait; others are let in meanwhile."""
    client = asked(limits={"requests": 0, "guesses": 10})
    found = [client.get("/v1/custodian/status", headers={"Authorization": f"Bearer {i}"}) for i in range(15)]
    assert [each.status_code for each in found] == [401] * 10 + [429] * 5
    assert int(found[-1].headers["retry-after"]) >= 1
    right = client.get("/v1/custodian/status", headers=services.bearer(city[0], "custodian"))
    assert (right.status_code, right.json()["code"]) == (429, "guessing")
    assert client.get("/v1/streams").status_code == 200


def test_who_came_before_is_not_locked_out_by_guesses(asked, city):
    """A token that was let in from an address is let in though others guess from there; until it is revoked."""
    client = asked(limits={"requests": 0, "guesses": 3})
    mine = services.bearer(city[0], "custodian")
    assert client.get("/v1/custodian/status", headers=mine).status_code == 200
    found = [client.get("/v1/custodian/status", headers={"Authorization": f"Bearer {i}"}) for i in range(5)]
    assert found[-1].status_code == 429
    assert client.get("/v1/custodian/status", headers=mine).status_code == 200
    tokens.revoke(city[0] / "tokens.json", "custodian")
    client.app.state.access._looked = -9.0
    assert client.get("/v1/custodian/status", headers=mine).status_code in (401, 429)


def test_where_reading_is_closed_nobody_else_keeps_what_was_read(asked, city):
    """With a token asked for, answers are not for caches that others share, nor for pages from elsewhere."""
    open_, closed = asked("public"), asked("public", reads_need_token=True)
    for path in (
        f"/v1/streams/{city[1]}/reports?start=24&stop=28",
        f"/v1/streams/{city[1]}/promise",
        "/v1/streams",
    ):
        one, two = open_.get(path), closed.get(path)
        assert one.headers["cache-control"].startswith("public, ")
        assert two.headers["cache-control"].startswith("private, ")
        assert one.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-origin" not in two.headers


def test_no_token_at_all_is_no_guess(asked):
    """Who shows none is told so as often as they ask."""
    client = asked()
    assert {client.get("/v1/custodian/status").status_code for _ in range(30)} == {401}


def test_a_revoked_token_is_not_let_in(asked, city, monkeypatch):
    """Revoked, a token is refused while the service runs; a new one is let in; without a file nobody is."""
    from diurnal.show.web import access

    monkeypatch.setattr(access, "FRESH", 0.0)
    client, file = asked("custodian"), city[0] / "tokens.json"
    assert client.get("/v1/custodian/budget").status_code == 200
    tokens.revoke(file, "custodian")
    assert client.get("/v1/custodian/budget").status_code == 401
    new = {"Authorization": f"Bearer {tokens.make(file, name='anna', role='custodian')}"}
    assert client.get("/v1/custodian/budget", headers=new).status_code == 200
    file.write_text("nonsense")
    assert client.get("/v1/custodian/budget", headers=new).status_code == 401


def test_a_token_ends_when_its_days_are_over(asked, city, monkeypatch):
    """Made for some days, a token is let in until they are over; then it is told that it has ended, which is no
    guess, and makes room for the next of its name. The others stay.
    """
    from diurnal.show.web import access

    monkeypatch.setattr(access, "FRESH", 0.0)
    client, file = asked("custodian"), city[0] / "tokens.json"
    shown = {"Authorization": f"Bearer {tokens.make(file, name='ben', role='custodian', days=2)}"}
    assert client.get("/v1/custodian/budget", headers=shown).status_code == 200
    with refuses(InputError, "token-exists"):
        tokens.make(file, name="ben", role="custodian")
    kept = json.loads(file.read_text())
    (own,) = (each for each in kept["tokens"] if each["name"] == "ben")
    made, until = (datetime.fromisoformat(own[name]) for name in ("made", "until"))
    assert until - made == timedelta(days=2)
    own["until"] = made.isoformat()
    file.write_text(json.dumps(kept))
    for _ in range(20):
        refused = client.get("/v1/custodian/budget", headers=shown)
        assert (refused.status_code, refused.json()["code"]) == (401, "ended")
    assert client.get("/v1/custodian/budget").status_code == 200
    again = {"Authorization": f"Bearer {tokens.make(file, name='ben', role='custodian', days=2)}"}
    assert client.get("/v1/custodian/budget", headers=again).status_code == 200
    assert client.get("/v1/custodian/budget", headers=shown).json()["code"] == "token"


def test_without_a_file_of_tokens_there_is_only_the_public(asked, city):
    """A service without tokens answers the public, and nobody else gets in."""
    client = asked(tokens=None)
    assert client.get("/v1/streams").status_code == 200
    assert client.get("/v1/custodian/status", headers=services.bearer(city[0], "custodian")).status_code == 401


def test_pages_from_elsewhere_may_read_what_is_public(asked, city):
    """Public GETs may be read from any page; nothing else may, and nothing may be sent from elsewhere."""
    client = asked()
    assert client.get("/v1/streams").headers["access-control-allow-origin"] == "*"
    allowed = client.options(f"/v1/streams/{city[1]}/reports")
    assert (allowed.status_code, allowed.headers["access-control-allow-methods"]) == (204, "GET")
    for path in ("/v1/custodian/status", "/v1/readings"):
        found = client.options(path, headers={"Origin": "https://elsewhere.example"})
        assert found.status_code == 405
        assert "access-control-allow-origin" not in found.headers


@pytest.mark.parametrize("path", ["/", "/v1/streams", "/v1/custodian/status", "/nowhere", "/openapi.json"])
def test_every_answer_lets_a_browser_do_little(asked, path):
    """Every answer forbids scripts from elsewhere, frames, guessing of types, referrers; private ones caching."""
    headers = asked("custodian", secure=True).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"https?:|unsafe|\*", policy)
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert "max-age" in headers["strict-transport-security"]
    assert headers["x-request-id"]
    if "custodian" in path:
        assert headers["cache-control"] == "no-store"
