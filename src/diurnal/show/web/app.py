"""App: the application over one store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from diurnal import __version__
from diurnal.show.web import custodian, health, ingest, models, overview, problems, public, site
from diurnal.show.web.access import Access
from diurnal.show.web.gate import Gate
from diurnal.show.web.service import Service
from diurnal.show.web.settings import Settings

ABOUT = """Differentially private reports, for ever, on data that repeats.

Reports are public, and never change. Values and epsilons are decimals in text. Whatever is refused has one shape:
`{"error": {"code", "message", "hint", "request"}}`. No number of a promise means anything without its neighbours,
assumptions and limits: see `/v1/streams/{stream}/promise`.
"""

REFUSALS = {
    status: {"model": models.Error, "description": words}
    for status, words in {
        400: "It cannot be read.",
        401: "It needs a token.",
        403: "It needs a token of another role.",
        404: "There is nothing there.",
        409: "The curator says no; nothing was drawn, spent or published.",
        413: "It is too large.",
        422: "It is not as it should be.",
        429: "Too often: Retry-After says how long to wait.",
        503: "Not now: Retry-After says how long to wait.",
    }.items()
}


def application(settings: Settings) -> FastAPI:
    """The application over a store.

    Raises:
        StoreError: There is no store, or it cannot be opened.
        InputError: The file of tokens cannot be read.
    """
    service, access = Service(settings), Access(settings)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        await service.open()
        try:
            yield
        finally:
            await service.close()

    # The framework's own pages of documentation load scripts from elsewhere: there are none.
    app = FastAPI(
        title="diurnal",
        version=__version__,
        description=ABOUT,
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        responses=REFUSALS,  # type: ignore[arg-type]
        redirect_slashes=False,
    )
    app.state.service, app.state.access, app.state.listeners, app.state.verdicts = service, access, set(), {}
    for room in (site, public, ingest, custodian, overview, health):
        app.include_router(room.router)
    problems.install(app)
    app.add_middleware(Gate, settings=settings, metrics=service.metrics)
    return app
