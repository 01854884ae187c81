"""Answers that were made before: kept by what was asked for, up to a number of bytes."""

from diurnal.show.web.response_cache import ResponseCache


def test_what_is_kept_is_kept_by_format(asked, url):
    """Asked for the same finished range as JSON, CSV, packed and plain, each is answered as asked, twice."""
    client, params = asked(), {"start": "24", "stop": "56"}
    for _ in range(2):
        for accept in ("application/json", "text/csv"):
            for packing in ("gzip", "identity", "gzip;q=0"):
                asking = {"Accept": accept, "Accept-Encoding": packing}
                found = client.get(url, params=params, headers=asking)
                assert found.headers["content-type"].startswith(accept)
                assert (found.headers.get("content-encoding") == "gzip") == (packing == "gzip"), packing


def test_the_cache_is_no_larger_than_it_may_be(asked, url):
    """Of pages without end only so many bytes are kept."""
    client = asked(limits={"requests": 0, "cache": 20_000})
    for start in range(24, 50):
        for stop in range(start + 1, 54):
            assert client.get(url, params={"start": start, "stop": stop}).status_code == 200
    service = client.app.state.service
    assert 0 < service.pages.size() <= 10_000
    assert 0 < service.answers.total() <= 10_000


def test_what_is_kept_is_counted_with_all_around_it():
    """However small answers are, no more of them are kept than there is room for with names and headers."""
    kept = ResponseCache(50_000, len)
    for number in range(1000):
        kept.put(("x" * 400, number), b"")
    assert len(kept._values) == 20


def test_long_questions_are_not_kept(asked, city):
    """A question that somebody made long is answered, and not remembered; a short one is."""
    client = asked()
    answers = client.app.state.service.answers
    path = f"/v1/streams/{city[1]}/reports?start=24&stop=28"
    for more, headers in (("&stop=28" * 60, {}), ("", {"Accept": "text/csv" + " " * 490})):
        assert client.get(path + more, headers=headers).status_code == 200
        assert answers.total() == 0
    client.get(path)
    assert answers.total() > 0
