"""Two lives of one city, in one of which a household is erased or moves between batches: the public cannot tell."""

import datetime
import json
import re

import pytest
from fastapi.testclient import TestClient

import diurnal as dn
import services
from diurnal.curator import store
from diurnal.show.page import public_page
from diurnal.show.web import events
from diurnal.show.web.app import application
from diurnal.show.web.settings import Limits, Settings

BATCH = services.FIRST
HOME = "secret-home-03"
DEEDS = {
    "erased": lambda curator: curator.erase(HOME),
    "moved": lambda curator: curator.move_out(HOME, BATCH + 2),
    "both": lambda curator: (curator.erase(HOME), curator.move_out("secret-home-04", BATCH + 1)),
}


@pytest.fixture
def clock(monkeypatch):
    """The clock that events are written by, in hours."""

    class Clock(datetime.datetime):
        hour_now = 0

        @classmethod
        def now(cls, tz=None):
            return datetime.datetime(2030, 1, 1, cls.hour_now, 10, tzinfo=tz)

    monkeypatch.setattr(store, "datetime", Clock)
    return Clock


def without_rows(text):
    """An answer without what chance decides: hashes, the names of stores and plans, released values."""
    text = re.sub(r"[0-9a-f]{32,64}", "HASH", text)
    text = re.sub(r"\b[0-9a-f]{8}:(?=\d+:HASH)", "STORE:", text)
    return re.sub(r'"(value|std|values|exact)": ?("[^"]*"|\[[^]]*\])', "VALUE", text)


def listened(client, stream, service):
    """The first id that a listener is given, without the mark of the rows."""
    place = client.portal.call(events.place_of, service, stream, None)
    return re.sub("-[0-9a-f]{8}", "-MARK", str(place))


def public_look(client, stream, curator):
    """Everything that is public at a moment."""
    base, service = f"/v1/streams/{stream}", client.app.state.service
    client.portal.call(service.feed.nudge)
    for _ in range(2):
        paths = ("/v1/streams", base, f"{base}/promise", f"{base}/reports?start={BATCH}", f"{base}/reports?limit=9")
        answers = [client.get(path) for path in paths]
    told = [json.dumps(answer.json()) for answer in answers]
    headers = [{n: v for n, v in each.headers.items() if n in ("cache-control", "link")} for each in answers]
    counted = [
        line for line in client.get("/metrics").text.splitlines() if "seconds" not in line and "created" not in line
    ]
    page = re.sub(r"(?s)<svg.*?</svg>", "", public_page(curator, curator.streams()[0]))
    shown = re.search(r'(?s)id="ledger-title".*?</section>', page)[0]
    assert "2030-01-01" in shown, "the ledger is not written by the test's clock"
    heads = [curator.head, curator.streams()[0].head]
    return list(
        map(without_rows, [*told, json.dumps(headers), *counted, shown, listened(client, stream, service), *heads])
    )


def lived(folder, clock, deed):
    """What the public and the head-end see of a life: after each batch, and between two, where a deed is done."""
    folder.mkdir()
    clock.hour_now = 1
    stream = services.found_city(folder, reported=0)
    settings = Settings(
        store=str(folder / "city.db"),
        profiles=str(folder / "profiles"),
        tokens=folder / "tokens.json",
        limits=Limits(requests=0),
        poll=3600,
    )
    seen, homes = [], services.panel()
    with TestClient(application(settings)) as client:
        curator = client.app.state.service.curator
        for number, (first, last) in enumerate(((0, 1), (1, 2), (2, 5), (5, 6))):
            clock.hour_now = 2 + 2 * number
            rows = services.rows_of(homes.between(BATCH + first, BATCH + last).without([HOME]))
            body, headers = services.csv_of(rows), {"Content-Type": "text/csv", **services.bearer(folder, "ingest")}
            answer = client.post("/v1/readings", content=body, headers=headers).json()
            seen += [without_rows(answer["head"]), *public_look(client, stream, curator)]
            clock.hour_now += 1
            if deed is not None and number == 1:
                DEEDS[deed](curator)
            seen += public_look(client, stream, curator)
        assert curator.verify().sound
    return seen


@pytest.mark.parametrize("deed", DEEDS)
def test_nobody_can_tell_when_a_household_was_erased_or_moved(tmp_path, clock, deed):
    """Whoever asks for everything that is public after each batch and between them sees the same in a life with an
    erasure, or a change of tenancy, as in one without, but for hashes and released rows.
    """
    without, with_deed = (lived(tmp_path / name, clock, what) for name, what in (("a", None), ("b", deed)))
    assert [pair for pair in zip(without, with_deed, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("deed", DEEDS)
def test_a_head_does_not_move_with_people(tmp_path, deed):
    """Between two batches the public head is the same before and after a deed, hash and all; the custodian's is
    another, and the next public one is chained to it.
    """
    services.found_city(tmp_path, reported=1)
    curator = dn.Curator.open(tmp_path / "city.db", profiles=tmp_path / "profiles")
    head, own = curator.head, curator.status().head
    DEEDS[deed](curator)
    assert curator.head == head
    assert curator.status().head != own
    curator.streams()[0].report(services.panel().between(BATCH + 4, BATCH + 5))
    assert int(curator.head.split(":")[1]) == int(head.split(":")[1]) + 2
    assert curator.verify(curator.head).sound


def test_who_sends_readings_to_a_restored_store_is_not_told_how_many_were_erased(tmp_path):
    """A store that owes erasures refuses a batch in words that say neither what it lacks nor how many."""
    services.found_city(tmp_path, reported=1)
    where = {"profiles": tmp_path / "profiles"}
    head = dn.Curator.open(tmp_path / "city.db", **where).head
    dn.Curator.open(tmp_path / "city.db", **where, fence=head, people=3)
    store = {"store": str(tmp_path / "city.db"), "profiles": str(tmp_path / "profiles")}
    rows = services.rows_of(services.panel().between(BATCH + 4, BATCH + 5))
    headers = {"Content-Type": "text/csv", **services.bearer(tmp_path, "ingest")}
    with TestClient(application(Settings(**store, tokens=tmp_path / "tokens.json"))) as client:
        answer = client.post("/v1/readings", content=services.csv_of(rows), headers=headers)
    assert answer.status_code == 503
    said = answer.json()
    assert "restored" in said["detail"]
    assert not re.search(r"\d|eras|tenan", said["detail"] + said["remedy"])


def test_the_service_leaves_out_who_was_erased(city, asked):
    """A service that is told whom to leave out checks, plans and explains without them; its refusal says how."""
    folder, stream = city
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    curator.stream(stream).stop()
    curator.erase(HOME)
    question = {"epsilon": "0.1", "domain": [0, 900000], "history": 2, "minimum_group": 1, "mean_reading": "300"}

    def explained(client):
        document = client.post("/v1/custodian/plan", json=question).json()["document"]
        return client.post("/v1/custodian/explain", json={"plan": document})

    refused = explained(asked("custodian"))
    assert refused.status_code == 409
    assert "`diurnal serve --without`" in refused.json()["remedy"]
    gone = folder / "gone.txt"
    gone.write_text(HOME)
    found = explained(asked("custodian", without=(f"@{gone}",)))
    assert found.status_code == 200, found.text
