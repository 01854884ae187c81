"""Pictures of the page and of the command line for README and docs, as a browser shows them.

Run it with `make pictures`. The town is made up; nothing in a picture is real data.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"

JOBS = """
diurnal town --homes 300 --days 240 --out town.csv.gz
diurnal town --homes 200 --days 60 --seed 2 --start 2023-07-01 --out other.csv.gz
diurnal import town.csv.gz --zone Australia/Sydney --out homes.parquet
diurnal import other.csv.gz --zone Australia/Sydney --out open.parquet
diurnal plan homes.parquet --epsilon 1 --history 180 --domain 0 8000 --open-data open.parquet --out plan.json
diurnal start plan.json --history homes.parquet --store city.db --acknowledge DIGEST
diurnal report homes.parquet --store city.db
diurnal export --store city.db --open-data open.parquet --out page.html
diurnal export --store city.db --open-data open.parquet --truth homes.parquet --out private.html
"""

VIEWS = {
    "page": ("page.html", 1440, 2030, "light"),
    "page-dark": ("page.html", 1440, 2030, "dark"),
    "page-phone": ("page.html", 390, 2600, "light"),
    "page-custodian": ("private.html", 1440, 4350, "light"),
}
"""By picture: the page, its width and height, and the colours."""

TERMINAL = """<!doctype html><style>
body {{ margin: 0; background: #16191d; }}
pre {{ margin: 0; padding: 18px 22px; color: #e8e6e1; font: 15px/1.32 "DejaVu Sans Mono", monospace; }}
{stylesheet}</style><pre>$ {command}\n{code}</pre>"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as player:
        folder = Path(name)
        _work(folder)
        chromium = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for picture, (page, width, height, scheme) in VIEWS.items():
            _shoot(chromium, folder / page, IMAGES / f"{picture}.png", width, height, scheme)
        words = "plan homes.parquet --epsilon 1 --history 180 --domain 0 8000 --open-data open.parquet"
        (folder / "plan.html").write_text(_terminal(folder, words.split(), lines=36))
        _shoot(chromium, folder / "plan.html", IMAGES / "plan.png", 820, None, "dark")
        chromium.close()


def _work(folder: Path) -> None:
    """Run the jobs, the digest of the verdict put where it belongs."""
    for job in JOBS.strip().splitlines():
        words = job.split()[1:]
        if "DIGEST" in words:
            checked = run(folder, ["check", "homes.parquet"])
            digest = next(line.split()[1] for line in checked.splitlines() if line.startswith("digest"))
            words[words.index("DIGEST")] = digest
        run(folder, words)


def run(folder: Path, words: list[str], **more: str) -> str:
    command = [sys.executable, "-c", "from diurnal.show.cli import main; main()", *words]
    env = {**os.environ, **more}
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=env).stdout


def _terminal(folder: Path, words: list[str], lines: int) -> str:
    """What a command prints on a terminal, as a page."""
    shown = run(folder, words, FORCE_COLOR="1", COLUMNS="80").splitlines()[:lines]
    console = Console(record=True, width=80, file=io.StringIO())
    console.print(Text.from_ansi("\n".join([*shown, "..."])))
    said = " ".join(words).replace(" --domain", " \\\n    --domain")
    template = TERMINAL.replace("$ {command}", f"$ diurnal {said}")
    return console.export_html(code_format=template)


def _shoot(chromium: Any, page: Path, picture: Path, width: int, height: int | None, scheme: str) -> None:
    size = {"width": width, "height": height or 600}
    view = chromium.new_page(viewport=size, color_scheme=scheme, device_scale_factor=0.75 if width > 1000 else 1)
    view.goto(page.as_uri())
    view.wait_for_timeout(300)
    view.screenshot(path=picture, full_page=height is None)
    view.close()
    print(picture.name, picture.stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
