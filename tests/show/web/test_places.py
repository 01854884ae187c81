"""Places: a crowd of listeners keeps out neither readings, nor health, nor custodians; and leaves nothing."""

import asyncio
import json
import pathlib
import resource
import time
from collections import Counter

import pytest

import diurnal as dn
import services
from diurnal.show.web import events

SMALL = """
import json
from pathlib import Path
from diurnal.show.web import server
from diurnal.show.web.settings import Limits, Settings
folder = Path({folder!r})
limits = Limits(at_once=5, kept=5, listeners=10, requests=0)
settings = Settings(store=str(folder / "city.db"), profiles=str(folder / "profiles"),
                    tokens=folder / "tokens.json", limits=limits)
server.run(settings, server.Door(port=0), ready=lambda url: print(json.dumps(dict(address=url)), flush=True))
"""


@pytest.fixture
def many_files():
    """As many descriptors as the tests' own ends of connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 1400:
        pytest.skip("needs 1,400 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1400), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def heard(port, path, address="203.0.113.1"):
    """Ask, and keep the connection: the first line of the answer, and both ends of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {address}\r\n\r\n".encode())
    line = await asyncio.wait_for(reader.readline(), 60)
    return line.split()[1].decode() if line else "hung up", reader, writer


async def crowd(port, path, addresses):
    """Many who ask at the same time, from some addresses."""
    return await asyncio.gather(*(heard(port, path, address) for address in addresses))


async def gone(found):
    for *_, writer in found:
        writer.close()


def served_to_others(process):
    """Health, a batch of readings and a custodian's question: how they are answered."""
    body = services.csv_of(services.rows_of(services.panel().between(services.NEXT, services.NEXT + 4)))
    with process.http() as anybody, process.http("ingest") as headend, process.http("custodian") as anna:
        return [
            anybody.get("/healthz").status_code,
            anybody.get("/readyz").status_code,
            headend.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"}).status_code,
            anna.get("/v1/custodian/status").status_code,
        ]


def test_a_thousand_listeners_of_one_address_keep_nobody_out(city, many_files):
    """Of 1,050 event streams of one address 8 are heard; all else goes on, and few lines say what has happened."""
    folder, stream = city
    path = f"/v1/streams/{stream}/events"

    async def all_of_it(process):
        found = await crowd(process.port, path, ["127.0.0.1"] * 1050)
        others = await asyncio.to_thread(served_to_others, process)
        await gone(found)
        return Counter(status for status, *_ in found), others

    with services.running(folder) as process:
        statuses, others = asyncio.run(all_of_it(process))
        assert statuses == {"200": 8, "429": 1042}
        assert others == [200] * 4
        with process.http("custodian") as anna:
            counted = anna.get("/v1/custodian/metrics").text
        lines = services.lines_of(process, "limit met")
        requests = services.lines_of(process, "request")
    assert 'diurnal_limits_met_total{limit="client_listeners"}' in counted
    # On a busy machine they come too slowly to meet the limit of requests as well.
    met = Counter(line["limit"] for line in lines)
    assert met in ({"client_listeners": 1}, {"client_listeners": 1, "client_requests": 1})
    assert all(line.keys() == {"time", "level", "event", "limit", "who", "times"} for line in lines)
    assert len(requests) < 100


def test_a_thousand_addresses_that_listen_keep_nobody_out(city, many_files):
    """Of 1,050 addresses as many listen as may, the next are told 503; readings, health, custodians have places."""
    folder, stream = city

    async def all_of_it(process):
        addresses = [f"198.51.{n // 250}.{n % 250}" for n in range(1050)]
        found = await crowd(process.port, f"/v1/streams/{stream}/events", addresses)
        others = await asyncio.to_thread(served_to_others, process)
        refused = next((reader for status, reader, _ in found if status == "503"), None)
        head = await refused.readuntil(b"\r\n\r\n")
        problem = await refused.readuntil(b"}}")
        await gone(found)
        return Counter(status for status, *_ in found), others, head, problem

    with services.running(folder, "--behind-proxy", "127.0.0.1") as process:
        statuses, others, head, problem = asyncio.run(all_of_it(process))
        assert statuses == {"200": 1000, "503": 50}
        assert others == [200] * 4
        assert b"retry-after: 30" in head.lower()
        assert json.loads(problem)["code"] == "busy"
        (line,) = services.lines_of(process, "limit met")
    assert line["limit"] == "listeners"


