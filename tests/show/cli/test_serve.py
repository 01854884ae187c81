"""Verbs about the service: tokens, as its operator makes and revokes them."""

from command import run, said


def test_the_verb_makes_lists_and_revokes(tmp_path, monkeypatch):
    """`diurnal token` shows a token once; the list has names and roles; revoked, it is gone."""
    monkeypatch.chdir(tmp_path)

    assert "dn_ingest_" in run("token", "make", "--role", "ingest", "--name", "headend").output
    found = said("token", "list")
    assert [(each["name"], each["role"], each["until"]) for each in found["tokens"]] == [
        ("headend", "ingest", None)
    ]
    assert "it is revoked" in run("token", "list").output
    run("token", "make", "--role", "public", "--name", "guest", "--days", "0", code=1)
    run("token", "make", "--role", "ingest", "--name", "headend", code=1)
    run("token", "make", "--role", "ingest", code=2)
    run("token", "burn", code=2)
    run("token", "revoke", "--name", "headend")
    run("token", "revoke", "--name", "headend", code=1)
    assert said("token", "list")["tokens"] == []
