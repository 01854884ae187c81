import shutil

import pytest

from command import run, said


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A town imported, an open one beside it, and a plan."""
    folder = tmp_path_factory.mktemp("town")
    for name, options in (("homes", ("--homes", 40, "--days", 40)), ("open", ("--homes", 30, "--days", 15))):
        seed = "1" if name == "homes" else "2"
        suburbs = folder / f"{name}-suburbs.csv"
        run("town", *options, "--seed", seed, "--out", folder / f"{name}.csv.gz", "--groups", suburbs, "--quiet")
        where = ("--zone", "Australia/Sydney", "--groups", suburbs, "--out", folder / f"{name}.parquet")
        run("import", folder / f"{name}.csv.gz", *where)
    run(
        *("plan", folder / "homes.parquet", "--epsilon", "1", "--history", "20", "--domain", "0", "8000"),
        *("--open-data", folder / "open.parquet", "--out", folder / "plan.json", "--quiet"),
    )
    return folder


@pytest.fixture
def town(made, tmp_path, monkeypatch):
    """A folder of one's own with the town in it, to work in."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def started(town, digest):
    """The same with a stream running in city.db."""
    run("start", "plan.json", "--history", "homes.parquet", "--store", "city.db", "--acknowledge", digest)
    return town


@pytest.fixture(scope="session")
def digest(made):
    """What a check of the town gives to acknowledge."""
    return said("check", made / "homes.parquet")["digest"]
