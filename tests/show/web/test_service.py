"""The store behind it all: who reads, writes and thinks waits for nobody else."""

import subprocess
import sys

import pytest

import diurnal as dn
import services


def test_who_writes_keeps_no_reader_waiting(city):
    """While somebody holds the store's only write lock, reports, streams and readiness are still answered."""
    folder, stream = city
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    with services.running(folder) as process, process.http(timeout=5) as client, curator._store.transaction():
        for start in range(24, 30):
            found = client.get(f"/v1/streams/{stream}/reports", params={"start": start})
            assert found.status_code == 200
        assert client.get("/readyz").status_code == 200


def test_what_is_thought_over_keeps_nobody_from_ending(city):
    """A service that is told to stop ends, though the custodian's question would take another hour."""
    script = """
import asyncio, sys, time
from diurnal.show.web.service import Service
from diurnal.show.web.settings import Settings
async def live():
    service = Service(Settings(store=sys.argv[1], profiles=sys.argv[2]))
    await service.open()
    thought = asyncio.create_task(service.think(lambda: time.sleep(3600)))
    await asyncio.sleep(0.2)
    thought.cancel()
    await service.close()
asyncio.run(live())
"""
    folder = city[0]
    words = [sys.executable, "-c", script, str(folder / "city.db"), str(folder / "profiles")]
    assert subprocess.run(words, timeout=60).returncode == 0


def test_what_is_thought_over_is_told(asked):
    """A question's answer comes back, and so does what went wrong with it."""
    client = asked()
    service = client.app.state.service

    async def think(work):
        return await service.think(work)

    assert client.portal.call(think, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        client.portal.call(think, lambda: 1 // 0)
