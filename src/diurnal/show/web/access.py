"""Access: who may do what.

Three roles: `public` reads reports, `ingest` sends readings, `custodian` sees what is private and decides. A token
is for one of them, and reads reports too. What everybody may read asks for no token, and looks at none, unless the
operator says so.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from time import monotonic
from typing import Any, ClassVar

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from diurnal.errors import InputError
from diurnal.show.web.limits import MOST, Buckets, client_in
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.settings import Settings
from diurnal.show.web.tokens import Role, Token, digest_of, load, owner_of

FRESH = 1.0
"""For how many seconds the file of tokens is not looked at again."""

BEARER = {"WWW-Authenticate": "Bearer"}
"""What an answer to somebody without a token that holds has to say."""


class Access:
    """Knows tokens, and who has shown too many wrong ones."""

    def __init__(self, settings: Settings) -> None:
        self._path, self._open = settings.tokens, not settings.reads_need_token
        self._guesses = Buckets(rate=1 / 12, burst=settings.limits.guesses)
        self._tokens: Sequence[Token] = () if self._path is None else load(self._path)
        self._came: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._looked, self._changed = monotonic(), self._stamp()

    def check(self, client: str, shown: str | None, role: Role) -> Token | None:
        """Let somebody do what a role may do. Returns their token; None where none is looked at.

        Raises:
            ProblemError: They may not: 401 without a token that is known and has not ended, 403 with one of
                another role, 429 after too many that were not known.
        """
        if role == "public" and self._open:
            return None
        waits = self._guesses.wait(client)
        # Who has come from there before with this token is not kept out by what others try from there.
        if waits and not (shown and (client, digest_of(shown)) in self._came):
            raise ProblemError("http-guessing", retry=waits, limit="guesses")
        token = owner_of(shown, self._known()) if shown else None
        if token is None:
            if shown:
                self._guesses.spend(client)
            raise ProblemError("http-token-missing", role=role, headers=BEARER)
        if token.ended:
            raise ProblemError("http-token-ended", until=token.until, headers=BEARER)
        self._remember(client, token)
        # Whoever has a token may read what is public.
        if token.role != role and role != "public":
            raise ProblemError("http-role", role=role)
        return token

    def keeper(self, shown: str | None) -> Token | None:
        """The token of who sends readings, or of a custodian, if it is one that holds: places are kept for them."""
        token = owner_of(shown, self._known()) if shown else None
        return None if token is None or token.ended or token.role == "public" else token

    def still(self, shown: str | None) -> bool:
        """Whether somebody who was let in to read may go on: where that needs a token, as long as theirs holds."""
        if self._open:
            return True
        token = owner_of(shown, self._known()) if shown else None
        return token is not None and not token.ended

    def _remember(self, client: str, token: Token) -> None:
        self._came[client, token.digest] = None
        self._came.move_to_end((client, token.digest))
        if len(self._came) > MOST:
            self._came.popitem(last=False)

    def _known(self) -> Sequence[Token]:
        """The tokens as they are now: one that is revoked is not let in a second later."""
        if self._path is not None and monotonic() - self._looked > FRESH:
            self._looked, stamp = monotonic(), self._stamp()
            if stamp != self._changed:
                try:
                    self._tokens, self._changed = load(self._path), stamp
                except InputError:
                    # A file that cannot be read lets nobody in.
                    self._tokens = ()
        return self._tokens

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat() if self._path is not None else None
        except OSError:
            return None
        return None if found is None else (found.st_mtime_ns, found.st_ino)


def shown_by(authorization: str | None) -> str | None:
    """The token that came with a request, by its header."""
    kind, _, token = (authorization or "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token else None


def _scheme(role: str, words: str) -> HTTPBearer:
    return HTTPBearer(auto_error=False, scheme_name=f"{role} token", description=words)


PUBLIC = _scheme("public", "Only where the operator has closed public reads. Made by `diurnal token`.")
INGEST = _scheme("ingest", "For the head-end that sends readings. Made by `diurnal token`.")
CUSTODIAN = _scheme("custodian", "For the custodian of the readings. Made by `diurnal token`.")

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedRoute(APIRoute):
    """A route that looks at who comes in before anything else: nobody's body is read who may not send one.

    A dependency would be asked too late: the framework reads the body first.
    """

    scheme: ClassVar[HTTPBearer]
    role: ClassVar[Role]

    def get_route_handler(self) -> Handler:
        """The handler, with the look before it."""
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            access: Access = request.app.state.access
            client = client_in(request.scope)
            shown = await self.scheme(request)
            request.state.token = access.check(client, None if shown is None else shown.credentials, self.role)
            return await handler(request)

        return handled


class PublicRoute(CheckedRoute):
    """What everybody may ask, unless the operator says otherwise."""

    scheme, role = PUBLIC, "public"


class IngestRoute(CheckedRoute):
    """What the head-end may ask."""

    scheme, role = INGEST, "ingest"


class CustodianRoute(CheckedRoute):
    """What the custodian may ask."""

    scheme, role = CUSTODIAN, "custodian"


FOR_PUBLIC, FOR_INGEST, FOR_CUSTODIAN = Depends(PUBLIC), Depends(INGEST), Depends(CUSTODIAN)
"""What the description of a router says of who may come in; its routes see to it."""
