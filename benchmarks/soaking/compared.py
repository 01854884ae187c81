"""Compared: everything that was ever answered, held against the store when all is over."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet

import diurnal as dn
from benchmarks.soaking.city import FIRST, City, as_text
from benchmarks.soaking.seen import Seen
from diurnal.client import Client
from diurnal.curator.intake import Sent, _has_taken
from diurnal.show.web.tokens import digest_of


def compare(city: City, seen: Seen, url: str) -> None:
    """Compare what was seen with what is in the store.

    Raises:
        AssertionError: A report was lost, doubled or changed, a batch lost or taken twice; or something went wrong
            while the service ran.
    """
    assert not seen.failed, "\n".join(seen.failed[:20])
    with Client(url) as client:
        served = [as_text(row) for row in client.reports(city.stream)]
        # A short soak on a busy machine may end before a reader got this far.
        seen.plans.add(
            json.dumps(client._asked("GET", f"/v1/streams/{city.stream}").json()["plan"], sort_keys=True)
        )
        seen.promises.add(json.dumps(client.promise(city.stream), sort_keys=True))
    curator = city.curator()
    stream = curator.stream(city.stream)
    kept = {row.step: as_text(row.to_json()) for row in stream.rows()}
    assert list(kept) == list(range(FIRST, max(kept) + 1)), "a step was lost"
    assert served == list(kept.values()), "pages tell other rows than the store has"
    assert len(seen.told) == len(set(seen.told)), "events told a row twice"
    assert set(seen.told) == kept.keys(), "events have left a row out"
    assert seen.rows.items() <= kept.items(), "a row was answered that is not in the store so"
    _compare_ranges(seen, {step: json.loads(row) for step, row in kept.items()})
    _compare_promise(seen, stream)
    _compare_batches(seen, curator, stream, digest_of(city.tokens["ingest"]))
    heads = [*seen.heads[:: max(1, len(seen.heads) // 5)], seen.heads[-1]]
    for head in (None, *heads):
        looked = curator.verify(head)
        assert looked.sound, looked.findings
    _compare_backups(city, curator.status().head, kept)


def _compare_ranges(seen: Seen, kept: dict[int, dict[str, str]]) -> None:
    for (start, stop, form), body in seen.ranges.items():
        mine = [(step, str(kept[step]["value"])) for step in range(start, stop)]
        assert list(_of(form, body)) == mine, f"the range {start} to {stop} as {form} is not what the store has"


def _of(form: str, body: bytes) -> Iterator[tuple[int, str]]:
    """The steps and values of a page."""
    if form == "json":
        rows = json.loads(body)["rows"]
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(body.decode())))
    elif form == "arrow":
        rows = pa.ipc.open_stream(body).read_all().to_pylist()
    else:
        rows = pa.parquet.read_table(pa.BufferReader(body)).to_pylist()
    yield from ((int(row["step"]), str(row["value"])) for row in rows)


def _compare_promise(seen: Seen, stream: dn.Stream) -> None:
    assert [json.loads(plan) for plan in seen.plans] == [json.loads(json.dumps(stream.plan.to_json()))]
    (promise,) = map(json.loads, seen.promises)
    guarantee = stream.guarantee
    parts = {name: list(getattr(guarantee, name)) for name in ("neighbours", "assumptions", "limits")}
    assert promise == {"stream": stream.plan.hash, **json.loads(json.dumps({**guarantee.to_json(), **parts}))}


def _compare_batches(seen: Seen, curator: dn.Curator, stream: dn.Stream, sender: str) -> None:
    record, store = stream._record(), curator._store
    with store.transaction():
        for key in seen.keys:
            assert _has_taken(curator, record, Sent(sender=sender, key=key, content="")), "a batch was lost"
        counted = {what: number for what, number in store.counts(record.number).items() if number}
    # How often a killed service had taken a batch before it could say so is not known here.
    counted.pop("batches_sent_again", None)
    assert counted == dict(seen.aside), f"the store has set aside {counted}, and {dict(seen.aside)} was to be"


def _compare_backups(city: City, head: str, kept: dict[int, str]) -> None:
    """Every copy that was made beside the service opens behind a fence, is sound, and has rows of the store."""
    for path in sorted(city.folder.glob("backup-*.db")):
        curator = dn.Curator.open(path, fence=head)
        assert curator.verify().sound
        rows = {row.step: as_text(row.to_json()) for row in curator.stream(city.stream).rows()}
        assert rows.items() <= kept.items(), "a backup has other rows than the store"


def compare_log(city: City, seen: Seen) -> int:
    """Look at the log: nothing private, nothing that failed. Returns how many lines it has."""
    content = (city.folder / "log.jsonl").read_bytes()
    seen.search("the log", content)
    lines = content.splitlines()
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            # A process that was killed has written half of it; another wrote the other half, or nothing.
            continue
        if told.get("level") == "error" or told.get("status", 0) >= 500:
            seen.fail(f"the log has {told}")
    assert not seen.failed, "\n".join(seen.failed[:20])
    return len(lines)
