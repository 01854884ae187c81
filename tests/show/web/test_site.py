"""The service in a real browser: a visitor, the custodian, and what neither of them may ever meet."""

import csv
import io
import itertools
import json
import re
import shutil
import signal
import time
from importlib.resources import files
from typing import get_args

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import services
from diurnal.promise.mechanisms import CycleMechanismName, MechanismName
from diurnal.show.page import words as said_of
from diurnal.show.web import site, tokens

DAY = 86400
HOSTILE = "<img src=x onerror=alert(1)>"
DOMAIN = "3000000"


@pytest.fixture(scope="module")
def chromium():
    """A browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service whose stream has two groups and thirty days, and the stream's name."""
    folder = tmp_path_factory.mktemp("served")
    stream = services.found_city(folder, reported=30, groups="side")
    with services.running(folder, "--rate", "0") as process:
        yield process, stream


@pytest.fixture
def fresh(tmp_path):
    """A service over a store in which nothing was started."""
    dn.save_panel(services.panel(), tmp_path / "homes.parquet")
    dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="9", cycle="9"), profiles=tmp_path / "profiles")
    made = {role: tokens.make(tmp_path / "tokens.json", name=role, role=role) for role in services.ROLES}
    (tmp_path / "made.json").write_text(json.dumps(made))
    with services.running(tmp_path, "--rate", "0") as process:
        yield process


class Opened:
    """A page in a browser, with everything that went wrong and everything that was received."""

    def __init__(self, browser, process, path, *, wait="main", **options):
        self.process = process
        self.context = browser.new_context(accept_downloads=True, **options)
        self.context.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error('policy', e.violatedDirective))"
        )
        self.page, self.problems, self.asked, self.answers = self.context.new_page(), [], [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("response", lambda answer: self.answers.append(answer))
        self.page.goto(f"{process.url}{path}")
        self.page.wait_for_selector(wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def until(self, script: str, seconds: float = 20) -> None:
        """Wait until something is so: asked from outside, where the page's policy does not forbid to."""
        for _ in range(int(20 * seconds)):
            if self.page.evaluate(script):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"{script}; {self.problems}")

    def shown(self) -> float:
        """How many seconds the chart shows."""
        return self.page.evaluate("diurnal.range()")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def received(self) -> list[bytes]:
        """The head and the bytes of every answer but the one that does not end."""
        found = []
        for answer in self.answers:
            found.append(json.dumps(answer.all_headers()).encode())
            if not answer.url.endswith("/events"):
                found.append(answer.body())
        return found

    def inked(self, selector: str) -> int:
        """How many pixels of a canvas are drawn."""
        script = """e => { const d = e.getContext('2d').getImageData(0, 0, e.width, e.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }"""
        return self.page.eval_on_selector(selector, script)

    def enter(self, token):
        """Type a token into the custodian's door."""
        self.page.fill("#token", token)
        self.page.keyboard.press("Enter")


def visit(chromium, served, **options):
    """A stream's page, its chart drawn and its reports loaded."""
    process, stream = served
    opened = Opened(chromium, process, f"/streams/{stream}", wait="#series canvas", **options)
    opened.until("document.getElementById('shown').textContent.includes('reports from')")
    opened.page.wait_for_selector("#live[data-state=live]")
    return opened


def room(chromium, process, **options):
    """The custodian's room, open."""
    opened = Opened(chromium, process, "/custodian", wait="#come", **options)
    opened.enter(services.shown(process.folder)["custodian"])
    opened.page.wait_for_selector("#room:not([hidden])")
    return opened


def released(process, stream, **query):
    """Rows as the service tells them to programs."""
    with process.http() as client:
        return client.get(f"/v1/streams/{stream}/reports", params={"limit": 50_000, **query}).json()["rows"]


def moment(time):
    """A time as a person reads it."""
    return f"{time[:10]} {time[11:16]} {time[19:]}"


def start(process, **more):
    """Start a plan as a program does; its stream."""
    with process.http("custodian") as client:
        asked = {
            "epsilon": "1",
            "history": services.HISTORY,
            "domain": [0, int(DOMAIN)],
            "variation_bound": 100_000,
            **more,
        }
        found = client.post("/v1/custodian/plan", json=asked).json()
        question = {"plan": found["document"], "acknowledge": "untested"}
        confirm = client.post("/v1/custodian/explain", json=question).json()["confirm"]
        told = {**question, "confirm": confirm, "accept_worse": True}
        return client.post("/v1/custodian/start", json=told).json()["stream"]


def lasting(folder, batches, **more):
    """A city whose stream has reported for long, in batches of so many steps; the stream."""
    stream, homes = services.found_city(folder, reported=0, **more), services.panel()
    readings = np.tile(homes.readings, (4, 1))
    long = dn.Panel.from_array(readings, households=list(homes.households), grid=homes.grid)
    curator = dn.Curator.open(folder / "city.db", profiles=folder / "profiles")
    for first, end in itertools.pairwise(itertools.accumulate(batches, initial=services.FIRST)):
        curator.stream(stream).report(long.between(first, end))
    return stream


def stop(process, stream):
    """Stop a stream as a program does; when it ends."""
    with process.http("custodian") as client:
        answer = client.post(f"/v1/custodian/streams/{stream}/stop", json={"confirm": stream[:8]})
        return answer.json()["time"]


def send(process, first, steps=4):
    with process.http("ingest") as client:
        body = services.csv_of(services.rows_of(services.panel().between(first, first + steps)))
        answer = client.post("/v1/readings", content=body, headers={"Content-Type": "text/csv"})
        assert answer.status_code == 200, answer.text


# A visitor.


def test_a_visitor_finds_a_stream_and_reads_its_promise(chromium, served):
    """From the list a link leads to the stream, whose chart has the whole promise beside it."""
    process, stream = served
    with Opened(chromium, process, "/", wait=".streams") as opened:
        assert "Wh" in opened.text(".streams")
        assert "ε" not in opened.text("main")
        opened.page.click(".streams h3 a")
        opened.page.wait_for_selector("#series canvas")
        assert stream in opened.page.url
        with process.http() as client:
            promise = client.get(f"/v1/streams/{stream}/promise").json()
        words = " ".join(opened.text("main").split())
        for said in promise["sentences"]:
            assert said.removeprefix("Assumed: ").removeprefix("Not promised: ") in words
        for heading in ("What is promised", "What it rests on", "What this does not protect"):
            assert words.count(heading) == 2
        assert "Late or corrected readings never change a report." in words
        assert "ε = 1" in words
        assert opened.problems == []


def test_the_series_is_zoomed_by_button_key_and_mouse(chromium, served):
    """Range buttons, keys and dragging change what is shown; a double click shows all again."""
    with visit(chromium, served) as opened:
        page = opened.page
        assert opened.inked("#series canvas") > 5000
        assert opened.shown() == 7 * DAY
        page.click("[data-range='1']")
        assert opened.shown() == DAY
        assert page.get_attribute("[data-range='1']", "aria-pressed") == "true"
        page.click("[data-range='0']")
        whole = opened.shown()
        assert whole == 30 * DAY
        page.focus("#series")
        page.keyboard.press("+")
        assert opened.shown() == whole / 2
        before = page.evaluate("diurnal.view.from")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("diurnal.view.from") < before
        page.keyboard.press("0")
        page.locator("#series").scroll_into_view_if_needed()
        box = page.locator("#series .u-over").bounding_box()
        page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=4)
        page.mouse.up()
        assert opened.shown() == pytest.approx(whole / 4, rel=0.02)
        page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 60)
        assert opened.shown() == whole
        assert opened.problems == []


