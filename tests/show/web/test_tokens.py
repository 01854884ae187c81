"""Tokens: made, kept as digests in a file of their owner's, checked and revoked."""

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from diurnal.errors import InputError
from diurnal.show.web import tokens
from support import refuses


def test_who_makes_a_token_brings_none_back(tmp_path):
    """Eight who make and revoke tokens at once do not undo one another."""
    path = tmp_path / "tokens.json"
    for number in range(8):
        tokens.make(path, name=f"old-{number}", role="ingest")

    def change(number):
        tokens.make(path, name=f"new-{number}", role="ingest")
        tokens.revoke(path, f"old-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    assert {token.name for token in tokens.load(path)} == {f"new-{number}" for number in range(8)}


def test_a_token_is_kept_nowhere(tmp_path):
    """The file has a digest and no token, and only its owner can read it; a token has 256 bits."""
    file = tmp_path / "tokens.json"
    shown = tokens.make(file, name="headend", role="ingest")
    assert shown.startswith("dn_ingest_")
    assert len(shown.removeprefix("dn_ingest_")) == 43
    assert shown.removeprefix("dn_ingest_") not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (kept,) = tokens.load(file)
    assert tokens.owner_of(shown, [kept]) == kept
    assert tokens.owner_of(shown[:-1], [kept]) is None


def test_names_and_roles_are_checked(tmp_path):
    """A name is used once, a role is one of three; a file that is something else is refused."""
    file = tmp_path / "tokens.json"
    tokens.make(file, name="a", role="public")
    for name, role in (("a", "ingest"), ("b", "king"), ("", "public"), ("x\n", "public")):
        with pytest.raises(InputError):
            tokens.make(file, name=name, role=role)
    for wrong in ("{}", "[]", "x", '{"version": 1, "tokens": [{"name": "a"}]}', '{"version": 0, "tokens": []}'):
        file.write_text(wrong)
        with refuses(InputError, "token-file-invalid"):
            tokens.load(file)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_of_tokens_that_others_can_write_lets_nobody_in(tmp_path, mode):
    """Who can write the file could add a token of their own: it is refused until its owner alone can."""
    file = tmp_path / "tokens.json"
    tokens.make(file, name="anna", role="custodian")
    file.chmod(mode)
    with refuses(InputError, "token-file-writable"):
        tokens.load(file)
    file.chmod(0o640)
    assert len(tokens.load(file)) == 1


@pytest.mark.parametrize("days", [0, -1, 10**6, 1.5, True])
def test_days_of_a_token_are_checked(tmp_path, days):
    """A token lasts for one day or more, and for ten years at most; else none is made."""
    with pytest.raises(InputError, match="days"):
        tokens.make(tmp_path / "tokens.json", name="ben", role="public", days=days)
    assert not (tmp_path / "tokens.json").exists()
