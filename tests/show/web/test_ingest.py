"""Readings that are sent: taken once, counted, and never shown again."""

import concurrent.futures
import gzip
import logging

import pytest

import diurnal as dn
import services
from diurnal.curator import intake
from diurnal.curator.intake import Sent
from diurnal.curator.public_reader import Reader
from diurnal.curator.store import OTHERS
from diurnal.errors import StoreError
from diurnal.show.web import tokens

"""The first step that has not been reported yet."""


SENT = Sent(sender="head-end", key="k", content="d")


def sent(client, rows, *, kind="application/json", **more):
    headers = {"Content-Type": kind, **more.pop("headers", {})}
    return client.post("/v1/readings", content=services.BODIES[kind](rows), headers=headers, **more)


def some(first=services.NEXT, steps=4):
    return services.rows_of(services.panel().between(first, first + steps))


@pytest.mark.parametrize("kind", services.BODIES)
def test_a_batch_is_taken_in_every_format(asked, city, kind):
    """JSON, CSV and Arrow give the same readings: as many are taken, and as many steps are reported."""
    found = sent(asked("ingest"), some(), kind=kind)
    assert found.status_code == 200, found.text
    content = found.json()
    assert (content["rows"], content["kept"], content["again"]) == (80, 80, False)
    (stream,) = content["streams"]
    assert (stream["stream"], stream["taken"], stream["reports"]) == (city[1], 80, 4)


def test_formats_agree_to_the_last_digit(asked, city, silence):
    """Sent as JSON, CSV or Arrow, in Wh or kWh, readings give the same reports (noise aside)."""
    client = asked("ingest")
    for place, kind in enumerate(services.BODIES):
        assert sent(client, some(services.NEXT + place, 1), kind=kind).status_code == 200
    kilo = [{**row, "value": f"{int(row['value']) / 1000:.3f}"} for row in some(services.NEXT + 3, 1)]
    assert sent(client, kilo, params={"unit": "kWh"}).status_code == 200
    stream = dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles").streams()[0]
    homes = services.panel()
    # The same readings a cycle later, given to the curator itself.
    later = homes.following(homes.between(services.NEXT, services.NEXT + 4).readings, first_step=services.NEXT + 4)
    direct = [row.numerator for row in stream.report(later)]
    assert [row.numerator for row in stream.rows(services.NEXT, services.NEXT + 4)] == direct


def test_a_batch_is_taken_once(asked):
    """Sent again under its key, nothing happens, and the answer says so; without one, all of it is late."""
    client = asked("ingest")
    for more in ({"headers": {"Idempotency-Key": "monday"}}, {"params": {"key": "tuesday"}}, {}):
        rows = some(services.NEXT + 4 * len(more) + (8 if "params" in more else 0))
        first, second = sent(client, rows, **dict(more)).json(), sent(client, rows, **dict(more)).json()
        assert (first["again"], second["again"]) == (False, bool(more))
        assert (first["streams"][0]["taken"], second["streams"][0]["taken"]) == (80, 0)
        assert second["head"] == first["head"]
        late = {} if more else {"late": 80, "steps_published_before": 4}
        assert second["streams"][0]["set_aside"] == late


def test_a_batch_that_was_taken_is_answered_where_the_store_cannot_be_looked_at(asked, city, monkeypatch, caplog):
    """When the look at what is new fails after a batch was taken, the answer says it was; the log, the kind."""
    client = asked("ingest", poll=3600)
    # A service that ran in this process before has taken its lines to itself.
    monkeypatch.setattr(logging.getLogger("diurnal"), "propagate", True)
    caplog.set_level(logging.WARNING, "diurnal")

    def unreachable(reader, after=0):
        raise StoreError("store-content-unreadable", what=services.HOUSEHOLD)

    with monkeypatch.context() as patch:
        patch.setattr(Reader, "look", unreachable)
        found = sent(client, some(), headers={"Idempotency-Key": "k"})
    assert (found.status_code, found.json()["streams"][0]["taken"]) == (200, 80)
    assert sent(client, some(), headers={"Idempotency-Key": "k"}).json()["again"]
    (line,) = (record for record in caplog.records if record.getMessage() == "store")
    assert line.fields == {"error": "StoreError"}
    client.portal.call(client.app.state.service.feed.nudge)
    assert len(client.get(f"/v1/streams/{city[1]}/reports", params={"start": services.NEXT}).json()["rows"]) == 4