def test_another_group_is_another_series(chromium, served):
    """Who chooses a group sees that group's reports, in words and in the table, as they were released."""
    process, stream = served
    with visit(chromium, served) as opened:
        page = opened.page
        assert opened.text("#shown").startswith("left: 28 reports from ")
        page.select_option("#choose", label="right")
        opened.until("document.getElementById('shown').textContent.startsWith('right: 28 reports')")
        page.click("#rows summary")
        page.wait_for_selector("#rows tbody tr")
        cells = page.eval_on_selector_all(
            "#rows tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
        )
        rows = released(process, stream, group="right")[-28:]
        assert cells == [[row["time"], row["group"], row["value"], row["std"]] for row in rows]
        assert opened.problems == []


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_what_is_downloaded_is_what_is_shown(chromium, served, form):
    """A file has the shown range of the chosen group, word for word; of every group where that is asked for."""
    process, stream = served
    read = {
        "csv": lambda body: list(csv.DictReader(io.StringIO(body.decode()))),
        "json": lambda body: json.loads(body)["rows"],
        "parquet": lambda body: pq.read_table(io.BytesIO(body)).to_pylist(),
    }[form]
    with visit(chromium, served) as opened:
        rows = released(process, stream)
        for mine in ([row for row in rows if row["group"] == "left"][-28:], rows[-56:]):
            with opened.page.expect_download() as coming:
                opened.page.click(f"#downloads [data-format='{form}']")
            with open(coming.value.path(), "rb") as file:
                found = read(file.read())
            assert [(str(row["step"]), row["group"]) for row in found] == [
                (str(r["step"]), r["group"]) for r in mine
            ]
            assert [float(row["value"]) for row in found] == [float(row["value"]) for row in mine]
            assert coming.value.suggested_filename.endswith(f".{form}")
            opened.page.check("#every")
            opened.until("document.getElementById('file').textContent.includes('56 rows')")
        assert opened.problems == []


def test_new_reports_appear_by_themselves(chromium, served):
    """A batch that comes in while somebody looks is drawn, said aloud and in the head, without a reload."""
    process, stream = served
    with visit(chromium, served) as opened:
        page, last = opened.page, released(process, stream)[-1]
        before = page.evaluate("diurnal.view.to")
        send(process, last["step"] + 1)
        opened.until(f"diurnal.view.to === {before + DAY}")
        opened.until("document.getElementById('arrived').textContent.startsWith('4 new reports, the last of')")
        newest = released(process, stream, group="left")[-1]
        assert newest["step"] == last["step"] + 4
        said = moment(newest["time"])
        assert said in opened.text("#shown")
        assert opened.text("[data-fact='last report']") == said
        assert page.get_attribute("#arrived", "aria-live") == "polite"
        assert opened.shown() == 7 * DAY
        assert opened.problems == []


def test_a_page_carries_on_after_the_service_was_killed(chromium, tmp_path):
    """Killed and started again, the service is found by itself; what came meanwhile is drawn, once and whole."""
    stream = services.found_city(tmp_path)
    with services.running(tmp_path) as process, visit(chromium, (process, stream)) as opened:
        process.end(signal.SIGKILL)
        opened.page.wait_for_selector("#live[data-state=waiting]")
        with services.running(tmp_path, port=process.port) as again:
            send(again, services.FIRST + 32)
            opened.page.wait_for_selector("#live[data-state=live]", timeout=60_000)
            opened.page.click("[data-range='0']")
            opened.until("document.getElementById('shown').textContent.startsWith('36 reports')")
            send(again, services.FIRST + 36)
            opened.until("document.getElementById('shown').textContent.startsWith('40 reports')")


def test_a_month_long_ago_is_two_dates_away(chromium, served):
    """Two dates show the days between them, the download follows, and the dates follow the chart."""
    process, stream = served
    with visit(chromium, served) as opened:
        page = opened.page
        assert page.get_by_label("From").input_value() < page.get_by_label("to", exact=True).input_value()
        rows = released(process, stream, group="left", start="2022-07-10", stop="2022-07-15")
        assert len(rows) == 20
        page.fill("#from", "2022-07-10")
        page.fill("#to", "2022-07-14")
        assert opened.shown() == 5 * DAY
        opened.until("document.getElementById('file').textContent.includes('20 rows')")
        with opened.page.expect_download() as coming:
            page.click("#downloads [data-format='csv']")
        with open(coming.value.path()) as file:
            assert [row["value"] for row in csv.DictReader(file)] == [row["value"] for row in rows]
        page.fill("#from", "1999-01-01")
        assert page.get_attribute("#from", "aria-invalid") == "true"
        assert opened.text("#dates-said").startswith("Reports are from 2022-07-07 to ")
        assert opened.shown() == 5 * DAY
        page.click("[data-range='365']")
        opened.until("document.getElementById('from').value === '2022-07-07'")
        assert page.get_attribute("#from", "aria-invalid") == "false"
        assert opened.problems == []


def test_a_table_of_a_part_says_so(chromium, tmp_path):
    """Where the table has the last of many reports only, everybody sees that it does, not screen readers alone."""
    stream = lasting(tmp_path, [500])
    with services.running(tmp_path) as process, visit(chromium, (process, stream)) as opened:
        opened.page.click("[data-range='0']")
        opened.page.click("#rows summary")
        opened.until("document.querySelectorAll('#rows tbody tr').length === 480")
        caption = opened.page.locator("#rows caption")
        assert caption.inner_text().startswith("The last 480 of 500 reports")
        assert caption.bounding_box()["height"] > 15


