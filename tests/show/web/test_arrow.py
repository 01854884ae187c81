"""Arrow from somebody one does not know: texts of every kind, and no few bytes that stand for many."""

import pyarrow as pa

import services


def of(**columns):
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_a_few_bytes_do_not_stand_for_many(asked):
    """Dictionaries are for names, and no text is long: a small body cannot become a large one."""
    client = asked("ingest")
    names = pa.array(["a"] * 3)
    many = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0]), pa.array(["1" * 100_000]))
    for columns in (
        {"household": names, "time": pa.array(["2022-08-01T00:00"] * 3), "wh": many},
        {"household": many, "time": pa.array(["2022-08-01T00:00"] * 3), "wh": pa.array([1] * 3)},
        {"household": names, "time": pa.array(["2022-08-01T00:00" + " " * 100] * 3), "wh": pa.array([1] * 3)},
    ):
        found = client.post("/v1/readings", content=of(**columns), headers={"Content-Type": services.ARROW})
        assert (found.status_code, found.json()["code"]) == (422, "readings")
        assert "column" in found.json()["detail"] or "characters" in found.json()["detail"]


def test_views_of_texts_are_texts(asked):
    """A frame whose texts are views, as Polars makes them, is taken."""
    rows = services.rows_of(services.panel().between(services.NEXT, services.NEXT + 1))
    columns = {name: pa.array([row[name] for row in rows], pa.string_view()) for name in ("household", "time")}
    body = of(**columns, wh=pa.array([int(row["value"]) for row in rows]))
    found = asked("ingest").post("/v1/readings", content=body, headers={"Content-Type": services.ARROW}).json()
    assert found["streams"][0]["taken"] == len(rows)
