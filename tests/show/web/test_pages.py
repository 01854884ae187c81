"""Pages of released rows: they add up, their formats agree, and none is longer than it may be."""

import asyncio
import csv
import io
import json
import time

import pyarrow as pa
import pyarrow.parquet as pq

import diurnal as dn
import services


def released(folder):
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    return [row.to_json() for row in curator.streams()[0].rows()]


def test_pages_add_up_to_the_whole(asked, city, url):
    """Page after page by cursor, in JSON and by Link, every row comes once and in order; so does one large page."""
    client, whole = asked(), released(city[0])
    assert client.get(url).json()["rows"] == whole
    found, cursor = [], {}
    while cursor is not None:
        page = client.get(url, params={"limit": 5, **cursor})
        found += page.json()["rows"]
        cursor = {"cursor": page.json()["next"]} if page.json()["next"] else None
        assert ("next" in page.links) == (cursor is not None)
    assert found == whole
    lines, link = [], f"{url}?limit=7&format=csv"
    while link:
        page = client.get(link)
        lines += list(csv.DictReader(io.StringIO(page.text)))
        link = page.links.get("next", {}).get("url")
    assert [line["value"] for line in lines] == [row["value"] for row in whole]


def test_formats_agree(asked, url, city):
    """JSON, CSV, Arrow and Parquet have the same rows, whether asked for by Accept or by name."""
    client, whole = asked(), released(city[0])
    readers = {
        "application/json": lambda body: json.loads(body)["rows"],
        "text/csv": lambda body: [
            {**row, "step": int(row["step"])} for row in csv.DictReader(io.StringIO(body.decode()))
        ],
        "application/vnd.apache.arrow.stream": lambda body: pa.ipc.open_stream(body).read_all().to_pylist(),
        "application/vnd.apache.parquet": lambda body: pq.read_table(io.BytesIO(body)).to_pylist(),
    }
    for (media, reader), name in zip(readers.items(), ("json", "csv", "arrow", "parquet"), strict=True):
        by_accept = client.get(url, headers={"Accept": f"{media}, */*;q=0.1"})
        by_name = client.get(url, params={"format": name})
        assert by_accept.headers["content-type"].startswith(media)
        assert reader(by_accept.content) == whole == reader(by_name.content)
    assert client.get(url, headers={"Accept": "image/png"}).json()["code"] == "format"


def test_a_page_never_has_more_than_the_service_allows(asked, url):
    """Asked for more rows than a page may have, a client gets a page and a cursor."""
    found = asked(limits={"requests": 0, "page": 10}).get(url, params={"limit": 1000}).json()
    assert (len(found["rows"]), found["next"]) == (10, f"step-{services.FIRST + 10}")


def test_a_page_is_made_once_for_all_who_ask(asked, city, monkeypatch):
    """Twenty who ask for the same page at the same time wait for one making of it."""
    client = asked()
    service, made = client.app.state.service, []
    making = service.pages.made

    def slow(*asked):
        made.append(asked)
        time.sleep(0.3)
        return making(*asked)

    monkeypatch.setattr(service.pages, "made", slow)
    stream = service.feed.streams()[0]

    async def twenty():
        from diurnal.show.web.pages import PageAsked

        about = PageAsked(stream=stream.key, start=24, stop=30, limit=9, group=None, form="csv", packed=False)
        found = await asyncio.gather(*(service.page(about, stream, 0, "x") for _ in range(20)))
        return {page.tag for page in found}

    assert len(client.portal.call(twenty)) == 1
    assert len(made) == 1


def test_no_more_pages_are_made_than_may(asked, city):
    """Where as many pages are being made as may, the next is told to ask again."""
    client = asked(limits={"requests": 0, "pages": 0})
    refused = client.get(f"/v1/streams/{city[1]}/reports", params={"start": 24, "stop": 25})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
