"""Reports as they are read: streams, promises and ranges, with tags that hold."""

import gzip
import re

import pytest
import sqlalchemy as sa
from markupsafe import escape

import diurnal as dn
import services
from diurnal.curator.public_reader import Reader
from diurnal.errors import StoreError
from diurnal.planning.planner import when_out
from diurnal.planning.prediction import short

LAST = services.FIRST + 31


def report(folder, first, steps=4):
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    curator.streams()[0].report(services.panel().between(first, first + steps))


def test_a_range_is_by_step_or_by_time(asked, url):
    """Both edges are steps or times, with or without an offset; the second is not in it."""
    client = asked()

    def steps(**asked_for):
        return [row["step"] for row in client.get(url, params=asked_for).json()["rows"]]

    assert steps(start="26", stop="30") == [26, 27, 28, 29]
    assert steps(start="2022-07-08", stop="2022-07-09") == [28, 29, 30, 31]
    assert steps(start="2022-07-08T06:00", stop="2022-07-08T12:00+10:00") == [29]
    assert steps(start="2022-07-07T20:00Z", stop="2022-07-08T12:00") == [29]
    assert steps(start="500") == steps(start="30", stop="26") == []
    assert client.get(url, params={"start": "2022-13-45"}).status_code == 422


def test_a_step_by_itself(asked, url):
    """One step is the range of that step; with a range beside it, it is refused."""
    client = asked()
    one = client.get(url, params={"step": 30}).json()
    assert one["rows"] == client.get(url, params={"start": 30, "stop": 31}).json()["rows"]
    assert {row["step"] for row in one["rows"]} == {30}
    assert client.get(url, params={"step": 10**9}).json()["rows"] == []
    for other in ("start", "stop"):
        refused = client.get(url, params={"step": 30, other: 31})
        assert (refused.status_code, refused.json()["code"]) == (422, "range")


def test_a_group_by_itself(asked, city):
    """Of a plan with groups and bins, one group's rows or one series' can be had; another is 404."""
    curator = dn.Curator.open(city[0] / "other.db", dn.Budget(pattern="9", cycle="9"))
    bins = services.plan(
        query=dn.Histogram([400_000]),
        groups="side",
        level="cycle",
        history=0,
        variation_bound=None,
        cycle_mechanism="auto",
    )
    stream = curator.start(bins, history=services.panel().first(0), accept_worse=True)
    stream.report(services.panel().between(0, 4))
    client = asked(store=str(city[0] / "other.db"), profiles=None)
    url = f"/v1/streams/{stream.plan.hash}/reports"
    names = {row["group"] for row in client.get(url).json()["rows"]}
    assert len(names) == 4
    for name, width in (("left", 2), (sorted(names)[0], 1)):
        rows = client.get(url, params={"group": name}).json()["rows"]
        assert len(rows) == 4 * width
        assert {row["group"] for row in rows} <= {each for each in names if each.startswith(name)}
    assert client.get(url, params={"group": "nobody"}).json()["code"] == "group"


def test_a_tag_holds_until_something_is_new(asked, city, url):
    """If-None-Match answers 304 without a body; a new report has another tag, a finished range keeps its own."""
    client = asked("ingest")
    first, finished = client.get(url), client.get(url, params={"start": "24", "stop": "32"})
    assert client.get(url, headers={"If-None-Match": f'"other", {first.headers["etag"]}'}).status_code == 304
    assert client.get(url, headers={"If-None-Match": first.headers["etag"]}).content == b""
    assert "immutable" in finished.headers["cache-control"]
    assert "immutable" not in first.headers["cache-control"]
    body = services.csv_of(services.rows_of(services.panel().between(LAST + 1, LAST + 2)))
    assert client.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"}).status_code == 200
    later = client.get(url, headers={"If-None-Match": first.headers["etag"]})
    assert (later.status_code, len(later.json()["rows"])) == (200, 33)
    same = client.get(
        url, params={"start": "24", "stop": "32"}, headers={"If-None-Match": finished.headers["etag"]}
    )
    assert same.status_code == 304
    tag = finished.headers["etag"]
    for known in ("*", f"W/{tag}", f'"other",{tag}', f'W/"a" , {tag}'):
        again = client.get(url, params={"start": "24", "stop": "32"}, headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b""), known


def test_a_range_without_an_end_is_never_finished(asked, city, url):
    """What may still grow is asked for again, though every step there is has been reported."""
    for params in ({}, {"start": "24"}, {"start": "24", "stop": "9999"}):
        assert "immutable" not in asked().get(url, params=params).headers["cache-control"], params