def test_a_key_is_for_one_batch(asked, city):
    """Whatever comes under a key that was used is answered alike, and not taken; the custodian is told of what is
    not the same, until the cycle of its readings is over.
    """
    client, custodian, key = asked("ingest"), asked("custodian"), {"Idempotency-Key": "monday"}

    def others():
        counted = custodian.get(f"/v1/custodian/streams/{city[1]}/quality").json()
        return counted.get("batches_sent_again", 0), counted.get(OTHERS, 0)

    assert not sent(client, some(services.NEXT, 2), headers=key).json()["again"]
    assert others() == (0, 0)
    again = [
        sent(client, some(services.NEXT, 2), headers=key),
        sent(client, some(services.NEXT + 2, 2), headers=key),
        sent(client, some(services.NEXT, 2), headers=key, params={"unit": "kWh"}),
        sent(client, some(services.NEXT, 2), headers=key, params={"minutes": 30}),
        client.post("/v1/readings", content=b"nothing", headers={**key, "Content-Type": "text/csv"}),
    ]
    assert len({(each.status_code, each.text) for each in again}) == 1
    assert again[0].json()["again"]
    assert others() == (5, 4)
    assert sent(client, some(services.NEXT + 2, 2)).json()["streams"][0]["taken"] == 40
    sent(client, some(services.NEXT), headers=key)
    assert others() == (6, 0)


def test_a_key_is_its_tokens_own(asked, city):
    """Under the key of somebody else's batch readings are taken: nobody can use up, or try, another's key."""
    folder, _ = city
    other = tokens.make(folder / "tokens.json", name="second head-end", role="ingest")
    client, key = asked("ingest"), {"Idempotency-Key": "monday"}
    assert not sent(client, some(), headers=key).json()["again"]
    theirs = {**key, "Authorization": f"Bearer {other}"}
    found = sent(client, some(services.NEXT + 4), headers=theirs).json()
    assert (found["again"], found["streams"][0]["taken"]) == (False, 80)
    assert all(sent(client, some(), headers=each).json()["again"] for each in (key, theirs))


def test_at_once_and_under_one_key_a_batch_is_taken_once(asked, city):
    """Of eight that send the same batch at the same time, one is told that it was taken."""
    client = asked("ingest", limits={"requests": 0, "batches": 8})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: sent(client, some(), headers={"Idempotency-Key": "k"}), range(8)))
    assert {each.status_code for each in found} == {200}
    assert sorted(each.json()["again"] for each in found) == [False] + [True] * 7
    curator = dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles")
    assert len(curator.streams()[0].rows(services.NEXT)) == 4
    assert curator.verify().sound


def test_what_is_set_aside_is_counted(asked):
    """Readings outside the domain, of strangers, and of steps that were reported before are counted by reason."""
    rows = some(services.NEXT, 1)
    rows[0] = {**rows[0], "value": "950000"}
    rows.append({**rows[1], "household": "stranger"})
    content = sent(asked("ingest"), [*rows, *some(services.NEXT - 1, 1)]).json()
    assert content["set_aside"] == {"outside_domain": 1}
    (stream,) = content["streams"]
    assert stream["set_aside"]["unknown_household"] == 1
    assert stream["set_aside"]["late"] == 20
    assert stream["taken"] == 19


def test_a_batch_is_for_every_stream_or_for_one(asked, city):
    """Two streams take a batch in one go; named, only the one does, and the other may still."""
    curator = dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles")
    more = curator.start(
        services.plan(query=dn.Sum()),
        history=services.panel().first(services.HISTORY),
        acknowledge="untested",
        accept_worse=True,
    ).plan.hash
    client = asked("ingest")
    both = sent(client, some()).json()
    assert {each["stream"] for each in both["streams"]} == {city[1], more}
    one = sent(
        client, some(services.NEXT + 4), params={"stream": more[:12]}, headers={"Idempotency-Key": "k"}
    ).json()
    assert [each["stream"] for each in one["streams"]] == [more]
    rest = sent(client, some(services.NEXT + 4), headers={"Idempotency-Key": "k"}).json()
    assert {each["stream"]: each["again"] for each in rest["streams"]} == {more: True, city[1]: False}


def test_nobody_on_the_roster_is_refused(asked):
    """A batch of strangers is refused, and names none of them."""
    refused = sent(asked("ingest"), [{**row, "household": f"x{i}"} for i, row in enumerate(some(services.NEXT, 1))])
    assert (refused.status_code, refused.json()["code"]) == (422, "readings")


def test_a_packed_batch_is_unpacked(asked):
    """A body may be packed with gzip."""
    body = gzip.compress(services.csv_of(some()))
    headers = {"Content-Type": "text/csv", "Content-Encoding": "gzip"}
    assert asked("ingest").post("/v1/readings", content=body, headers=headers).json()["kept"] == 80


def test_a_refusal_shows_no_reading(asked):
    """Whatever is wrong with a batch, the answer has neither a value nor a household of it."""
    rows = some(services.NEXT, 2)
    wrongs = [
        [*rows, {**rows[7], "value": "765433"}],
        [{**rows[0], "time": "765432 o'clock"}],
        [{**rows[0], "value": "765432,5"}, *rows[1:]],
        [{**rows[0], "household": {"a": services.SECRET}}],
        [{**rows[0], "value": None}],
    ]
    for wrong in wrongs:
        found = sent(asked("ingest"), wrong)
        assert found.status_code in (200, 422)
        assert "76543" not in found.text
        assert "secret" not in found.text


