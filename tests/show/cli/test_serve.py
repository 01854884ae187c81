"""Verbs about the service."""

import json

from typer.testing import CliRunner

from diurnal.show.cli import app


def test_the_verb_makes_lists_and_revokes(tmp_path, monkeypatch):
    """`diurnal token` shows a token once; the list has names and roles; revoked, it is gone."""
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        done = CliRunner().invoke(app, ["token", *words], prog_name="diurnal")
        assert done.exit_code == code, done.output
        return done.output

    assert "dn_ingest_" in run("make", "--role", "ingest", "--name", "headend")
    found = json.loads(run("list", "--json"))
    assert [(each["name"], each["role"], each["until"]) for each in found["tokens"]] == [
        ("headend", "ingest", None)
    ]
    assert "it is revoked" in run("list")
    run("make", "--role", "public", "--name", "guest", "--days", "0", code=1)
    run("make", "--role", "ingest", "--name", "headend", code=1)
    run("make", "--role", "ingest", code=2)
    run("burn", code=2)
    run("revoke", "--name", "headend")
    run("revoke", "--name", "headend", code=1)
    assert json.loads(run("list", "--json"))["tokens"] == []
