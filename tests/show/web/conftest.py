import shutil

import pytest

services = pytest.importorskip("services", reason="needs the extra web", exc_type=ImportError)
pytest.importorskip("fastapi")


@pytest.fixture(scope="session")
def founded(tmp_path_factory):
    """A city, made once."""
    folder = tmp_path_factory.mktemp("city")
    return folder, services.found_city(folder)


@pytest.fixture
def city(founded, tmp_path):
    """A copy of the city to work in, and the name of its stream. Nobody else knows of the original."""
    folder, stream = founded
    shutil.copytree(folder, tmp_path / "city")
    return tmp_path / "city", stream


@pytest.fixture
def asked(city):
    """The application in this process: it is called with a role, and gives a client of that role."""
    from fastapi.testclient import TestClient

    from diurnal.show.web.app import application
    from diurnal.show.web.settings import Limits, Settings

    folder, _ = city
    opened = []

    def client(role=None, *, limits=None, **more):
        fields = {
            "store": str(folder / "city.db"),
            "profiles": str(folder / "profiles"),
            "panel": str(folder / "homes.parquet"),
            "tokens": folder / "tokens.json",
            "limits": Limits(**(limits or {"requests": 0})),
        }
        made = TestClient(application(Settings(**{**fields, **more})), raise_server_exceptions=False)
        made.__enter__()
        made.headers.update(services.bearer(folder, role))
        opened.append(made)
        return made

    yield client
    for each in opened:
        each.__exit__(None, None, None)


@pytest.fixture
def url(city):
    """Where the reports of the city's stream are."""
    return f"/v1/streams/{city[1]}/reports"
