"""What keeps the service from being worn out: places, batches and questions have ends."""

import logging

import pytest

from diurnal.show.web.limits import Buckets, Later, Met, Places, client_of
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.problems import ProblemError


def test_no_more_batches_are_in_the_house_than_may(asked, city):
    """Where as many batches are being taken as may, the next is told to come again."""
    client = asked("ingest", limits={"requests": 0, "batches": 0})
    refused = client.post("/v1/readings", content=b"x", headers={"Content-Type": "text/csv"})
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")


def test_json_has_a_smaller_end(asked):
    """JSON, which is read while all others wait, is refused at a size at which CSV is taken in."""
    client = asked("ingest", limits={"requests": 0, "json": 1000})
    for kind, status in (("application/json", 413), ("text/csv", 422)):
        found = client.post("/v1/readings", content=b"x" * 1001, headers={"Content-Type": kind})
        assert found.status_code == status, kind


def test_a_cycle_longer_than_is_looked_at_is_refused(asked):
    """Neither check nor plan works for minutes on a cycle of years; no epsilon is too large to be asked about."""
    client = asked("custodian")
    asked_for = {"epsilon": "1", "history": 6, "period": "9999d"}
    assert client.post("/v1/custodian/plan", json=asked_for).json()["code"] == "plan"
    assert client.get("/v1/custodian/check", params={"period": "9999d"}).json()["code"] == "plan"
    huge = {"epsilon": "999999999999", "history": 6, "domain": [0, 900000]}
    assert client.post("/v1/custodian/plan", json=huge).status_code in (200, 422)


def test_places_are_given_back_once():
    """A client has so many places, all together so many; given back twice, a place is free once."""
    places = Places("pages", most=3, each=2, retry=7)
    leave = places.take("a")
    places.take("a")
    refusals = []
    for client in ("a", "b", "c"):
        try:
            places.take(client)
        except ProblemError as problem:
            refusals.append((client, problem.status_code, problem.headers["Retry-After"], problem.limit))
    assert refusals == [("a", 429, "7", "client_pages"), ("c", 503, "7", "pages")]
    leave()
    leave()
    assert places.taken == 2
    places.take("a")
    with pytest.raises(ProblemError):
        places.take("a")


def test_who_was_told_to_come_later_is_told_the_same_until_then():
    """Until its time is over a client hears what it was told, however often it asks; others hear nothing of it."""
    now = [0.0]
    later = Later(lambda: now[0])
    told = ProblemError("http-busy-listeners", retry=30, limit="listeners")
    later.tell("a", told)
    now[0] = 20.0
    later.tell("a", ProblemError("http-busy-listeners", retry=30, limit="listeners"))
    later.check("b")
    with pytest.raises(ProblemError) as found:
        later.check("a")
    assert found.value is told
    now[0] = 30.0
    later.check("a")
    later.check("a")


def test_a_limit_is_told_once_a_minute():
    """A thousand who meet a limit within a minute are a line; the next minute's line has all that came between."""
    now, lines = [0.0], []

    class Hears(logging.Handler):
        def emit(self, record):
            lines.append((record.getMessage(), record.fields))

    logger, hears, metrics = logging.getLogger("diurnal.show"), Hears(), Metrics()
    logger.addHandler(hears)
    try:
        met = Met(metrics, lambda: now[0])
        for _ in range(1000):
            met("listeners", "public", public=True)
        met("batches", "ingest", public=False)
        now[0] = 61.0
        met("listeners", "public", public=True)
    finally:
        logger.removeHandler(hears)
    told = [(fields["limit"], fields["who"], fields["times"]) for _, fields in lines]
    assert told == [("listeners", "public", 1), ("batches", "ingest", 1), ("listeners", "public", 1000)]
    assert b'diurnal_limits_met_total{limit="listeners"} 1001.0' in metrics.public_text()
    assert b"batches" not in metrics.public_text()
    assert b'diurnal_all_limits_met_total{limit="batches",who="ingest"} 1.0' in metrics.all_text()


def test_requests_are_limited(asked):
    """A client that asks more often than it may is told when to come back."""
    client = asked(limits={"requests": 0.5, "burst": 20})
    found = [client.get("/healthz") for _ in range(40)]
    assert [each.status_code for each in found].count(200) in (20, 21)
    refused = found[-1]
    assert (refused.status_code, refused.json()["code"]) == (429, "too-often")
    # A bucket that gets one every two seconds may have half of it by now.
    assert refused.headers["retry-after"] in ("1", "2")


def test_a_bucket_fills_up_again():
    """A bucket of three that fills by two a second: three, then none, then one after half a second."""
    now = [0.0]
    buckets = Buckets(rate=2, burst=3, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b") == 0
    now[0] = 0.5
    assert (buckets.take("a"), buckets.take("a")) == (0, 0.5)


def test_an_address_stands_for_its_network():
    """Of IPv6, a client is its /64: it has more addresses than anybody counts. Of IPv4, it is itself."""
    assert client_of("2001:db8:1:2::1") == client_of("2001:db8:1:2:ffff::9") != client_of("2001:db8:1:3::1")
    assert client_of("192.0.2.7") == client_of("::ffff:192.0.2.7") == "192.0.2.7"
    assert client_of("not: an address") == "not: an address"