def test_a_stopped_stream_is_not_live(chromium, tmp_path):
    """Stopped while somebody looks, and when it was before, a stream says when, and is not called live."""
    stream = services.found_city(tmp_path)
    with services.running(tmp_path) as process:
        with visit(chromium, (process, stream)) as opened:
            said = f"stopped at {moment(stop(process, stream))}"
            opened.page.wait_for_selector("#live[data-state=stopped]")
            opened.until(f"document.querySelector('[data-fact=state]').textContent === {said!r}")
            assert opened.problems == []
        with Opened(chromium, process, f"/streams/{stream}", wait="#live[data-state=stopped]") as opened:
            opened.page.wait_for_timeout(500)
            assert "no more reports" in opened.text("#live")
            assert opened.text("[data-fact=state]") == said
            assert opened.problems == []


def test_a_stream_that_was_stopped_before_its_first_report_does_not_wait(chromium, tmp_path):
    """Of a stream that never reported and never will, the page does not say that it waits for readings."""
    stream = services.found_city(tmp_path, reported=0)
    with (
        services.running(tmp_path) as process,
        Opened(chromium, process, f"/streams/{stream}", wait="#live[data-state=live]") as opened,
    ):
        assert "waiting for readings" in opened.text("#none")
        stop(process, stream)
        opened.until("document.getElementById('none').textContent.includes('stopped before it reported anything')")
        assert opened.page.get_attribute("#live", "data-state") == "stopped"
        assert opened.problems == []


def test_the_list_of_streams_is_kept_up(chromium, fresh):
    """A stream that is started while somebody looks at the list appears in it, and so does its first report."""
    with Opened(chromium, fresh, "/") as opened:
        look = "document.dispatchEvent(new Event('visibilitychange'))"
        assert "Nothing is reported yet" in opened.text("#streams")
        stream = start(fresh)
        opened.page.evaluate(look)
        opened.page.wait_for_selector(f"[data-stream='{stream}']")
        assert opened.text("#news").startswith("A new stream: Consumption of the average home")
        opened.page.focus(".streams h3 a")
        send(fresh, services.FIRST)
        opened.until("fetch('/').then((found) => found.text()).then((text) => !text.includes('none yet'))")
        opened.page.evaluate(look)
        opened.until("document.getElementById('news').textContent.includes('a new report of')")
        assert opened.page.evaluate("document.activeElement.getAttribute('href')") == f"/streams/{stream}"
        assert opened.problems == []


def test_what_is_reported_is_said_for_everybody():
    """Each kind of report is told in words that need no other: whose use, in how long, in which unit."""
    half = {"channel": "consumption", "grid": dn.Grid(slots=48, minutes=30, zone="Australia/Sydney")}
    queries = {
        dn.Mean(): (
            "the consumption of the average home in 30 minutes, in Wh",
            "Consumption of the average home, ",
        ),
        dn.Sum(): (
            "the consumption of all homes together in 30 minutes, in Wh",
            "Consumption of all homes together, ",
        ),
        dn.Share(above=1000): (
            "the share of homes whose consumption in 30 minutes is above 1,000 Wh",
            "Share of homes ",
        ),
        dn.Histogram((100, 500)): (
            "how many homes have a consumption in 30 minutes that lies in each of 3 bins",
            "Homes ",
        ),
    }
    for query, (sentence, title) in queries.items():
        level = "cycle" if query.kind in ("share", "histogram") else "strong"
        more = {"history": 0, "variation_bound": None, "cycle_mechanism": "auto"} if level == "cycle" else {}
        plan = services.plan(query=query, level=level, **half, **more)
        assert sentence in said_of.reported(plan)
        assert " There is one every 30 minutes, with noise." in said_of.reported(plan)
        assert said_of.title(plan).startswith(title)


def test_without_scripts_the_promise_and_the_last_reports_are_there(chromium, served):
    """A reader without JavaScript has the promise, the last reports as a table, and the links to files."""
    process, stream = served
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{process.url}/streams/{stream}")
    last = released(process, stream)[-1]
    assert page.get_by_role("cell", name=last["value"], exact=True).first.is_visible()
    assert page.get_by_text("What this does not protect").first.is_visible()
    assert (
        page.get_attribute("#downloads [data-format='csv']", "href") == f"/v1/streams/{stream}/reports?format=csv"
    )
    context.close()


def test_a_stream_that_is_not_there_is_said_kindly(chromium, served):
    """An unknown name is answered 404, with a page that leads back."""
    with Opened(chromium, served[0], "/streams/0123456789ab") as opened:
        assert opened.answers[0].status == 404
        assert "Stream not found" in opened.text("h1")
        assert opened.page.get_attribute("main a", "href") == "/"


def test_names_are_never_taken_for_markup(chromium, tmp_path):
    """A group whose name is markup is shown as the text it is, by the service and by its scripts."""
    homes, folder = services.panel(), tmp_path
    named = dn.Panel.from_array(
        homes.readings,
        households=list(homes.households),
        grid=homes.grid,
        groups={"side": [HOSTILE if number % 2 else "plain" for number in range(services.HOMES)]},
    )
    dn.save_panel(named, folder / "homes.parquet")
    curator = dn.Curator.open(folder / "city.db", dn.Budget(pattern="9", cycle="9"), profiles=folder / "profiles")
    history = named.first(services.HISTORY)
    stream = curator.start(services.plan(groups="side"), history=history, acknowledge="untested", accept_worse=True)
    stream.report(named.between(services.FIRST, services.FIRST + 40))
    tokens.make(folder / "tokens.json", name="custodian", role="custodian")
    with services.running(folder) as process, visit(chromium, (process, stream.plan.hash)) as opened:
        opened.page.select_option("#choose", label=HOSTILE)
        opened.until(f"document.getElementById('shown').textContent.startsWith({HOSTILE!r})")
        opened.page.click("#rows summary")
        opened.page.wait_for_selector("#rows tbody tr")
        assert opened.page.locator("main img").count() == 0
        assert opened.problems == []


def test_where_reading_is_closed_pages_tell_nothing(tmp_path):
    """A service whose reports need a token shows no stream to who only has a browser, and says why."""
    stream = services.found_city(tmp_path)
    with services.running(tmp_path, "--closed") as process, process.http() as client:
        for path in ("/", f"/streams/{stream}", "/streams/0123456789ab"):
            answer = client.get(path)
            assert answer.status_code == 401
            assert "not public here" in answer.text
            assert stream[:8] not in answer.text
        assert client.get("/custodian").status_code == 200


# What a browser may load.


