"""Files that earlier releases have written are opened, and mean what they meant; later ones are refused by number.

What a version has written is made once, with `PYTHONPATH=tests python tests/guards/test_formats.py`, and kept for
ever in tests/kept, by format and version. All of it is about made-up homes. Stores are in
tests/curator/test_database.py; what the service answers is looked at by tests/show/web/test_app.py.
"""

import csv
import json
import pathlib
import re
import shutil
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import support
from diurnal.curator import database, started_plan
from diurnal.curator.release import COLUMNS
from diurnal.errors import InputError, PlanError, ReadingsError, StoreError
from diurnal.planning import plan as plans
from diurnal.readings import panel_file
from diurnal.show import certificate as certificates
from diurnal.show.cli import screen
from diurnal.show.export import export
from diurnal.show.web import tokens
from support import refuses

ROOT = pathlib.Path(__file__).parents[2]
KEPT = ROOT / "tests" / "kept"
STORE = ROOT / "tests" / "curator" / "stores" / "1"
NOW = {"plan": plans.VERSION, "panel": panel_file.VERSION, "tokens": tokens.VERSION, "json": screen.JSON_VERSION}
NOW |= {"certificate": certificates.VERSION, "rows": 1, "service": 1}
"""The version of each format. Rows carry none in their files, and the service's is in its address."""

TOKEN = "dn_ingest_this-one-is-for-tests-and-opens-nothing-anywhere"
"""A token of which the kept file has the digest."""


def _versions(form):
    return sorted(int(path.name) for path in (KEPT / form).glob("[0-9]*"))


def _read(*parts):
    return json.loads(KEPT.joinpath(*parts).read_text())


def _plans():
    """Plans as they were before there were later fields, and one that has every one of them."""
    grid = dn.Grid(slots=4, minutes=360)
    early = dn.Plan(query=dn.Mean(), epsilon="0.5", domain=(0, 8000), history=14, grid=grid)
    early = early.with_(mechanism="cube", cycle_mechanism="laplace", variation_bound=500, groups="suburb", grace=2)
    counting = dn.Plan(query=dn.Share(above=300), level="cycle", epsilon="1/3", domain=(0, 8000), grid=grid)
    counting = counting.with_(mechanism="gaussian", delta="1e-6")
    ball = dn.Ellipsoid(radius=900, reference=(300, 500, 700, 400))
    late = dn.Plan(query=dn.Sum(), level="pattern", epsilon="1", domain=(0, 8000), history=14, grid=grid)
    late = late.with_(reference=dn.Reference(profile=[300, 500, 700, 400]))
    late = late.with_(
        mechanism="basis", basis=dn.Basis(size=3), body=ball, fill="0.5", shrink=True, free=dn.VariationReference()
    )
    return {"early": early, "counting": counting, "late": late}


def _panel():
    readings = np.arange(3 * 8).reshape(8, 3) * 37 % 900
    present = np.ones(readings.shape, dtype=bool)
    present[2, 1] = False
    return dn.Panel.from_array(
        readings,
        present=present,
        households=["anna", "björn", "c 3"],
        grid=dn.Grid(slots=4, minutes=360, zone="Australia/Sydney", anchor="2022-07-01T00:00"),
        first_step=4,
        groups={"suburb": ["a", "a", "b"]},
        calendar=[5],
    )


def _told(panel):
    """What a panel is, as plain data."""
    return {
        "grid": panel.grid.to_json(),
        "first_step": panel.first_step,
        "households": list(panel.households),
        "groups": {name: list(each) for name, each in panel.groups.items()},
        "calendar": sorted(panel.calendar),
        "readings": np.where(panel.present, panel.readings, -1).tolist(),
    }