def test_a_head_is_a_get_without_a_body(city):
    """HEAD answers with the status and headers of a GET, and nothing else; of endless events there is none."""
    with services.running(city[0]) as process, process.http() as client:
        for path in ("/", "/healthz", "/v1/streams", f"/v1/streams/{city[1]}/reports?start=24&stop=28"):
            one, two = client.get(path), client.head(path)
            assert (two.status_code, two.content) == (200, b"")
            assert two.headers["content-length"] == one.headers["content-length"]
        assert client.head(f"/v1/streams/{city[1]}/events").status_code == 405


def test_who_reads_cannot_write(city, postgres, tmp_path):
    """The connections that answer the public refuse to write, on SQLite and on PostgreSQL."""
    where = postgres()
    services.found_city(tmp_path, reported=1, where=where)
    for store in (city[0] / "city.db", where):
        reader = Reader.open(store)
        assert reader.look().streams
        with pytest.raises(StoreError), reader._reading() as connection:
            connection.execute(sa.text("DELETE FROM rows"))
        assert reader.rows(reader.look().streams[0], range(services.FIRST, services.FIRST + 4))
        reader.close()


def test_a_range_with_a_gap_is_not_finished(asked, city, url):
    """While a step may still be reported, its page says that it may change; filled, it has it, and is finished."""
    report(city[0], LAST + 5)
    client, asked_for = asked("ingest"), {"start": str(LAST - 3), "stop": str(LAST + 9)}
    before = client.get(url, params=asked_for)
    assert "immutable" not in before.headers["cache-control"]
    body = services.csv_of(services.rows_of(services.panel().between(LAST + 1, LAST + 5)))
    client.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"})
    after = client.get(url, params=asked_for)
    assert len(after.json()["rows"]) == len(before.json()["rows"]) + 4
    assert "immutable" in after.headers["cache-control"]


def test_packed_and_plain_are_two_representations(asked, url):
    """Where a client takes gzip it gets it, with a tag of its own; unpacked it is the same page."""
    client = asked()
    plain = client.get(url, headers={"Accept-Encoding": "identity"})
    with client.stream("GET", url, headers={"Accept-Encoding": "gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content
    assert answer.headers["etag"] != plain.headers["etag"]
    assert "Accept-Encoding" in plain.headers["vary"]
    assert "content-encoding" not in plain.headers


def test_what_another_process_wrote_is_seen(asked, city, url):
    """Reports that somebody else wrote to the store are there a moment later."""
    client = asked(poll=0.05)
    assert len(client.get(url).json()["rows"]) == 32
    report(city[0], LAST + 1)
    for _ in range(100):
        if len(client.get(url).json()["rows"]) == 36:
            return
    raise AssertionError("not seen")


def test_the_promise_is_whole(asked, city):
    """The promise has numbers, neighbours, assumptions, limits and sentences, as the stream itself tells them."""
    found = asked().get(f"/v1/streams/{city[1][:8]}/promise").json()
    stream = dn.Curator.open(city[0] / "city.db", profiles=city[0] / "profiles").streams()[0]
    assert {name: found[name] for name in stream.guarantee.to_json()} == stream.guarantee.to_json()
    for name in ("neighbours", "assumptions", "limits"):
        assert found[name] == list(getattr(stream.guarantee, name))


def test_streams_are_described(asked, city):
    """The list names every stream; by its name, or eight letters of it, one has its plan as well."""
    client = asked()
    (listed,) = client.get("/v1/streams").json()["streams"]
    assert (listed["stream"], listed["households"], listed["last_step"]) == (city[1], 20, LAST)
    one = client.get(f"/v1/streams/{city[1][:8]}").json()
    assert dn.Plan.from_json(one["plan"]).hash == city[1]
    assert listed.items() <= one.items()


def test_a_stream_s_page_says_how_large_its_error_is_and_when_rows_come(asked, city):
    """Beside the facts of a stream are its predicted error, that of publishing nothing, and when rows come out."""
    page = asked().get(f"/streams/{city[1]}").text
    found = dict(re.findall(r'<dd data-fact="([^"]*)">([^<]*)</dd>', page))
    plan = dn.Plan.from_json(asked().get(f"/v1/streams/{city[1]}").json()["plan"])
    sizes = [int(found["households"])]
    prediction = dn.predict(plan, dn.Shape(group_sizes=tuple(sizes), grid=plan.grid))
    own = prediction.row(plan.mechanisms_text)
    assert found["predicted error of a report"].startswith(f"{short(own.errors.step)} Wh")
    assert f"{short(prediction.without_data.errors.step)} Wh" in found["error of publishing nothing"]
    assert str(escape(when_out(plan))) in page


def test_times_are_taken_as_a_browser_writes_them(asked, city):
    """A time with fractions of a second, as toISOString() gives it, is the time without them."""
    _, stream = city
    times = ("2022-07-01T00:00:00Z", "2022-07-01T00:00:00.000Z")
    answers = [asked().get(f"/v1/streams/{stream}/reports", params={"start": time}) for time in times]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["rows"] == answers[1].json()["rows"]
