"""Several processes that answer at one door."""

import subprocess
import sys

import diurnal as dn
import services
from diurnal.client import Client


def test_on_postgresql_in_two_processes(tmp_path, postgres):
    """Two processes on one database: batches sent to either are taken once, and both show all reports."""
    where = postgres()
    stream = services.found_city(tmp_path, reported=0, where=where)
    homes, first = services.panel(), services.FIRST
    with services.running(tmp_path, "--workers", 2, "--rate", 0, store=where) as process:
        with Client(process.url, token=services.shown(tmp_path)["ingest"]) as client:
            answers = [
                client.send(homes.between(first + 4 * (n // 2), first + 4 * (n // 2) + 4), key=f"{n // 2}")
                for n in range(12)
            ]
        assert [each["again"] for each in answers].count(False) == 6
        for _ in range(20):
            with Client(process.url) as client:
                if len(list(client.reports(stream))) == 24:
                    break
        for _ in range(6):
            with Client(process.url) as client:
                assert client.promise(stream)["level"] == "strong"
        assert process.end() == 0
    curator = dn.Curator.open(where, profiles=tmp_path / "profiles")
    assert len(curator.streams()[0].rows()) == 24
    assert curator.verify().sound


def test_processes_that_cannot_begin_are_given_up(tmp_path):
    """Without its database, a service of two processes says why and ends with code 1, not as if all were well."""
    store = "postgresql+psycopg://nobody@127.0.0.1:1/x"
    words = ["serve", "--store", store, "--workers", "2", "--port", "0", "--profiles", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", services.RUN, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Serving" not in done.stdout


def test_dying_processes_are_not_started_for_ever(tmp_path):
    """Processes that die as soon as they begin are started a few times; then it is an error."""
    script = tmp_path / "dying.py"
    script.write_text("""
import sys
from functools import partial
from diurnal.show.web.workers import supervise
if __name__ == "__main__":
    supervise(partial(sys.exit, 3), 2)
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "5 processes died" in done.stderr
