"""The page as one file: it asks for nothing, opens offline, and works in a real browser."""

import csv
import re
import shutil
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.planning.prediction import short
from diurnal.show.page import custodian_page, public_page
from diurnal.study.town import Town
from pages import data_of, started

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("page")
HOSTILE = "</script><script>alert(1)</script>"


def test_the_page_asks_for_nothing():
    """There is no address on the page but in uPlot's own line, and its policy allows no request."""
    page = public_page(*started("slotwise")[:2])
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) == {"https://github.com/leeoniya/uPlot"}
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    assert not re.search(r"<(img|iframe|link|object|embed|audio|video)\b(?![^>]*data:)", page)


def test_names_are_never_taken_for_markup():
    """A group whose name is a script is shown as the text it is."""
    panel = support.town(n=40, groups={"area": [HOSTILE, 'a "quote" & \u2028'] * 20})
    curator = dn.Curator.in_memory(support.ROOMY)
    plan = support.plan_for(panel, groups="area")
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    stream.report(panel.after(4))
    for page in (public_page(curator, stream), custodian_page(curator, stream, truth=panel)):
        assert "<script>alert" not in page
        assert "\u2028" not in re.search('id="data">(.*?)</script>', page, re.S)[1]
        assert HOSTILE in data_of(page)["series"]["names"]
        assert page.count("</script>") == page.count("<script")


def test_importing_diurnal_does_not_import_the_page():
    """The page is imported when it is asked for."""
    script = "import sys, diurnal; print([m for m in sys.modules if 'show.page' in m])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


# In a real browser.


@pytest.fixture(scope="module")
def town():
    """A curator, a strong stream by suburb, the panel and its verdict; the clocks change while it reports."""
    panel = Town(homes=150, days=110).panel()
    plan = dn.Plan(
        groups="suburb",
        epsilon="1",
        domain=(0, 8000),
        history=70,
        grid=panel.grid,
        mechanism="basis",
        cycle_mechanism="basis",
    )
    curator, verdict = dn.Curator.in_memory(), dn.check(panel)
    stream = curator.start(plan, history=panel.first(70), acknowledge=verdict.digest, accept_worse=True)
    stream.report(panel.after(70))
    return curator, stream, panel, verdict


@pytest.fixture(scope="module")
def chromium():
    """A browser without a network."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


class Opened:
    """A page in a browser, with all that went wrong."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(offline=True, accept_downloads=True, **options)
        self.page, self.problems, self.asked = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("#series canvas, .empty")
        self.page.wait_for_timeout(300)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def range(self) -> float:
        """How many seconds the chart shows."""
        return self.page.evaluate("diurnal.state.to - diurnal.state.from")

    def inked(self, selector: str) -> int:
        """How many pixels of a canvas are drawn."""
        script = """e => { const d = e.getContext('2d').getImageData(0, 0, e.width, e.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }"""
        return self.page.eval_on_selector(selector, script)


@pytest.fixture(scope="module")
def public_file(town, tmp_path_factory):
    """The public page as a file."""
    path = tmp_path_factory.mktemp("page") / "public.html"
    path.write_text(public_page(*town[:2]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def custodian_file(town, tmp_path_factory):
    """The custodian's page as a file."""
    path = tmp_path_factory.mktemp("page") / "custodian.html"
    path.write_text(custodian_page(*town[:2], truth=town[2], verdict=town[3]), encoding="utf-8")
    return path


def test_the_page_opens_offline_and_draws(chromium, public_file):
    """From a file, without a network, nothing goes wrong, nothing else is asked for, and the charts are drawn."""
    with Opened(chromium, public_file) as opened:
        assert opened.problems == []
        assert opened.asked == [public_file.as_uri()]
        assert opened.inked("#series canvas") > 5000
        assert opened.inked("#overview canvas") > 500


def test_the_series_is_zoomed_by_button_key_and_mouse(chromium, public_file):
    """Range buttons, keys and dragging change what is shown; Reset and a double click show all again."""
    with Opened(chromium, public_file) as opened:
        page, day = opened.page, 86400
        assert opened.range() == 7 * day
        page.click("[data-range='1']")
        assert opened.range() == day
        assert page.get_attribute("[data-range='1']", "aria-pressed") == "true"
        page.click("[data-move='reset']")
        whole = opened.range()
        assert whole == 40 * day
        page.focus("#series")
        page.keyboard.press("+")
        assert opened.range() == whole / 2
        before = page.evaluate("diurnal.state.from")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("diurnal.state.from") < before
        page.keyboard.press("0")
        assert opened.range() == whole
        page.locator("#series").scroll_into_view_if_needed()
        box = page.locator("#series .u-over").bounding_box()
        page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=4)
        page.mouse.up()
        assert opened.range() == pytest.approx(whole / 4, rel=0.02)
        page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 60)
        assert opened.range() == whole
        assert opened.problems == []


