"""Tokens: who may come in, in a file that only its owner can read. A token itself is shown once and kept nowhere.

A token is 256 random bits. What is kept of it is a SHA-256: such a number cannot be guessed however fast guesses
are tried, so that a slow hash (scrypt) would protect nothing, and would let strangers keep the service busy with
wrong tokens. Digests are compared in constant time, with all there are.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from diurnal.errors import InputError
from diurnal.exact import whole
from diurnal.place import check_place
from diurnal.show.files import write_whole

Role = Literal["public", "ingest", "custodian"]
ROLES: tuple[Role, ...] = get_args(Role)

VERSION = 2


MOST_DAYS = 3650
"""For how long a token can be made that ends."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """What is kept of a token."""

    name: str
    """Whose it is."""
    role: Role
    """What it is for."""
    digest: str
    """A SHA-256 of it."""
    made: str
    """When it was made."""
    until: str | None = None
    """When it ends; never, unless it is revoked, if None."""

    @property
    def ended(self) -> bool:
        """Whether it has had its time."""
        return self.until is not None and datetime.fromisoformat(self.until) <= datetime.now(UTC)


def make(path: Path, *, name: str, role: str, days: int | None = None) -> str:
    """Make a token and keep its digest. Returns the token: it cannot be had again.

    Args:
        path: The file of tokens.
        name: Whose it is; one of that name that has ended makes room.
        role: What it is for.
        days: After how many it ends; never, unless it is revoked, if None.

    Raises:
        InputError: There is one of that name, no such role, or no such number of days.
    """
    if role not in ROLES:
        raise InputError("token-role", role=role, choices=", ".join(ROLES))
    if not name or not name.isprintable() or len(name) > 64:
        raise InputError("token-name")
    if days is not None and whole(days, "days", least=1, error=InputError) > MOST_DAYS:
        raise InputError("token-days", days=days, most_days=MOST_DAYS)
    shown, now = f"dn_{role}_{secrets.token_urlsafe(32)}", datetime.now(UTC)
    made = now.isoformat(timespec="seconds")
    until = None if days is None else (now + timedelta(days=days)).isoformat(timespec="seconds")
    with _alone(path):
        found = load(path) if path.exists() else ()
        kept = [token for token in found if not (token.name == name and token.ended)]
        if any(token.name == name for token in kept):
            raise InputError("token-exists", name=name)
        _save(path, [*kept, Token(name=name, role=role, digest=digest_of(shown), made=made, until=until)])
    return shown


def revoke(path: Path, name: str) -> None:
    """Forget a token. A service that runs notices within a second.

    Raises:
        InputError: There is none of that name.
    """
    with _alone(path):
        kept = load(path)
        left = [token for token in kept if token.name != name]
        if len(left) == len(kept):
            raise InputError("token-unknown", name=name)
        _save(path, left)


def load(path: Path) -> tuple[Token, ...]:
    """What is kept.

    Raises:
        InputError: There is no such file, it is something else, of a later version, or others can write it.
    """
    try:
        with path.open(encoding="utf-8") as file:
            # Who can write it can let anybody in.
            if os.fstat(file.fileno()).st_mode & 0o022:
                raise InputError("token-file-writable", name=path.name)
            content = json.loads(file.read())
        version = content["version"]
        if not isinstance(version, int) or version < 1:
            raise ValueError
        if version > VERSION:
            raise InputError("token-file-version", name=path.name, version=version, known=VERSION)
        return tuple(_token(each) for each in content["tokens"])
    except OSError as cause:
        raise InputError("token-file-unreadable", name=path.name, reason=cause.strerror) from None
    except InputError:
        raise
    except (ValueError, TypeError, KeyError):
        raise InputError("token-file-invalid", name=path.name) from None


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def owner_of(shown: str, tokens: Sequence[Token]) -> Token | None:
    """The token that was shown, if it is one. All are looked at, whichever it is."""
    digest, found = digest_of(shown), None
    for token in tokens:
        if hmac.compare_digest(token.digest, digest):
            found = token
    return found


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Be the only one who changes a folder's tokens: a token that is made must not bring a revoked one back."""
    # Before it is read: a pipe would be waited for.
    check_place(path)
    try:
        folder = os.open(path.absolute().parent, os.O_RDONLY)
    except OSError as cause:
        raise InputError("token-folder-unreadable", name=path.name, reason=cause.strerror) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _token(content: Mapping[str, Any]) -> Token:
    token = Token(**content)
    if token.role not in ROLES or len(token.digest) != 64 or not token.digest.isascii():
        raise ValueError
    if token.until is not None and datetime.fromisoformat(token.until).tzinfo is None:
        raise ValueError
    return token


def _save(path: Path, tokens: Sequence[Token]) -> None:
    # A service of an older release reads a file in which no token ends: it must not be locked out by a revocation.
    version = VERSION if any(token.until for token in tokens) else 1
    listed = [{name: value for name, value in asdict(token).items() if value is not None} for token in tokens]
    content = {"version": version, "tokens": listed}
    write_whole(path, f"{json.dumps(content, indent=1)}\n", private=True)
