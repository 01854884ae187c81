"""New reports as they come: live, after a break, and to the end."""

import json
import threading
import time

import pytest

import diurnal as dn
import services
from diurnal.client import Client


@pytest.fixture
def served(city):
    with services.running(city[0]) as process:
        yield process, city[1]


def heard(lines, count):
    """The first so many events of a stream of them."""
    events, fields = [], {}
    for line in lines:
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
            continue
        if "data" in fields:
            events.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
        fields = {}
        if len(events) == count:
            break
    return events


def send(process, first, steps=4):
    with process.http("ingest") as client:
        body = services.csv_of(services.rows_of(services.panel().between(first, first + steps)))
        assert client.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"}).status_code == 200


def test_who_listens_hears_new_reports_at_once(served):
    """A batch that is taken is heard by who listens, with exactly the rows that pages have."""
    process, stream = served
    with process.http() as client, client.stream("GET", f"/v1/streams/{stream}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        next(lines)
        threading.Thread(target=send, args=(process, services.NEXT)).start()
        ((_, kind, content),) = heard(lines, 1)
    assert kind == "reports"
    with process.http() as client:
        assert content["rows"] == client.get(f"/v1/streams/{stream}/reports?start={services.NEXT}").json()["rows"]


def test_who_comes_back_misses_nothing(served):
    """With Last-Event-ID one goes on after that event, in the order of release; with 0, from the beginning."""
    process, stream = served
    send(process, services.NEXT + 4)
    send(process, services.NEXT)
    with process.http() as client:
        with client.stream("GET", f"/v1/streams/{stream}/events?after=0") as answer:
            found = heard(answer.iter_lines(), 3)
        steps = [[row["step"] for row in content["rows"]] for _, _, content in found]
        assert steps == [list(range(24, 56)), list(range(60, 64)), list(range(56, 60))]
        where, headers = f"/v1/streams/{stream}/events", {"Last-Event-ID": found[0][0]}
        with client.stream("GET", where, headers=headers) as answer:
            assert heard(answer.iter_lines(), 2) == found[1:]


def test_a_long_release_is_resumed_in_its_middle(asked, city, monkeypatch):
    """A release of many steps comes in several events; cut off between two, one goes on with the next."""
    from diurnal.show.web import events

    monkeypatch.setattr(events, "STEPS", 5)
    client = asked(heartbeat=0.05)

    async def first(place, count):
        found = []
        async for words in events.listened(client.app.state.service, city[1], place):
            if "data" in words:
                fields = dict(line.split(": ", 1) for line in words.strip().splitlines())
                found.append((fields["id"], [row["step"] for row in json.loads(fields["data"])["rows"]]))
            if len(found) == count:
                break
        return found

    whole = client.portal.call(first, events.Place.of("0"), 7)
    assert [step for _, steps in whole for step in steps] == list(range(24, 56))
    assert whole[-1][0].startswith("1-")
    assert "." not in whole[-1][0]
    for at in range(6):
        rest = client.portal.call(first, events.Place.of(whole[at][0]), 6 - at)
        assert rest == whole[at + 1 :]


def test_whose_token_ends_hears_no_more(city):
    """Where reading needs a token, who listens with one that is revoked is cut off before the next word."""
    from diurnal.show.web import tokens

    with services.running(city[0], "--closed") as process, process.http("public") as client:
        with client.stream("GET", f"/v1/streams/{city[1]}/events") as answer:
            lines = answer.iter_lines()
            next(lines)
            tokens.revoke(city[0] / "tokens.json", "public")
            # It takes a second until the file is looked at again.
            time.sleep(1.5)
            send(process, services.NEXT)
            assert heard(lines, 1) == []
        assert client.get(f"/v1/streams/{city[1]}/reports").status_code == 401


def test_quiet_is_broken_by_a_heartbeat(asked, city):
    """Who listens to a quiet stream hears a comment now and then; a wrong id is refused."""
    from diurnal.show.web import events

    client = asked(heartbeat=0.05)

    async def three():
        found = []
        async for words in events.listened(client.app.state.service, city[1], events.Place(release=1)):
            found.append(words)
            if len(found) == 3:
                break
        return found

    assert client.portal.call(three)[1:] == [": still here\n\n"] * 2
    for wrong in ("x", "1.y", "-1", "1.2.3", "9" * 20):
        refused = client.get(f"/v1/streams/{city[1]}/events", headers={"Last-Event-ID": wrong})
        assert refused.json()["code"] == "event-id", wrong


def test_ids_do_not_tell_when_somebody_was_erased(asked, city):
    """An erasure between two releases leaves no gap in the ids of events."""
    from diurnal.show.web import events

    curator = dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles")
    curator.erase(services.HOUSEHOLD)
    curator.streams()[0].report(services.panel().between(services.NEXT, services.NEXT + 4))
    client = asked()

    async def ids():
        found = []
        async for words in events.listened(client.app.state.service, city[1], events.Place.of("0")):
            found += [line for line in words.splitlines() if line.startswith("id") and "data" in words]
            if len(found) == 2:
                break
        return found

    assert [each.partition("-")[0] for each in client.portal.call(ids)] == ["id: 1", "id: 2"]


def test_ids_are_made_of_what_everybody_sees(asked, city, tmp_path):
    """Two stores with the same rows, of which one has erased a household, give their releases the same ids."""
    import shutil

    from diurnal.show.web import events

    shutil.copytree(city[0], tmp_path / "other")
    other = dn.Curator.open(tmp_path / "other" / "city.db", profiles=tmp_path / "other" / "profiles")
    other.erase(services.HOUSEHOLD)

    def place(**more):
        client = asked(**more)
        service = client.app.state.service

        async def last():
            return await events.place_of(service, city[1], None)

        return client.portal.call(last)

    there = {"store": str(tmp_path / "other" / "city.db"), "profiles": str(tmp_path / "other" / "profiles")}
    assert place() == place(**there)
    assert place().release == 1


def test_after_a_restore_who_comes_back_misses_nothing(asked, city):
    """An id of a release that the restored store does not have begins again: the new rows are heard."""
    from diurnal.show.web import events

    folder, stream = city
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    client = asked()
    service = client.app.state.service

    async def last():
        await service.feed.refresh()
        return str(await events.place_of(service, stream, None))

    async def begin(since):
        return await events.place_of(service, stream, since)

    seen = [client.portal.call(last)]
    for first in (services.NEXT, services.NEXT + 4):
        curator.streams()[0].report(services.panel().between(first, first + 4))
        seen.append(client.portal.call(last))
    assert [each.partition("-")[0] for each in seen] == ["1", "2", "3"]
    for since in seen:
        assert str(client.portal.call(begin, since)) == since
    ahead, other = seen[2].replace("3-", "9-"), seen[1].replace("2-", "1-")
    assert [client.portal.call(begin, since).release for since in (ahead, other, "0")] == [0, 0, 0]
    for wrong in ("5", "x", "1-", "1-zzzzzzzz", "1-00000000.", "-1-00000000"):
        assert client.get(f"/v1/streams/{stream}/events", params={"after": wrong}).status_code == 422, wrong


def test_a_stopped_stream_says_so(served):
    """Who listens to a stream that is stopped hears it."""
    process, stream = served
    with process.http() as client, client.stream("GET", f"/v1/streams/{stream}/events") as answer:
        lines = answer.iter_lines()
        next(lines)
        with process.http("custodian") as custodian:
            url = f"/v1/custodian/streams/{stream}/stop"
            assert custodian.post(url, json={"confirm": stream[:8]}).status_code == 200
        ((_, kind, content),) = heard(lines, 1)
    assert (kind, content["stream"]) == ("stopped", stream)


def test_no_more_listen_than_may(asked, city):
    """Where as many listen as may, the next is sent to the pages."""
    client = asked(limits={"requests": 0, "listeners": 0})
    refused = client.get(f"/v1/streams/{city[1]}/events")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")


def test_the_client_goes_on_where_it_was_cut_off(city):
    """The service ends and comes back at its port; the client that listens hears every release once."""
    with services.running(city[0]) as first:
        client, found = Client(first.url), []

        def listen():
            for event in client.events(city[1]):
                found.append([row["step"] for row in event["rows"]])
                if len(found) == 2:
                    return

        listening = threading.Thread(target=listen)
        listening.start()
        time.sleep(1)
        send(first, services.NEXT)
        assert first.end() == 0
    with services.running(city[0], port=first.port) as second:
        send(second, services.NEXT + 4)
        listening.join(20)
    assert found == [
        list(range(services.NEXT, services.NEXT + 4)),
        list(range(services.NEXT + 4, services.NEXT + 8)),
    ]
    client.close()