def test_without_a_running_stream_there_is_nobody_to_take_it(asked, city):
    """Once every stream has stopped, a batch is refused with 409."""
    dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles").streams()[0].stop()
    refused = sent(asked("ingest"), some(services.NEXT + 8))
    assert (refused.status_code, refused.json()["code"]) == (409, "stream")


def test_a_batch_that_was_taken_is_known_after_the_stream_was_stopped(asked, city):
    """Who sends a batch again, after its stream was stopped, is told that it was taken; a new one is refused."""
    client, key = asked("ingest"), {"Idempotency-Key": "k"}
    assert not sent(client, some(), headers=key).json()["again"]
    dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles").streams()[0].stop()
    assert sent(client, some(), headers=key).json()["again"]
    assert sent(client, some(services.NEXT + 4)).json()["code"] == "stream"


def guessed(rows, value):
    """Readings with a guess of one of them."""
    return [*rows[:7], {**rows[7], "value": str(value)}, *rows[8:]]


def answer(found):
    """All that somebody is answered, but for what every request has of its own."""
    own = {"x-request-id", "date", "content-length"}
    headers = {name: value for name, value in found.headers.items() if name not in own}
    return found.status_code, headers, {**found.json(), "key": None}


@pytest.mark.parametrize("homes", [10, 20])
@pytest.mark.parametrize("grace", [0, 4])
def test_who_sends_a_guess_does_not_learn_whether_it_was_right(grace, homes, tmp_path):
    """Of readings that are held, or reported, a right guess and a wrong one are answered alike, to the last header:
    in every format, with a key, a used key or none, from the same token or another.
    """
    services.found_city(tmp_path, reported=0, grace=grace)
    other = tokens.make(tmp_path / "tokens.json", name="second head-end", role="ingest")
    rows = services.rows_of(services.panel().between(services.FIRST, services.FIRST + 1))[:homes]
    right, counter = int(rows[7]["value"]), iter(range(1000))
    with services.running(tmp_path, "--rate", "0") as process, process.http("ingest") as client:
        found = sent(client, rows, headers={"Idempotency-Key": "used"}).json()
        assert found["streams"][0]["taken"] == homes
        for kind in services.BODIES:
            for key in (dict, lambda: {"Idempotency-Key": "used"}, lambda: {"Idempotency-Key": f"{next(counter)}"}):
                for token in ({}, {"Authorization": f"Bearer {other}"}):
                    answers = [
                        answer(sent(client, guessed(rows, value), kind=kind, headers={**key(), **token}))
                        for value in (right, right - 1, right, right + 1)
                    ]
                    used = bool(key().get("Idempotency-Key") == "used")
                    # A token's first batch under a key is none that comes again.
                    assert all(each == answers[1] for each in answers[1 if used and token else 0 :])
                    assert answers[1][0] == 200


@pytest.mark.parametrize("key", [None, "2022-07-15"])
def test_a_reading_is_not_found_by_trying(asked, key):
    """Who knows every reading of a batch but one, and its key, tries 81 values for it: all are answered alike."""
    client = asked("ingest")
    rows = some(services.NEXT, 1)
    headers = {} if key is None else {"Idempotency-Key": key}
    assert sent(client, rows, headers=headers).json()["streams"][0]["taken"] == 20
    right = int(rows[7]["value"])
    tried = [answer(sent(client, guessed(rows, value), headers=headers)) for value in range(right - 40, right + 41)]
    assert len(tried) == 81
    assert all(each == tried[0] for each in tried)


def test_readings_behind_a_fence_are_counted(tmp_path):
    """After a restore, readings of steps that are never drawn again are set aside, and the answer says so."""
    services.found_city(tmp_path, reported=2)
    curator = dn.Curator.open(tmp_path / "city.db", profiles=tmp_path / "profiles")
    curator.backup(tmp_path / "backup.db")
    first = services.FIRST + 8
    curator.streams()[0].report(services.panel().between(first, first + 4))
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    (fate,) = intake.take(restored, SENT, services.panel().between(first, first + 8))
    assert fate.set_aside == {"steps_behind_fence": 4}
    assert fate.taken == 4 * services.HOMES


def test_a_stream_that_is_not_concerned_is_not_told_of(tmp_path):
    """Of two streams of different homes, only the one whose homes are in a batch takes it."""
    services.found_city(tmp_path, reported=0)
    homes, later = services.panel(), services.FIRST
    names = [f"other-{number}" for number in range(services.HOMES)]
    others = dn.Panel.from_array(homes.readings, households=names, grid=services.GRID)
    curator = dn.Curator.open(tmp_path / "city.db", profiles=tmp_path / "profiles")
    second = curator.start(
        services.plan(), history=others.first(services.HISTORY), acknowledge="untested", accept_worse=True
    )
    (fate,) = intake.take(curator, SENT, others.between(later, later + 4))
    assert fate.stream == second.plan.hash
    assert curator.streams()[0].rows() == []
