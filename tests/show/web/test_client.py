"""The client: what it asks for, and how it tries again."""

import pytest

import services
from diurnal.client import Client
from diurnal.errors import InputError, ServiceError
from support import refuses


@pytest.fixture
def served(city):
    with services.running(city[0]) as process:
        yield process, city[1]


def test_a_client_reads_sends_and_is_told(served, city):
    """Streams, promise, reports in pages, a panel and a frame sent, and sent again: all as the store has it."""
    process, stream = served
    homes = services.panel()
    with Client(process.url, token=services.shown(city[0])["ingest"]) as client:
        assert [each["stream"] for each in client.streams()] == [stream]
        assert client.promise(stream)["level"] == "strong"
        assert len(list(client.reports(stream, page=5))) == 32
        assert [row["step"] for row in client.reports(stream, start=30, stop="2022-07-09T00:00")] == [30, 31]
        first = client.send(homes.between(56, 60))
        assert (first["again"], first["streams"][0]["taken"]) == (False, 80)
        again = client.send(homes.between(56, 60))
        assert (again["again"], again["streams"][0]["taken"]) == (False, 0)
        assert not client.send(homes.between(62, 63), key="step")["again"]
        assert client.send(homes.between(62, 63), key="step")["again"]
        import pandas as pd

        frame = pd.DataFrame(services.rows_of(homes.between(60, 62))).rename(columns={"value": "wh"})
        assert client.send(frame, key="frame", stream=stream)["streams"][0]["reports"] == 2
        with pytest.raises(ServiceError, match="begin with") as caught:
            client.send(homes.between(63, 64), stream="0" * 8)
        assert (caught.value.status, caught.value.code) == (409, "stream")
        with refuses(InputError, "client-readings-type"):
            client.send([1, 2, 3])
        assert repr(client).startswith("Client('http://127.0.0.1")
    with Client(process.url) as nobody, pytest.raises(ServiceError, match="role ingest"):
        nobody.send(homes.between(64, 65))


def test_a_panel_is_sent_as_it_is(served, city, silence):
    """Gaps are not sent, and what is sent is what the panel has: the curator reports the same from either."""
    process, _ = served
    homes = services.panel()
    present = homes.between(56, 60).present.copy()
    present[1, 3:6] = False
    part = homes.following(homes.between(56, 60).readings, present=present, first_step=56)
    with Client(process.url, token=services.shown(city[0])["ingest"]) as client:
        found = client.send(part)
    assert (found["rows"], found["streams"][0]["taken"]) == (77, 77)