def test_nobody_else_is_asked_and_the_policy_holds(chromium, served):
    """Every page asks this service alone; what is not in its files neither runs nor dresses anything."""
    process, stream = served
    for path in ("/", f"/streams/{stream}", "/custodian"):
        with Opened(chromium, process, path) as opened:
            opened.page.wait_for_timeout(300)
            assert opened.problems == []
            assert {url.partition("/")[0] + "//" + url.split("/")[2] for url in opened.asked} == {process.url}
            policy = opened.answers[0].headers["content-security-policy"]
            assert "unsafe" not in policy
            assert policy.startswith("default-src 'none'")
            source = opened.answers[0].text()
            assert not re.search(r"<script(?![^>]*\ssrc=\"/static/)|<style|\sstyle=|\son\w+=", source)
            opened.page.evaluate(
                "document.body.append(Object.assign(document.createElement('script'), {text: '1'}))"
            )
            opened.page.wait_for_timeout(100)
            assert any("policy script-src" in problem for problem in opened.problems)


def test_the_static_files_are_those_that_are_named(served):
    """Every file of the site is served with a tag and its kind, and nothing but these, whatever is tried."""
    own = {each.name for each in files("diurnal.show.web").joinpath("static").iterdir()}
    assert own == set(site.OWN)
    with served[0].http() as client:
        for name in (*site.OWN, *site.SHARED):
            answer = client.get(f"/static/{name}")
            assert answer.status_code == 200
            assert answer.headers["x-content-type-options"] == "nosniff"
            again = client.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        assert client.get("/static/series.js").headers["content-type"].startswith("text/javascript")
        for trick in (
            "../site.py",
            "%2e%2e/site.py",
            "..%2fsite.py",
            "page.html",
            "uplot/../page.html",
            "",
            "/etc/passwd",
        ):
            answer = client.get(f"/static/{trick}")
            assert answer.status_code == 404
            assert answer.json()["code"] == "not-found"


def test_chosen_colours_are_the_houses():
    """The colours that one may choose are those of the page, value for value."""
    page = files("diurnal.show.page").joinpath("static", "page.css").read_text()
    own = files("diurnal.show.web").joinpath("static", "service.css").read_text()
    light, dark = (
        dict(re.findall(r"--(\w+): ([^;]+);", part)) for part in re.findall(r":root \{(.*?)\}", page, re.S)
    )
    for name, wanted in (("light", light), ("dark", dark)):
        chosen = re.search(rf':root\[data-theme="{name}"\] \{{(.*?)\}}', own, re.S)[1]
        assert dict(re.findall(r"--(\w+): ([^;]+);", chosen)) == wanted


def spoken(received) -> set[bytes]:
    """Every word and every number in some bytes, numbers with commas too."""
    forms = (rb"[\w.-]+", rb"\d{1,3}(?:,\d{3})+")
    return {word.strip(b".-") for part in received for form in forms for word in re.findall(form, part)}


def test_nothing_private_is_in_any_byte_that_a_visitor_receives(chromium, served):
    """Of readings, sums, profiles and names, recognisable all, none is in any answer to a visitor's browser."""
    process, stream = served
    homes = services.panel()
    numbers = {*homes.readings.ravel().tolist(), *homes.readings.sum(axis=1).tolist()}
    curator = dn.Curator.open(process.folder / "city.db", profiles=process.folder / "profiles")
    record = curator.stream(stream)._record()
    numbers |= {*record.profile.ravel().tolist(), *record.profile.sum(axis=1).tolist()}
    secrets = {form.encode() for number in numbers for form in (str(number), f"{number:,}") if number >= 10**5}
    secrets |= {name.encode() for name in homes.households}
    with visit(chromium, served) as opened:
        page = opened.page
        page.click("[data-range='0']")
        page.select_option("#choose", label="right")
        page.click("#rows summary")
        page.wait_for_timeout(500)
        received = [*opened.received(), page.content().encode()]
        for path in (
            "/",
            "/custodian",
            "/v1/streams",
            f"/v1/streams/{stream}/promise",
            "/openapi.json",
            "/metrics",
        ):
            received.append(httpx.get(f"{process.url}{path}").content)
        for name in (*site.OWN, *site.SHARED):
            received.append(httpx.get(f"{process.url}/static/{name}").content)
        assert len(secrets) > 1000
        assert sum(map(len, received)) > 300_000
        words = spoken(received)
        # A value that was released may be somebody's reading by chance: as a row of the release it is no secret.
        values = {row["value"].encode() for row in released(process, stream)}
        # So it is where the page writes it with commas: cut, whole, or to its first digits.
        ways = (int, round, lambda value: round(float(f"{value:.4g}")), lambda value: round(float(f"{value:.3g}")))
        written = {f"{way(float(value)):,}".encode() for value in values for way in ways}
        assert secrets & words - values - written == set()
        # By chance one or two are; five were seen once. Twelve would be no chance.
        assert len(secrets & values) < 12
        assert len(secrets & spoken([services.csv_of(services.rows_of(homes))])) > 1000
        assert str(services.SECRET).encode() not in b"".join(received)
        assert services.HOUSEHOLD.encode() not in b"".join(received)


# The custodian.


def test_a_wrong_token_is_refused_kindly(chromium, served):
    """Wrong tokens, those of another role and those that have ended are refused in words, each in its own, kept
    nowhere, and one may try again.
    """
    process, _ = served
    file = process.folder / "tokens.json"
    ended = tokens.make(file, name="ben", role="custodian", days=1)
    file.write_text(re.sub(r'("until": ")[^"]+', r"\g<1>2022-08-01T00:00:00+00:00", file.read_text()))
    # It takes a second until the file is looked at again.
    time.sleep(1.1)
    with Opened(chromium, process, "/custodian", wait="#come") as opened:
        page = opened.page
        for shown, words in (
            ("dn_custodian_wrong", "not known here"),
            (services.shown(process.folder)["ingest"], "another role"),
            (ended, "This token expired at 2022"),
        ):
            opened.enter(shown)
            opened.until(f"document.getElementById('refused').textContent.includes({words!r})")
            assert page.get_attribute("#refused", "role") == "alert"
            assert page.evaluate("document.activeElement.id") == "token"
            assert page.input_value("#token") == ""
            assert page.evaluate("sessionStorage.length + localStorage.length") == 0
            assert not page.locator("#room").is_visible()
        opened.enter(services.shown(process.folder)["custodian"])
        page.wait_for_selector("#room:not([hidden])")
        assert page.context.cookies() == []


def test_who_leaves_leaves_nothing_behind(chromium, served):
    """The token goes with the tab's session: a reload stays in, leaving forgets it and empties the page."""
    with room(chromium, served[0]) as opened:
        page = opened.page
        page.reload()
        page.wait_for_selector("#room:not([hidden])")
        page.wait_for_selector("#health article")
        page.click("#leave")
        page.wait_for_selector("#come:visible")
        assert page.evaluate("sessionStorage.length") == 0
        assert page.locator("#health article").count() == 0
        page.go_back()
        page.wait_for_timeout(300)
        assert page.locator("#health article").count() == 0