def _keys():
    """The keys of what `--json` prints, by verb, as the docs have them; a guard holds the docs to the verbs."""
    page = (ROOT / "docs" / "howto" / "diurnal-toml.md").read_text()
    table = re.search(r"^\| verb \| keys.*?\n\n", page, flags=re.S | re.M)
    return {
        verb: sorted(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", keys)))
        for verbs, keys in re.findall(r"^\| (`.*?) \| (.*?) \|$", table[0], flags=re.M)
        for verb in re.findall(r"`([\w-]+)`", verbs)
    }


def _export(folder):
    """What the kept store has released, in every format of rows, in a folder."""
    shutil.copytree(STORE, folder / "store")
    curator = dn.Curator.open(folder / "store" / "city.db")
    for name in ("rows.csv", "rows.jsonl", "rows.parquet"):
        export(curator, curator.streams()[0], folder / name)


def _certificates():
    """The words of certificates of all kinds: without numbers, and without what is predicted of each mechanism."""
    town, grid = support.town(), dn.Grid()
    small = dn.Shape(group_sizes=(40,), grid=dn.Grid(slots=4), n_cycles=12)
    large = dn.Shape(group_sizes=(60,), grid=grid, n_cycles=200)
    bounded = {"level": "strong", "mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": 5}
    counting = {"level": "cycle", "query": dn.Share(above=3), "history": 0}
    fields = {
        "pattern": {"level": "pattern", "mechanism": "laplace"},
        "strong": {**bounded, "basis": dn.Basis(size=3), "cycle_basis": dn.Basis(size=3)},
        "basis": support.BASIS,
        "cycle": counting,
        "gaussian": {**counting, "mechanism": "gaussian", "delta": "1e-6"},
    }
    plans = {name: support.plan_for(town, **{**each, "horizon": 10}) for name, each in fields.items()}
    draft = dn.Plan(level="pattern", epsilon="0.1", domain=(0, 8000), history=91, grid=grid)
    made = {name: certificates.certificate(plan, small) for name, plan in plans.items()}
    made["open-data"] = certificates.certificate(plans["strong"], small, open_data=town)
    for name, free in (("free", True), ("table", False)):
        plan = dn.with_public_bounds(draft, large, mean_reading=400, free=free).with_(mechanism="basis")
        made[name] = certificates.certificate(plan, large)
    return {name: _worded(text) for name, text in made.items()}


def _worded(text):
    """A certificate without its numbers, nor the lines of its tables of errors and fields, which are no wording."""
    promise, *tables = re.split(r"(?=^## (?:Predicted error|The plan))", text, flags=re.M)
    tables = [re.sub(r"(?<=--- \|\n)(^\|.*\n)+", "", each, flags=re.M) for each in tables]
    return re.sub(r"[0-9a-f]{64}|\d[\d,]*(\.\d+)?(e[+-]?\d+)?", "#", "".join([promise, *tables]))


def test_the_wording_of_a_certificate_is_that_of_its_version():
    """Not a word of a signed text changes within a version: raise `certificate.VERSION`, and keep the new words."""
    folder = KEPT / "certificate" / str(certificates.VERSION)
    assert _certificates() == {path.stem: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("form", NOW)
def test_there_is_a_file_of_every_version(form):
    """Each version of each format has files that were written by it."""
    assert _versions(form) == list(range(1, NOW[form] + 1))


@pytest.mark.parametrize("version", _versions("plan"))
@pytest.mark.parametrize("name", ["early", "counting", "late"])
def test_a_kept_plan_is_the_same_plan(name, version):
    """A plan's file is opened, is the plan it was, and goes by the name it had: released rows carry that name."""
    kept_plan = dn.Plan.from_json(_read("plan", str(version), f"{name}.json"))
    assert kept_plan == _plans()[name]
    assert kept_plan.hash == _read("plan", str(version), "hashes.json")[name]


def test_a_later_plan_is_refused():
    """A plan of a later version is refused by its number, with what to do; so is a field that is not known."""
    content = _read("plan", "1", "early.json")
    with pytest.raises(PlanError, match="version 1, got 2") as caught:
        dn.Plan.from_json({**content, "diurnal_plan": 2})
    assert "newer diurnal" in caught.value.hint
    with refuses(PlanError, "plan-file-fields"):
        dn.Plan.from_json({**content, "colour": "green"})


@pytest.mark.parametrize("version", _versions("panel"))
def test_a_kept_panel_is_the_same_panel(version):
    """A panel's file is opened, with the readings, gaps, names, groups, clock and calendar that it had."""
    panel = dn.open_panel(KEPT / "panel" / str(version) / "homes.parquet")
    assert _told(panel) == _read("panel", str(version), "homes.json") == _told(_panel())


@pytest.mark.parametrize(("version", "said"), [(2, "version 1 or earlier, got version 2"), (0, "damaged")])
def test_a_later_panel_is_refused(version, said, tmp_path):
    """A panel of a later version is refused by its number; a version that never was is no panel."""
    path = KEPT / "panel" / "1" / "homes.parquet"
    table, facts = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[panel_file.KEY])
    text = json.dumps({**facts, "version": version}).encode()
    pq.write_table(table.replace_schema_metadata({panel_file.KEY: text}), tmp_path / "homes.parquet")
    with pytest.raises(ReadingsError, match=said):
        dn.open_panel(tmp_path / "homes.parquet")


@pytest.mark.parametrize("version", _versions("tokens"))
def test_a_kept_file_of_tokens_lets_in_who_it_did(version, tmp_path):
    """A file of tokens is opened, and a token it was made for is still known."""
    # A clone has the modes of its machine.
    file = shutil.copyfile(KEPT / "tokens" / str(version) / "tokens.json", tmp_path / "tokens.json")
    file.chmod(0o600)
    found = tokens.load(file)
    owner = tokens.owner_of(TOKEN, found)
    assert (owner.name, owner.role, owner.ended) == ("headend", "ingest", False)
    assert [token.name for token in found if token.ended] == ([] if version == 1 else ["ben"])


def test_a_later_file_of_tokens_is_refused(tmp_path):
    """A file of tokens of a later version is refused by its number, and lets nobody in."""
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"version": tokens.VERSION + 1, "tokens": []}))
    file.chmod(0o600)
    with pytest.raises(InputError, match="version 2 or earlier, got version 3"):
        tokens.load(file)


