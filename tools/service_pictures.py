"""Pictures of the service in a browser, for README and docs: every page, on a desk and on a phone, light and dark.

Run it with `make pictures`. The town is made up; nothing in a picture is real data.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import sync_playwright

from pictures import IMAGES, run

JOBS = """
town --homes 300 --days 240 --out town.csv.gz
town --homes 200 --days 60 --seed 2 --start 2023-07-01 --out other.csv.gz
import town.csv.gz --zone Australia/Sydney --group-column suburb --out homes.parquet
import other.csv.gz --zone Australia/Sydney --out open.parquet
plan homes.parquet --epsilon 1 --history 150 --groups suburb --domain 0 8000 --open-data open.parquet --out p.json
start p.json --history homes.parquet --store city.db --pattern-cap 3 --strong-cap 3 --acknowledge untested
report homes.parquet --store city.db
"""

TOKEN = "token make --role custodian --name anna --file tokens.json --json"
SERVE = "serve --store city.db --panel homes.parquet --open-data open.parquet --tokens tokens.json --port 0 --json"

WIDTHS = (1440, 390)
SCHEMES = ("light", "dark")
COLOURS = (256, 128, 80, 48)
"""How many colours a picture keeps: the first of these with which it is small enough."""
MOST = 140_000
"""The largest file."""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as player:
        folder = Path(name)
        for job in JOBS.strip().splitlines():
            run(folder, job.split())
        made = run(folder, TOKEN.split())
        chromium = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with served(folder) as url:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    shoot(chromium, url, json.loads(made)["token"], width, scheme)
        chromium.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The service over the store in a folder, and its address."""
    command = [sys.executable, "-c", "from diurnal.show.cli import main; main()", *SERVE.split()]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["address"]
        httpx.Client(transport=httpx.HTTPTransport(retries=8)).get(f"{url}/readyz").raise_for_status()
        yield url
    finally:
        process.terminate()
        process.wait()


def shoot(chromium: Any, url: str, token: str, width: int, scheme: str) -> None:
    """Every page at one width, in one scheme."""
    scale = 0.75 if width > 1000 else 1
    view = chromium.new_page(
        viewport={"width": width, "height": 900}, color_scheme=scheme, device_scale_factor=scale
    )

    def kept(name: str, first: str = "header.top", last: str = "footer") -> None:
        keep(view, IMAGES / f"service-{name}-{width}-{scheme}.png", first, last)

    pages: dict[str, Callable[[], Any]] = {
        "streams": lambda: view.goto(url),
        "stream": lambda: (view.click(".streams h3 a"), view.wait_for_selector("#live[data-state=live]")),
        "login": lambda: view.goto(f"{url}/custodian"),
    }
    for name, go in pages.items():
        go()
        view.wait_for_timeout(800)
        # On a phone the sentences of the whole promise are a picture of their own length.
        kept(name, last=".use" if name == "stream" and width < 1000 else "footer")
    view.fill("#token", token)
    view.keyboard.press("Enter")
    view.wait_for_selector(".bars .own")
    view.click("#check-form button")
    view.wait_for_selector("#heat canvas", timeout=120_000)
    view.click("#explain")
    view.wait_for_selector("#confirming:not([hidden])", timeout=60_000)
    view.wait_for_timeout(800)
    kept("custodian", last="section:has(#check-title)")
    kept("plan", first="section:has(#explorer-title)")
    view.close()


def keep(view: Any, path: Path, first: str, last: str) -> None:
    """A part of a page, from one element to another, as a small file."""
    size = view.viewport_size
    # As tall as the page, so that nothing sticks where a window would end.
    view.set_viewport_size({**size, "height": max(size["height"], view.evaluate("document.body.scrollHeight"))})
    view.evaluate("scrollTo(0, 0)")
    view.wait_for_timeout(300)
    top, bottom = view.locator(first).bounding_box(), view.locator(last).bounding_box()
    height = bottom["y"] + bottom["height"] - top["y"]
    view.screenshot(path=path, clip={"x": 0, "y": top["y"], "width": size["width"], "height": height})
    view.set_viewport_size(size)
    with Image.open(path) as picture:
        whole = picture.convert("RGB")
    for colours in COLOURS:
        whole.quantize(colours, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size < MOST:
            break
    print(path.name, path.stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