def test_the_custodian_sees_how_readings_come_in_and_what_is_spent(chromium, served):
    """What was set aside, drift, budgets and the ledger are there, from the store as it stands."""
    process, stream = served
    with room(chromium, process) as opened:
        page = opened.page
        page.wait_for_selector("#ledger tbody tr")
        page.wait_for_selector("#health .drift table")
        assert f"Plan {stream[:12]}" in opened.text("#health")
        assert "not known yet" in opened.text(".drift")
        assert re.search(r"last batch that released\s+\d{4}-\d\d-\d\d \d\d:\d\d \+00:00", opened.text("#health"))
        assert "1 of 9 spent, 8 left" in " ".join(opened.text("#budgets").split())
        ledger = opened.text("#ledger")
        assert f"Plan 1 ({stream[:12]}) was started: level strong, 20 households" in ledger
        with process.http("custodian") as client:
            assert opened.text("#ledger-head") == client.get("/v1/custodian/budget").json()["head"]
        assert "PRIVATE" in opened.text(".banner")
        assert opened.problems == []


def test_the_custodian_is_warned_of_units(chromium, tmp_path):
    """After a batch that looks too small the custodian's page says so, and how many were refused."""
    services.found_city(tmp_path, reported=0, reference=dn.Reference(profile=[450_000] * 4))
    part = services.panel().between(services.FIRST, services.FIRST + 4)
    small = part.following(part.readings // 1000, first_step=part.first_step)
    with services.running(tmp_path) as process:
        with process.http("ingest") as client:
            refused = client.post("/v1/readings", json={"readings": services.rows_of(small)})
            assert refused.json()["code"] == "unit"
        with room(chromium, process) as opened:
            opened.page.wait_for_selector("#health .warning")
            assert "look a thousand times too small" in opened.text("#health .warning")
            assert "1 batch refused" in opened.text("#health .warning")
            assert not opened.problems


def test_of_a_young_stream_nothing_is_said_to_have_stayed(chromium, tmp_path):
    """Where too little was reported to look for drift, the room says that nothing can be said yet."""
    services.found_city(tmp_path, reported=2)
    with services.running(tmp_path) as process, room(chromium, process) as opened:
        opened.page.wait_for_selector("#health .drift table")
        assert "not known yet" in opened.text(".drift p")
        assert "No alarm" not in opened.text("#health")
        assert "none" not in opened.text(".drift tbody")


def test_of_a_stream_that_stayed_it_is_said(chromium, tmp_path):
    """Where enough was reported and nothing has moved, the room says that there is no alarm."""
    # With so little noise that chance looks like no move, in a lifetime of tests.
    lasting(tmp_path, [500], epsilon="9")
    with services.running(tmp_path) as process, room(chromium, process) as opened:
        opened.page.wait_for_selector("#health .drift table")
        assert opened.text(".drift p").startswith(
            "No alarm: as far as released reports show, the pattern has not moved"
        )


def test_decisions_are_told_however_many_reports_there_were(chromium, tmp_path):
    """After hundreds of batches the ledger still shows the start and its spending; batches in a row are a line."""
    lasting(tmp_path, [1] * 300)
    with services.running(tmp_path) as process, room(chromium, process) as opened:
        opened.page.wait_for_selector("#ledger tbody tr")
        rows = opened.page.eval_on_selector_all("#ledger tbody tr", "all => all.map(r => r.innerText)")
        assert len(rows) == 4
        assert "300 batches" in rows[0]
        assert "was started: level strong" in rows[1]
        assert "1 for a shift of the usual cycle, 1 for any one reported cycle" in rows[1]
        with process.http("custodian") as client:
            told = client.get("/v1/custodian/told", params={"last": 1}).json()["lines"]
        # Of each of 75 cycles that were reported step by step the ledger also tells that its noise waits.
        assert [line[0] for line in told] == ["3", "4 to 378"]


def test_a_budget_that_counts_nothing_has_no_figure(chromium, tmp_path):
    """With a pattern plan the room shows no figure for a day: it says that none is protected. So do answers."""
    lasting(tmp_path, [4], level="pattern", mechanism="laplace", cycle_mechanism="auto", variation_bound=None)
    with services.running(tmp_path) as process, room(chromium, process) as opened:
        opened.page.wait_for_selector("#budgets .budget")
        shift, day = opened.page.eval_on_selector_all("#budgets .budget", "all => all.map(each => each.innerText)")
        assert "1 of" in shift
        assert "spent" in shift
        assert "No cycle is protected by plans of level pattern, so nothing is counted" in day
        assert "spent" not in day
        with process.http("custodian") as client:
            for route in ("budget", "status"):
                assert set(client.get(f"/v1/custodian/{route}").json()["uncounted"]) == {"strong"}


def test_the_check_is_drawn_and_said(chromium, served):
    """Heatmap, sizes and lags are drawn, the verdict is there in sentences, and each chart as a table."""
    with room(chromium, served[0]) as opened:
        page = opened.page
        page.click("#check-form button")
        page.wait_for_selector("#heat canvas", timeout=60_000)
        for chart in ("#heat", "#sizes", "#lags"):
            assert opened.inked(f"{chart} canvas") > 500, chart
        with served[0].http("custodian") as client:
            found = client.get("/v1/custodian/check").json()
        assert found["verdict"] in opened.text("#check .lede")
        assert all(said in opened.text("#check .prose") for said in found["sentences"])
        page.click("#check summary >> nth=0")
        assert page.locator("#check details[open] tbody tr").count() == len(found["lags"]["lag"])
        page.hover("#heat canvas", position={"x": 200, "y": 100})
        assert "correlation" in opened.text("#heat-readout")
        page.focus("#heat")
        assert opened.text("#heat-readout").startswith("cycles 0 and 1: correlation ")
        before = opened.text("#heat-readout")
        for key in ("ArrowDown", "Shift+ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
        value = found["heatmap"]["rows"][1][10]
        assert opened.text("#heat-readout") == f"cycles 1 and 10: correlation {value:.2f}" != before
        assert opened.problems == []


def test_a_stream_is_stopped_by_typing_its_name(chromium, tmp_path):
    """The button waits for the stream's name; once stopped, the room and the public page say so, and it stays."""
    stream = services.found_city(tmp_path)
    with services.running(tmp_path) as process, room(chromium, process) as opened:
        page = opened.page
        page.click(".stopping summary")
        page.fill(".stopping input", stream[:7])
        assert page.is_disabled(".stopping button")
        page.fill(".stopping input", stream[:8])
        page.click(".stopping button")
        opened.until("document.getElementById('health-said').textContent.includes('1 stopped')")
        with process.http() as client:
            end = client.get(f"/v1/streams/{stream}").json()["end"]
        assert f"stopped at {moment(services.GRID.time(end))}" in opened.text("#health")
        assert page.query_selector(".stopping") is None
        assert opened.problems == []
        with process.http() as client:
            assert client.get(f"/v1/streams/{stream}").json()["running"] is False
            assert "stopped" in client.get(f"/streams/{stream}").text


def test_the_explorer_moves_with_what_is_asked(chromium, fresh):
    """Every change is predicted anew by the service, and a plan that is worse than nothing is marked so."""
    with room(chromium, fresh) as opened:
        page = opened.page
        opened.until("document.getElementById('found-said').textContent.includes('domain')")
        opened.problems.clear()
        page.fill("#high", DOMAIN)
        page.fill("#history", "6")
        page.fill("#variation_bound", "100000")
        page.wait_for_selector(".bars .own")
        opened.until("!document.getElementById('found').hasAttribute('aria-busy')")
        before = opened.text(".bars .own .value")
        page.focus("[data-of='epsilon']")
        for _ in range(3):
            page.keyboard.press("PageDown")
        assert float(page.input_value("#epsilon")) < 1
        opened.until(f"document.querySelector('.bars .own .value').innerText !== {before!r}")
        page.fill("#epsilon", "0.01")
        page.wait_for_selector(".bars .own.worse")
        assert "worse than nothing" in opened.text(".bars .own .name").lower()
        assert "WORSE than nothing at all" in opened.text("#found-said")
        assert opened.text("#warnings").startswith("Warning: ")
        page.select_option("#level", "pattern")
        opened.until("document.querySelector('.bars').innerText.includes('eps_z = 0')")
        assert not page.locator("#cycle_epsilon").is_visible()
        with fresh.http("custodian") as client:
            asked = {
                "epsilon": "0.01",
                "level": "pattern",
                "history": 6,
                "domain": [0, int(DOMAIN)],
                "period": "1d",
            }
            found = client.post("/v1/custodian/plan", json=asked).json()
        names = page.eval_on_selector_all("#numbers tbody tr", "rows => rows.map(r => r.cells[0].textContent)")
        rows = [*found["mechanisms"], found["without_data"], found["unspent"], *found["split"]]
        assert names == [row["name"] for row in rows]
        page.fill("#households", "100000")
        opened.until("document.getElementById('explain-said').textContent.includes('another number of households')")
        assert page.is_disabled("#explain")
        page.fill("#households", "")
        page.click("#ask summary")
        page.select_option("#mechanism", "gaussian")
        opened.until("document.querySelectorAll('.bars').length === 0")
        assert page.is_disabled("#explain")
        assert "422" in " ".join(opened.problems)


def explored(opened, **fields):
    """Ask for a plan that can be found, with some fields else; wait for what is said of it."""
    page = opened.page
    opened.until("!document.querySelector('#ask fieldset').disabled")
    for name, value in {"high": DOMAIN, "history": "6", "variation_bound": "100000", **fields}.items():
        page.fill(f"#{name}", value)
    page.wait_for_selector(".bars .own")
    opened.until("!document.getElementById('found').hasAttribute('aria-busy')")


def test_an_epsilon_is_called_by_what_it_is_for(chromium, fresh):
    """Of counts, whose promise is for one cycle, epsilon and mechanism are not called those of the usual cycle."""
    with room(chromium, fresh) as opened:
        page = opened.page
        explored(opened)
        page.click("#ask summary")
        assert "ε for a shift of the usual cycle, over all reports" in opened.text("#ask")
        assert "costs up to the ε of one cycle that many times" in opened.text("#limits")
        page.select_option("#query", "share")
        page.fill("#above", "400000")
        opened.until("document.querySelector('.bars').innerText.includes('epsilon 1 for any one reported cycle')")
        shown = opened.text("#ask")
        assert "ε for any one reported cycle" in shown
        assert "Mechanism of a cycle" in shown
        assert "over all reports" not in shown
        assert "pattern" not in opened.text("label[for=mechanism]")
        assert page.get_attribute("[data-of=epsilon]", "aria-label") == "Slide ε for any one reported cycle"
        assert "a usual cycle, which is there in every cycle" in opened.text("#limits")
        page.select_option("#mechanism", "laplace")
        opened.until("document.querySelector('.bars .own .name').textContent.startsWith('laplace')")
        page.click("#to-sentences")
        assert "Not promised: " in opened.text("#plan-sentences")
        page.select_option("#query", "mean")
        assert "ε for a shift of the usual cycle, over all reports" in opened.text("#ask")


UNREADABLE = (
    *(("body_radius", "abc"), ("households", "many"), ("variation_bound", "1e5"), ("history", "0")),
    *(("history", ""), ("epsilon", "-1"), ("high", ""), ("delta", "half"), ("grace", "0.5")),
)
"""Fields, and what cannot be read in them."""


def test_what_cannot_be_read_is_marked_and_not_left_out(chromium, fresh):
    """A field that cannot be read is marked in words; nothing is asked, predicted or offered until it is mended."""
    with room(chromium, fresh) as opened:
        page = opened.page
        explored(opened, low="0")
        page.evaluate("document.querySelector('#ask details').open = true")
        for field, typed in UNREADABLE:
            before, opened.asked[:] = page.input_value(f"#{field}"), []
            page.fill(f"#{field}", typed)
            opened.until("document.querySelectorAll('.bars').length === 0")
            assert page.get_attribute(f"#{field}", "aria-invalid") == "true", field
            said = page.get_attribute(f"#{field}", "aria-describedby")
            assert len(opened.text(f"#{said}")) > 10, field
            assert "Correct the marked fields" in opened.text("#found-said"), field
            assert page.is_disabled("#explain"), field
            page.wait_for_timeout(400)
            assert not [url for url in opened.asked if url.endswith("/plan")], field
            page.fill(f"#{field}", before)
            page.wait_for_selector(".bars .own")
            assert page.get_attribute(f"#{field}", "aria-invalid") == "false", field
            assert not page.locator(f"#{said}").is_visible(), field


def test_a_history_that_the_panel_does_not_have_is_said(chromium, fresh):
    """More history than the panel has is predicted with a word beside the field, and cannot be started."""
    with room(chromium, fresh) as opened:
        page = opened.page
        explored(opened, history="41")
        opened.until("document.getElementById('explain-said').textContent.includes('The panel has 40 cycles')")
        assert "cannot be started on it" in opened.text("#history-said")
        assert page.is_disabled("#explain")
        page.fill("#history", "40")
        opened.until("!document.getElementById('explain').disabled")
        assert not page.locator("#history-said").is_visible()
        page.select_option("#period", "7d")
        opened.until("document.getElementById('history-said').textContent.includes('The panel has 5 cycles')")
        assert page.is_disabled("#explain")


def test_the_radius_has_a_slider_as_wide_as_the_domain(chromium, fresh):
    """The body's radius slides up to what fits into the domain; at the left end it is chosen for the asker."""
    with room(chromium, fresh) as opened:
        page = opened.page
        explored(opened)
        slider = page.locator("[data-of=body_radius]")
        assert (slider.input_value(), page.input_value("#body_radius")) == ("0", "")
        slider.press("End")
        assert page.input_value("#body_radius") == str(2 * int(DOMAIN))
        slider.press("PageDown")
        assert 1000 < int(page.input_value("#body_radius")) < 2 * int(DOMAIN)
        slider.press("Home")
        assert page.input_value("#body_radius") == ""
        assert slider.get_attribute("aria-valuetext") == "chosen for you"


def test_a_refused_plan_says_why(chromium, fresh):
    """What the service says against starting a plan is shown where it was asked, and there is nothing to type."""
    with room(chromium, fresh) as opened:
        explored(opened, epsilon="10")
        opened.page.click("#explain")
        opened.page.wait_for_selector("#explain-said.warning")
        assert "9" in opened.text("#explain-said")
        assert not opened.page.locator("#typed").is_visible()
        said = {"code": "acknowledge", "detail": "This verdict is of another period.", "remedy": "Look with 1d."}
        opened.page.route("**/explain", lambda route: route.fulfill(status=409, json=said))
        opened.page.fill("#epsilon", "1")
        opened.page.click("#explain")
        opened.until("document.getElementById('explain-said').textContent.includes('Look with 1d.')")
        assert "This verdict is of another period." in opened.text("#explain-said.warning")


def test_a_plan_is_started_by_typing_what_it_spends(chromium, fresh):
    """Nothing starts until what it spends is typed, and that it is worse than nothing is accepted; then its first
    reports arrive while readings are sent.
    """
    with room(chromium, fresh) as opened:
        page = opened.page
        page.fill("#high", DOMAIN)
        page.fill("#history", str(services.HISTORY))
        page.fill("#variation_bound", "100000")
        page.wait_for_selector(".bars .own")
        opened.until("!document.getElementById('found').hasAttribute('aria-busy')")
        opened.problems.clear()
        page.click("#explain")
        page.wait_for_selector("#confirming:not([hidden])")
        assert "untested" in opened.text("#digest")
        phrase, named = opened.text("#phrase"), opened.text("#named span")
        assert re.fullmatch(r"spend 1 for ever and 1 a cycle on [0-9a-f]{8}", phrase)
        with fresh.http("custodian") as client:
            asked = {"epsilon": "1", "cycle_epsilon": "1", "period": "1d", "domain": [0, int(DOMAIN)]}
            asked |= {"history": services.HISTORY, "variation_bound": 100_000}
            said = client.post("/v1/custodian/plan", json=asked).json()["sentences"]
        read = page.eval_on_selector_all("#promised li", "all => all.map(e => e.checkVisibility() && e.innerText)")
        assert read == said
        assert any(each.startswith("Not promised: ") for each in read)
        assert page.evaluate("document.activeElement.id") == "confirm-title"
        assert "worse than publishing nothing at all" in opened.text("#worse-said")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "accept-worse"
        assert not page.is_checked("#accept-worse")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "typed"
        page.keyboard.type(phrase)
        assert page.is_disabled("#start")
        page.check("#accept-worse")
        assert page.is_enabled("#start")
        page.fill("#typed", "")
        page.focus("#typed")
        page.keyboard.type(phrase[:-1])
        assert page.is_disabled("#start")
        page.keyboard.press("Enter")
        with fresh.http() as client:
            assert client.get("/v1/streams").json()["streams"] == []
        page.keyboard.type(phrase[-1])
        page.keyboard.press("Enter")
        page.wait_for_selector("#started-live[data-state=live]")
        assert page.evaluate("document.activeElement.id") == "started"
        opened.until("document.getElementById('budgets').textContent.includes('1 of 9 spent')")
        with fresh.http() as client:
            (stream,) = client.get("/v1/streams").json()["streams"]
        assert named == stream["stream"]
        for cycle in range(2):
            send(fresh, services.FIRST + 4 * cycle)
            opened.until(f"document.querySelectorAll('#first-reports tbody tr').length === {4 * cycle + 4}")
        rows = released(fresh, stream["stream"])
        cells = page.eval_on_selector_all("#first-reports tbody tr", "rows => rows.map(r => r.cells[2].innerText)")
        assert cells == [row["value"] for row in reversed(rows)]
        page.click("#first-reports a")
        page.wait_for_selector("#series canvas")
        opened.until("document.getElementById('shown').textContent.startsWith('8 reports')")
        assert opened.problems == []


def test_the_first_report_ever_draws_the_chart(chromium, fresh, tmp_path):
    """A page that was opened before anything was reported waits with nothing dead on it, then draws its chart."""
    stream = start(fresh)
    dead = ("[data-range]", "[data-move]", "#from", ".legend", "#rows", "#downloads")
    with Opened(chromium, fresh, f"/streams/{stream}", wait="#live[data-state=live]") as opened:
        assert opened.page.locator("#none").is_visible()
        assert not any(opened.page.locator(part).first.is_visible() for part in dead)
        assert "reported from" not in opened.text(".facts")
        assert moment(services.GRID.time(services.FIRST)) in opened.text("#none")
        send(fresh, services.FIRST)
        opened.page.wait_for_selector("#series canvas")
        opened.until("document.getElementById('shown').textContent.startsWith('4 reports')")
        assert not opened.page.locator("#none").is_visible()
        assert all(opened.page.locator(part).first.is_visible() for part in dead)
        opened.until("document.querySelector('.facts').innerText.includes('reported from')")
        assert opened.problems == []


# For everybody.


def test_the_keyboard_alone_is_enough(chromium, served):
    """With keys alone one skips to the content, works the chart and its table, and enters the custodian's room."""
    process, _ = served
    with visit(chromium, served) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.dataset.range || ''"))
            if reached[-1] == "series":
                break
        assert reached[-1] == "series"
        assert {"choose", "1", "7", "30", "365", "0", "from", "to"} <= set(reached)
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        page.keyboard.press("0")
        assert opened.shown() >= 30 * DAY
        page.keyboard.press("End")
        for _ in range(8):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector("#rows tbody tr")
    with Opened(chromium, process, "/custodian", wait="#come") as opened:
        page = opened.page
        for _ in range(9):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "token":
                break
        page.keyboard.type(services.shown(process.folder)["custodian"])
        page.keyboard.press("Enter")
        page.wait_for_selector("#room:not([hidden])")
        opened.until("document.activeElement.id === 'health-title'")


NAMED = {
    *("button", "link", "textbox", "combobox", "slider", "checkbox", "spinbutton"),
    *("image", "region", "table", "navigation"),
}
"""Roles that say nothing without a name."""


def nameless(page) -> list[str]:
    """What a screen reader would have no name for, by role."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    said = [
        (node["role"]["value"], node["name"]["value"]) for node in tree if not node["ignored"] and "name" in node
    ]
    assert len(said) > 20
    return [role for role, name in said if role in NAMED and not name.strip()]


@pytest.mark.parametrize("where", ["/", "stream", "/custodian", "room"])
def test_a_screen_reader_finds_its_way(chromium, served, where):
    """What can be used has a name; there are landmarks, one first heading, no level skipped, no id twice."""
    process, stream = served
    path = f"/streams/{stream}" if where == "stream" else where
    opened = room(chromium, process) if where == "room" else Opened(chromium, process, path)
    with opened:
        page = opened.page
        if where == "room":
            page.wait_for_selector(".bars")
            page.wait_for_selector("#ledger tbody")
        for each in page.query_selector_all("summary"):
            if each.is_visible():
                each.click()
        assert nameless(page) == []
        for landmark in ("header", "nav", "main", "footer"):
            assert page.locator(landmark).first.is_visible()
        levels = page.eval_on_selector_all(
            "h1, h2, h3, h4", "all => all.filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]))"
        )
        assert levels.count(1) == 1
        assert levels[0] == 1
        assert all(two <= one + 1 for one, two in itertools.pairwise(levels))
        ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
        assert len(ids) == len(set(ids))
        assert page.get_attribute("html", "lang") == "en"


def contrast(one, two) -> float:
    """How far apart two colours are, by WCAG."""

    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, bright = sorted((light(one), light(two)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_in_both_themes(theme):
    """Every colour of words is far enough from every ground it stands on (AA), marks and frames by three to one."""
    css = files("diurnal.show.web").joinpath("static", "service.css").read_text()
    part = re.search(rf':root\[data-theme="{theme}"\] \{{(.*?)\}}', css, re.S)[1]
    colour = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", part))
    for words in ("ink", "soft", "line", "mark", "bad", "own"):
        for ground in ("paper", "sheet", "fill"):
            assert contrast(colour[words], colour[ground]) >= 4.5, (words, ground)
    assert contrast(colour["sheet"], colour["own"]) >= 4.5
    assert contrast(colour["paper"], colour["ink"]) >= 4.5
    for mark in ("line", "bar", "own", "beside", "focus", "soft"):
        assert contrast(colour[mark], colour["sheet"]) >= 3, mark


def test_colours_can_be_chosen_and_are_kept(chromium, served):
    """Without a choice the system decides; a choice holds against it, is kept, and charts follow."""
    with visit(chromium, served, color_scheme="light") as opened:
        page = opened.page
        paper, pixels = (
            "getComputedStyle(document.body).backgroundColor",
            "document.querySelector('#series canvas').toDataURL()",
        )
        light = page.evaluate(paper), page.evaluate(pixels)
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(200)
        dark = page.evaluate(paper), page.evaluate(pixels)
        page.select_option("#theme", "light")
        page.wait_for_timeout(200)
        chosen = page.evaluate(paper), page.evaluate(pixels)
        assert dark[0] != light[0]
        assert dark[1] != light[1]
        assert chosen == light
        page.goto(f"{served[0].url}/")
        assert page.evaluate(paper) == light[0]
        assert page.input_value("#theme") == "light"
        assert opened.problems == []


def test_who_wants_no_motion_gets_none(chromium, served):
    """With reduced motion nothing moves by itself."""
    with visit(chromium, served, reduced_motion="reduce") as opened:
        assert opened.page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("where", ["/", "stream", "/custodian", "room"])
def test_a_phone_shows_every_page_without_scrolling_sideways(chromium, served, where):
    """At 390 pixels nothing sticks out, whatever is unfolded, and what is touched is large enough."""
    process, stream = served
    options = {"viewport": {"width": 390, "height": 800}, "has_touch": True}
    path = f"/streams/{stream}" if where == "stream" else where
    opened = room(chromium, process, **options) if where == "room" else Opened(chromium, process, path, **options)
    with opened:
        page = opened.page
        if where == "room":
            page.wait_for_selector(".bars")
            page.wait_for_selector("#ledger tbody")
            page.click("#check-form button")
            page.wait_for_selector("#heat canvas", timeout=60_000)
        page.wait_for_timeout(300)
        for each in page.query_selector_all("summary"):
            if each.is_visible():
                each.click()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
        sizes = page.eval_on_selector_all(
            "button, select, a.button, nav a",
            "all => all.filter(e => e.checkVisibility()).map(e => e.offsetHeight)",
        )
        assert min(sizes) >= 36
        assert opened.problems == []


def test_a_long_name_of_a_group_fits_on_a_phone(chromium, tmp_path):
    """A name of eighty letters makes the choice of series no wider than the screen."""
    homes, long = services.panel(), "the northern shore with all of its little islands and " + "many" * 8
    named = dn.Panel.from_array(
        homes.readings,
        households=list(homes.households),
        grid=homes.grid,
        groups={"side": [long if number % 2 else "plain" for number in range(services.HOMES)]},
    )
    dn.save_panel(named, tmp_path / "homes.parquet")
    curator = dn.Curator.open(
        tmp_path / "city.db", dn.Budget(pattern="9", cycle="9"), profiles=tmp_path / "profiles"
    )
    history = named.first(services.HISTORY)
    stream = curator.start(services.plan(groups="side"), history=history, acknowledge="untested", accept_worse=True)
    stream.report(named.between(services.FIRST, services.FIRST + 40))
    tokens.make(tmp_path / "tokens.json", name="custodian", role="custodian")
    size = {"viewport": {"width": 390, "height": 800}}
    with services.running(tmp_path) as process, visit(chromium, (process, stream.plan.hash), **size) as opened:
        assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= 390
        assert opened.page.locator("#choose").bounding_box()["width"] > 100


def test_the_explorer_begins_with_what_runs(chromium, served):
    """Where a stream runs, its plan's settings are asked for first; every mechanism there is can be chosen."""
    process, stream = served
    with process.http() as client:
        plan = client.get(f"/v1/streams/{stream}").json()["plan"]
    with room(chromium, process) as opened:
        page = opened.page
        page.wait_for_selector(".bars .own")
        for name in ("level", "epsilon", "variation_bound", "minimum_group", "history"):
            assert page.input_value(f"#{name}") == str(plan[name])
        offered = "options => options.map(each => each.value)"
        assert page.eval_on_selector_all("#mechanism option", offered) == list(get_args(MechanismName))
        assert page.eval_on_selector_all("#cycle_mechanism option", offered) == list(get_args(CycleMechanismName))