def test_who_says_nothing_gives_way(city, tmp_path):
    """Of 20 places 100 silent connections take none from who asks; that they gave way is in the log."""
    script = tmp_path / "small.py"
    script.write_text(SMALL.format(folder=str(city[0])))

    async def all_of_it(process):
        silent = [await asyncio.open_connection("127.0.0.1", process.port) for _ in range(100)]
        others = await asyncio.to_thread(served_to_others, process)
        ended = await asyncio.gather(*(ends(reader) for reader, _ in silent))
        await gone(silent)
        return others, ended

    async def ends(reader):
        try:
            return await asyncio.wait_for(reader.read(1), 2) == b""
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True

    with services.running(city[0], script=script) as process:
        others, ended = asyncio.run(all_of_it(process))
        assert others == [200] * 4
        assert 80 <= ended.count(True) < 100
        assert [line["limit"] for line in services.lines_of(process, "limit met")] == ["connections"]


def test_who_listens_does_not_give_way(city, tmp_path):
    """Connections that are being answered stay, however many come and say nothing."""
    script = tmp_path / "small.py"
    script.write_text(SMALL.format(folder=str(city[0])))

    async def all_of_it(process):
        found = await crowd(process.port, f"/v1/streams/{city[1]}/events", ["x"] * 8)
        silent = [await asyncio.open_connection("127.0.0.1", process.port) for _ in range(60)]
        others = await asyncio.to_thread(served_to_others, process)
        heard = [await asyncio.wait_for(reader.readuntil(b"event: reports"), 20) for _, reader, _ in found]
        await gone(found + silent)
        return others, heard

    with services.running(city[0], script=script) as process:
        others, heard = asyncio.run(all_of_it(process))
    assert others == [200] * 4
    assert len(heard) == 8


@pytest.mark.parametrize("limits", [{"requests": 0.001, "burst": 1}, {"requests": 0, "at_once": 0}])
def test_the_public_uses_up_nothing_but_its_own(asked, city, limits):
    """Where the public of an address has no request or place left, health and who has a token there still do."""
    client = asked(limits=limits)
    found = [client.get("/v1/streams").status_code for _ in range(3)]
    assert found[-1] in (429, 503)
    wrong = {"Authorization": "Bearer dn_wrong"}
    assert client.get("/v1/custodian/status", headers=wrong).status_code == found[-1]
    assert client.get("/healthz").status_code == 200
    for role, where in (("custodian", "/v1/custodian/status"), ("ingest", "/v1/streams")):
        assert client.get(where, headers=services.bearer(city[0], role)).status_code == 200, role


def test_a_listener_that_comes_back_too_soon_is_refused_at_once(asked, city):
    """Told to wait, a client that asks for events before is told so again, of any stream; pages are still read."""
    client = asked(limits={"requests": 0, "client_listeners": 0})
    where = f"/v1/streams/{city[1]}"
    found = [client.get(f"{where}/events"), client.get("/v1/streams/ffffffff/events")]
    assert [(each.status_code, each.headers["retry-after"]) for each in found] == [(429, "30")] * 2
    assert client.get(f"{where}/reports").status_code == 200


@pytest.mark.parametrize(("limits", "status"), [({"client_replays": 0}, 429), ({"replays": 0}, 503)])
def test_replays_have_places_of_their_own(asked, city, limits, status):
    """Who begins far in the past is refused where no more may replay, with a time to wait; pages are still read."""
    client = asked(limits={"requests": 0, **limits})
    where = f"/v1/streams/{city[1]}"
    refused = client.get(f"{where}/events", params={"after": "0"})
    assert (refused.status_code, refused.headers["retry-after"]) == (status, "5")
    assert refused.json().keys() >= {"type", "title", "status", "detail", "code", "remedy", "request"}
    assert client.get(f"{where}/reports").status_code == 200
    assert client.app.state.service.listeners.taken == 0


def test_pages_that_one_client_has_made_are_limited(asked, city):
    """Where a client has as many pages being made as one may, the next is told 429."""
    client = asked(limits={"requests": 0, "client_pages": 0})
    refused = client.get(f"/v1/streams/{city[1]}/reports")
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many")


