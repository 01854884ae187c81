"""Units over HTTP: batches in another unit are refused, a query says units, and a dry run tells what would be."""

import io
import json
import shutil

import pyarrow as pa
import pyarrow.csv
import pytest
from fastapi.testclient import TestClient

import diurnal as dn
import services
import support
from diurnal.client import Client
from diurnal.errors import ServiceError
from diurnal.show.web import tokens
from diurnal.show.web.app import application
from diurnal.show.web.settings import Limits, Settings
from diurnal.study.town import Town

HOMES, HISTORY = 99, 14
PANEL = Town(homes=HOMES, days=17, gap_rate=0).panel()
FIRST = 48 * HISTORY
CSV, JSON = "text/csv", "application/json"


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A store of 99 homes, of which it is public that they take some 400 Wh in half an hour; and tokens."""
    folder = tmp_path_factory.mktemp("town")
    plan = dn.Plan(
        grid=PANEL.grid,
        domain=(0, 8000),
        history=HISTORY,
        epsilon="1",
        reference=dn.Reference(profile=[400] * 48),
        grace=4,
        **{**support.SLOTWISE, "variation_bound": 500},
    )
    curator = dn.Curator.open(folder / "city.db", support.ROOMY, profiles=folder / "profiles")
    curator.start(plan, history=PANEL.first(HISTORY), acknowledge="untested", accept_worse=True)
    curator.close()
    made = {role: tokens.make(folder / "tokens.json", name=role, role=role) for role in services.ROLES}
    (folder / "made.json").write_text(json.dumps(made))
    return folder


@pytest.fixture
def town(begun, tmp_path):
    """A copy of the store to work in."""
    return shutil.copytree(begun, tmp_path / "town")


@pytest.fixture
def served(town):
    """The service, as a client of each role is made of it."""
    opened = []

    def client(role, **more):
        fields = {
            "store": str(town / "city.db"),
            "profiles": str(town / "profiles"),
            "tokens": town / "tokens.json",
            "limits": Limits(requests=0),
        }
        made = TestClient(application(Settings(**fields, **more)), raise_server_exceptions=False)
        made.__enter__()
        made.headers.update(services.bearer(town, role))
        opened.append(made)
        return made

    yield client
    for each in opened:
        each.__exit__(None, None, None)


def kilo(part):
    """Readings in kWh, as JSON numbers."""
    return json.dumps(
        {"readings": [{**row, "value": int(row["value"]) / 1000} for row in services.rows_of(part)]}
    ).encode()


def csv(part, column, times=1):
    lines = [f"household,time,{column}"]
    lines += [f"{row['household']},{row['time']},{int(row['value']) * times:g}" for row in services.rows_of(part)]
    return "\n".join([*lines, ""]).encode()


def post(client, body, kind=JSON, key=None, **params):
    headers = {"Content-Type": kind, **({} if key is None else {"Idempotency-Key": key})}
    return client.post("/v1/readings", content=body, headers=headers, params=params)


def day(number=HISTORY):
    return PANEL.between(48 * number, 48 * number + 48)


def released(client):
    stream = client.get("/v1/streams").json()["streams"][0]["stream"]
    return client.get(f"/v1/streams/{stream}/reports").json()["rows"]


def test_kwh_as_json_numbers_under_the_default_wh_are_refused(served):
    """Of 4,752 readings in kWh, sent as JSON numbers without a unit, none is taken (422), and nothing is released;
    with unit=kWh, under the same key, all are.
    """
    client = served("ingest")
    refused = post(client, kilo(day()), key="k")
    assert (refused.status_code, refused.json()["code"]) == (422, "unit")
    assert "unit" in refused.json()["remedy"]
    assert "serve --trust-units" in refused.json()["remedy"]
    assert released(client) == []
    (stream,) = post(client, kilo(day()), key="k", unit="kWh").json()["streams"]
    assert (stream["taken"], stream["units"]) == (4752, "plausible")


def test_wh_in_a_column_of_kwh_are_refused_99_homes_at_a_time(served):
    """A step of 99 homes in Wh under the name kwh is refused, in each of four batches; nothing is released."""
    client = served("ingest")
    for step in range(FIRST, FIRST + 4):
        refused = post(client, csv(PANEL.between(step, step + 1), "kwh"), CSV)
        assert (refused.status_code, refused.json()["code"]) == (422, "unit")
    assert released(client) == []


def test_the_custodian_is_told_and_others_are_not(served, town):
    """Of homes that come one by one in kWh, the custodian is told at the fifth, in status and metrics; the tenth is
    refused; another token's are not.
    """
    other = tokens.make(town / "tokens.json", name="second head-end", role="ingest")
    client = served("ingest")
    custodian = {"Authorization": services.bearer(town, "custodian")["Authorization"]}

    def told():
        (stream,) = client.get("/v1/custodian/status", headers=custodian).json()["streams"]
        return stream["units"], stream["refused"]

    for number in range(10):
        found = post(client, kilo(day().columns(services.np.array([number]))))
        assert found.status_code == (422 if number == 9 else 200)
        assert told() == (["too small"] if number >= 4 else [], int(number == 9))
        if number < 9:
            assert found.json()["streams"][0]["units"] == "too small"
    assert 'looks="too small",stream=' in client.get("/v1/custodian/metrics", headers=custodian).text
    assert "diurnal_units" not in client.get("/metrics").text
    client.headers["Authorization"] = f"Bearer {other}"
    assert post(client, kilo(day().columns(services.np.array([20])))).status_code == 200


def test_an_operator_who_trusts_units_takes_them(served):
    """With --trust-units a batch in another unit is taken, and its answer says how it looks."""
    (stream,) = post(served("ingest", trust_units=True), kilo(day())).json()["streams"]
    assert (stream["taken"], stream["units"]) == (4752, "too small")


@pytest.mark.parametrize(("unit", "times"), [("Wh", 1), ("kWh", 0.001)])
@pytest.mark.parametrize("kind", [CSV, services.ARROW])
def test_a_unit_is_said_of_a_column_that_does_not_say(kind, unit, times, served):
    """CSV and Arrow with a column `value` are taken in the unit that the query says, and refused without one."""
    body = csv(day(), "value", times)
    if kind == services.ARROW:
        texts = pa.csv.ConvertOptions(column_types={"time": pa.string()})
        table = pa.csv.read_csv(io.BytesIO(body), convert_options=texts)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        body = sink.getvalue().to_pybytes()
    client = served("ingest")
    assert post(client, body, kind).status_code == 422
    (stream,) = post(client, body, kind, unit=unit).json()["streams"]
    assert (stream["taken"], stream["units"]) == (4752, "plausible")


@pytest.mark.parametrize(("column", "unit"), [("wh", "kWh"), ("kwh", "Wh"), ("kw", "kWh")])
def test_a_unit_that_contradicts_its_column_is_refused(column, unit, served):
    """If the query says one unit and the column's name another, the answer is 422 and names both."""
    refused = post(served("ingest"), csv(day(), column), CSV, unit=unit)
    assert (refused.status_code, refused.json()["code"]) == (422, "readings")
    said = refused.json()["detail"]
    assert unit in said
    assert column in said.lower()
    assert post(served("ingest"), csv(day(), "wh"), CSV, unit="Wh").status_code == 200