def test_a_later_started_plan_is_refused(tmp_path):
    """A started plan of a later form in a store is refused by its number, by a curator and by a reader."""
    from diurnal.curator.public_reader import Reader

    shutil.copytree(STORE, tmp_path, dirs_exist_ok=True)
    curator = dn.Curator.open(tmp_path / "city.db")
    with curator._store.transaction():
        connection = curator._store.connection
        connection.exec_driver_sql(
            "update plans set content = replace(content, '\"version\": 1', '\"version\": 2')"
        )
    said = f"Expected a started plan of version {started_plan.VERSION} or earlier, got version 2"
    with pytest.raises(StoreError, match=said):
        dn.Curator.open(tmp_path / "city.db").streams()
    reader = Reader.open(tmp_path / "city.db")
    with pytest.raises(StoreError, match=said):
        reader.look()
    reader.close()


@pytest.mark.parametrize(
    ("version", "said"),
    [(f"{database.VERSION + 1}", f"got version {database.VERSION + 1}"), ("two", "cannot be read")],
    ids=["later", "none"],
)
def test_a_store_that_was_brought_up_to_date_meanwhile_is_left_alone(version, said, tmp_path):
    """A process that has a store open when a newer diurnal brings it up to date writes to it no more."""
    shutil.copytree(STORE, tmp_path, dirs_exist_ok=True)
    curator, other = (dn.Curator.open(tmp_path / "city.db") for _ in range(2))
    stream, panel = curator.streams()[-1], support.town(n=40, cycles=12)
    with other._store.transaction():
        other._store.connection.exec_driver_sql(f"update facts set value = '{version}' where name = 'version'")
    before = (tmp_path / "city.db").read_bytes()
    deeds = (curator.status, stream.stop, lambda: curator.erase("9"), lambda: stream.report(panel.between(40, 48)))
    for deed in deeds:
        with pytest.raises(StoreError, match=said):
            deed()
    assert (tmp_path / "city.db").read_bytes() == before


@pytest.mark.parametrize("version", _versions("json"))
def test_no_key_of_json_is_taken_away(version):
    """Within a version of `--json` every verb has the keys it had; the latest kept one is the present one."""
    if version < screen.JSON_VERSION:
        return
    now = _keys()
    for verb, keys in _read("json", str(version), "keys.json").items():
        assert set(keys) <= set(now[verb]), verb


@pytest.mark.parametrize("version", _versions("rows"))
def test_released_rows_are_written_as_they_were(version, tmp_path):
    """Rows of a kept store come out as the files they came out as, in CSV, lines of JSON and Parquet; of an earlier
    version every column that it had, as it was.
    """
    folder = KEPT / "rows" / str(version)
    _export(tmp_path)
    then, now = (pq.read_table(each / "rows.parquet") for each in (folder, tmp_path))
    assert now.select(then.column_names).equals(then)
    if version == NOW["rows"]:
        assert then.column_names == now.column_names == [column.name for column in COLUMNS]
        for name in ("rows.csv", "rows.jsonl"):
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    for read in (_csv_rows, _json_rows):
        had, has = read(folder), read(tmp_path)
        assert [{name: row[name] for name in had[0]} for row in has] == had


def _csv_rows(folder):
    return list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))


def _json_rows(folder):
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]


def _make():
    """Write what is not kept yet."""

    def fresh(form):
        folder = KEPT / form / str(NOW[form])
        if folder.exists():
            return None
        folder.mkdir(parents=True)
        return folder

    def write(path, content):
        path.write_text(f"{json.dumps(content, indent=1)}\n")

    if folder := fresh("plan"):
        for name, each in _plans().items():
            write(folder / f"{name}.json", each.to_json())
        write(folder / "hashes.json", {name: each.hash for name, each in _plans().items()})
    if folder := fresh("panel"):
        write(folder / "homes.json", _told(dn.save_panel(_panel(), folder / "homes.parquet")))
    if folder := fresh("tokens"):
        digest = tokens.digest_of(TOKEN)
        made = tokens.Token(name="headend", role="ingest", digest=digest, made="2022-07-01T00:00:00+00:00")
        ended = replace(made, name="ben", digest=tokens.digest_of("ben"), until="2022-08-01T00:00:00+00:00")
        tokens._save(folder / "tokens.json", [made, ended])
    if folder := fresh("json"):
        write(folder / "keys.json", _keys())
    if folder := fresh("certificate"):
        for name, words in _certificates().items():
            (folder / f"{name}.md").write_text(words)
    if folder := fresh("rows"):
        _export(folder)
        shutil.rmtree(folder / "store")


if __name__ == "__main__":
    _make()