def test_who_has_caught_up_gives_the_place_of_a_replay_back(city):
    """Eight of one client listen from the beginning, though four may replay at a time: each stays afterwards."""

    async def all_of_it(process):
        found = []
        for _ in range(8):
            found.append(await heard(process.port, f"/v1/streams/{city[1]}/events?after=0"))
            if found[-1][0] == "200":
                await asyncio.wait_for(found[-1][1].readuntil(b"event: reports"), 20)
                await asyncio.sleep(0.1)
        await gone(found)
        return [status for status, *_ in found]

    with services.running(city[0]) as process:
        assert asyncio.run(all_of_it(process)) == ["200"] * 8


def test_replays_take_turns_and_live_events_are_read_once(asked, city, monkeypatch):
    """Ten who replay from different places read one at a time; thirty who hear a new release share one reading."""
    monkeypatch.setattr(events, "STEPS", 2)
    client = asked(heartbeat=0.05)
    service, reading, most, count = client.app.state.service, [], [], []
    rows = service.reader.rows

    def slow(*about):
        reading.append(1)
        count.append(1)
        most.append(len(reading))
        time.sleep(0.01)
        reading.pop()
        return rows(*about)

    monkeypatch.setattr(service.reader, "rows", slow)

    async def replay(place):
        caught_up = asyncio.Event()
        async for words in events.listened(service, city[1], place, caught_up.set):
            if "still here" in words:
                break
        return caught_up.is_set()

    async def replays():
        last = await events.place_of(service, city[1], None)
        places = [events.Place(release=1, mark=last.mark, step=24 + 3 * n) for n in range(10)]
        return await asyncio.gather(*map(replay, places))

    assert client.portal.call(replays) == [True] * 10
    assert max(most) == 1
    count.clear()

    async def live():
        begun = await events.place_of(service, city[1], None)

        async def one():
            words = ""
            async for words in events.listened(service, city[1], begun):
                if "event: reports" in words:
                    break
            return words

        listening = [asyncio.create_task(one()) for _ in range(30)]
        await asyncio.sleep(0.1)
        await service.write(
            lambda: service.curator.streams()[0].report(services.panel().between(services.NEXT, services.NEXT + 2))
        )
        await service.feed.refresh()
        return await asyncio.gather(*listening)

    assert len(set(client.portal.call(live))) == 1
    assert len(count) == 1


def test_a_replay_that_takes_too_long_is_cut_off_and_goes_on(asked, city, monkeypatch):
    """Who replays for longer than one may is hung up on, and with the last id hears the rest, every step once."""
    monkeypatch.setattr(events, "STEPS", 5)
    client = asked(limits={"requests": 0, "replay": 0.0})
    found, last = [], "0"
    for _ in range(7):
        answer = client.get(f"/v1/streams/{city[1]}/events", params={"after": last})
        fields = [dict(line.split(": ", 1) for line in part.splitlines()) for part in answer.text.split("\n\n")]
        (told,) = (each for each in fields if "data" in each)
        last = told["id"]
        found += [row["step"] for row in json.loads(told["data"])["rows"]]
    assert found == list(range(24, 56))


def rss(process):
    """How many megabytes a process has in memory."""
    status = pathlib.Path(f"/proc/{process.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_comes_back_after_a_thousand_replays(city):
    """A thousand replays of 80 releases, sixteen at a time, leave less than 64 MB behind."""
    folder, stream = city
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    for step in range(services.NEXT, services.NEXT + 80):
        curator.streams()[0].report(services.panel().between(step, step + 1))
    curator.close()

    async def one(process, number):
        path, address = f"/v1/streams/{stream}/events?after=0", f"198.51.100.{number % 16}"
        status, reader, writer = await heard(process.port, path, address)
        if status == "200":
            await asyncio.wait_for(reader.readuntil(b"id: 81-"), 60)
        writer.close()
        return status

    async def some(process, count):
        found = []
        for first in range(0, count, 16):
            found += await asyncio.gather(*(one(process, number) for number in range(first, first + 16)))
        return Counter(found)

    with services.running(folder, "--behind-proxy", "127.0.0.1", "--rate", 0) as process:
        asyncio.run(some(process, 48))
        before = rss(process)
        found = asyncio.run(some(process, 1008))
        assert found["200"] > 900, found
        assert rss(process) - before < 64