def everything(folder):
    """Every byte of a store."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("city.db*")) if path.is_file()}


def rows(part):
    return json.dumps({"readings": services.rows_of(part)}).encode()


BATCHES = {
    "new": lambda: rows(PANEL.between(FIRST + 4, FIRST + 6)),
    "late, held, outside and strange": lambda: json.dumps(
        {
            "readings": [
                *services.rows_of(PANEL.between(FIRST - 1, FIRST + 3)),
                {"household": "stranger", "time": PANEL.grid.wall(FIRST + 1).isoformat(), "value": "300"},
                {**services.rows_of(PANEL.between(FIRST + 3, FIRST + 4))[0], "value": "9000"},
                services.rows_of(PANEL.between(FIRST + 3, FIRST + 4))[1],
            ]
        }
    ).encode(),
}


@pytest.mark.parametrize("which", BATCHES)
def test_a_dry_run_says_what_would_become_of_a_batch(which, served, town):
    """Its answer is that of the batch when it is sent, but for the reports and the head; until then the store has
    not changed by a byte, and the key is unused.
    """
    client = served("ingest")
    assert post(client, rows(PANEL.between(FIRST, FIRST + 1))).status_code == 200
    assert (
        post(client, rows(PANEL.between(FIRST + 1, FIRST + 3).columns(services.np.arange(40)))).status_code == 200
    )
    before = everything(town)
    tried = [post(client, BATCHES[which](), key="k", dry_run=1).json() for _ in range(2)]
    assert everything(town) == before
    assert tried[0] == tried[1]
    sent = post(client, BATCHES[which](), key="k").json()
    assert (tried[0].pop("dry_run"), sent.pop("dry_run"), sent["again"]) == (True, False, False)
    for answer in (tried[0], sent):
        del answer["head"]
        for stream in answer["streams"]:
            del stream["reports"]
    assert tried[0] == sent
    if which != "new":
        (stream,) = sent["streams"]
        assert {"held_before", "late", "unknown_household"} <= stream["set_aside"].keys()


def test_a_dry_run_tells_of_another_unit(served, town):
    """It says that the batch would be refused, and why; nothing of it counts against who sends it next."""
    client = served("ingest")
    before = everything(town)
    found = [post(client, kilo(day()), dry_run=1) for _ in range(3)]
    assert {each.status_code for each in found} == {200}
    content = found[-1].json()
    assert content["streams"][0]["units"] == "too small"
    assert "another unit" in content["refused"]
    assert everything(town) == before
    assert client.app.state.service.curator.streams()[0].units == ()
    assert post(client, kilo(day().columns(services.np.array([0])))).status_code == 200


def test_a_dry_run_under_a_used_key_compares_nothing(served, town):
    """Under a key that was used a dry run is answered as taken before, whatever comes with it; that it came is
    not even counted.
    """
    client = served("ingest")
    assert post(client, rows(PANEL.between(FIRST, FIRST + 1)), key="k").status_code == 200
    before = everything(town)
    found = [
        post(client, body, key="k", dry_run="true").text
        for body in (rows(PANEL.between(FIRST, FIRST + 1)), rows(PANEL.between(FIRST + 1, FIRST + 2)), b"nothing")
    ]
    assert len(set(found)) == 1
    assert json.loads(found[0])["again"]
    assert everything(town) == before


@pytest.mark.parametrize("homes", [10, HOMES])
def test_a_dry_run_is_no_oracle(homes, served):
    """Of readings that are held, or reported, a right guess and wrong ones are answered alike."""
    client, step = served("ingest"), PANEL.between(FIRST, FIRST + 1)
    own = services.rows_of(step)[:homes]
    assert post(client, json.dumps({"readings": own}).encode()).json()["streams"][0]["taken"] == homes
    right = int(own[7]["value"])
    answers = {
        post(
            client,
            json.dumps({"readings": [*own[:7], {**own[7], "value": str(value)}, *own[8:]]}).encode(),
            dry_run=1,
        ).text
        for value in range(right - 20, right + 21)
    }
    assert len(answers) == 1


def test_the_client_says_units_and_tries(town):
    """`Client.send` takes a unit for a frame that does not say one, and a dry run that takes nothing."""
    part = day()
    frame = pa.table(
        {
            "household": [row["household"] for row in services.rows_of(part)],
            "time": [row["time"] for row in services.rows_of(part)],
            "value": [int(row["value"]) / 1000 for row in services.rows_of(part)],
        }
    )
    (town / "homes.parquet").touch()
    with services.running(town) as process, Client(process.url, token=services.shown(town)["ingest"]) as client:
        with pytest.raises(ServiceError) as refused:
            client.send(frame, unit="Wh")
        assert (refused.value.status, refused.value.code) == (422, "unit")
        for _ in range(2):
            tried = client.send(frame, unit="kWh", key="k", dry_run=True)
            assert (tried["dry_run"], tried["again"], tried["streams"][0]["taken"]) == (True, False, 4752)
        sent = client.send(frame, unit="kWh", key="k")
        assert (sent["dry_run"], sent["again"], sent["streams"][0]["taken"]) == (False, False, 4752)