def test_what_is_shown_is_said(chromium, public_file, town):
    """The chart has words beside it: which series, from when to when, and how large."""
    with Opened(chromium, public_file) as opened:
        opened.page.select_option("#choose", label="Mill")
        opened.page.wait_for_timeout(300)
        said = opened.page.inner_text("#shown")
        assert said.startswith("Mill: 336 reports from ")
        values = [float(row.value) for row in town[1].rows() if row.group == "Mill"][-336:]
        assert f"mean {short(float(np.mean(values)))}," in said


def test_the_download_is_the_release(chromium, public_file, town):
    """The CSV has every row, word for word as it was released."""
    with Opened(chromium, public_file) as opened:
        with opened.page.expect_download() as coming:
            opened.page.click("#download")
        with open(coming.value.path(), newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert rows == [{name: str(value) for name, value in row.to_json().items()} for row in town[1].rows()]
        assert len({row["time"][-6:] for row in rows}) == 2
        assert opened.problems == []


@pytest.mark.parametrize("which", ["public_file", "custodian_file"])
def test_a_phone_shows_the_page_without_scrolling_sideways(chromium, which, request):
    """At 390 pixels nothing sticks out, on either page."""
    with Opened(chromium, request.getfixturevalue(which), viewport={"width": 390, "height": 800}) as opened:
        for each in opened.page.query_selector_all("summary"):
            each.click()
        assert opened.page.evaluate("document.scrollingElement.scrollWidth") <= 390
        assert opened.problems == []


def test_the_dark_page_is_dark(chromium, public_file):
    """The scheme that the reader prefers decides, and charts follow when it changes."""
    with Opened(chromium, public_file, color_scheme="light") as opened:
        paper = "getComputedStyle(document.body).backgroundColor"
        pixels = "document.querySelector('#series canvas').toDataURL()"
        light = opened.page.evaluate(paper), opened.page.evaluate(pixels)
        opened.page.emulate_media(color_scheme="dark")
        opened.page.wait_for_timeout(300)
        dark = opened.page.evaluate(paper), opened.page.evaluate(pixels)
        assert light[0] != dark[0]
        assert light[1] != dark[1]
        assert opened.range() == 7 * 86400
        assert opened.problems == []


def test_without_scripts_the_last_day_is_there(chromium, public_file, town):
    """A reader without JavaScript has the last day's rows as a table."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(public_file.as_uri())
    last = town[1].rows()[-1]
    assert page.locator("noscript p").is_visible()
    page.get_by_text("The last day as a table").click()
    assert page.locator("details[open] tbody tr").count() == 5 * 48
    assert page.get_by_role("cell", name=last.value, exact=True).first.is_visible()
    context.close()


def test_the_custodians_charts_are_drawn(chromium, custodian_file):
    """Heatmap, histogram and lags are drawn, quickly, and the banner is in sight wherever one looks."""
    with Opened(chromium, custodian_file) as opened:
        assert opened.problems == []
        for chart in ("#heat", "#sizes", "#lags"):
            assert opened.inked(f"{chart} canvas") > 500, chart
        opened.page.evaluate("scrollTo(0, 3000)")
        assert opened.page.get_by_role("alert").bounding_box()["y"] == 0


def test_a_year_of_half_hours_is_a_small_page(silence):
    """A year of half hours of one group is below one and a half million bytes."""
    readings = np.random.default_rng(1).integers(0, 3000, size=(375 * 48, 16))
    panel = dn.Panel.from_array(readings)
    plan = dn.Plan(epsilon="1", domain=(0, 8000), history=10, level="pattern", mechanism="laplace")
    curator = dn.Curator.in_memory()
    stream = curator.start(plan, history=panel.first(10), acknowledge="untested", accept_worse=True)
    stream.report(panel.after(10))
    page = public_page(curator, stream)
    assert len(data_of(page)["series"]["values"][0].split()) == 365 * 48
    assert len(page.encode()) < 500_000
    assert Fraction(data_of(page)["series"]["values"][0].split()[0]) == Fraction(stream.rows()[0].value)
