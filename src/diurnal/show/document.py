"""A document: a page of headings, texts, tables and pictures, as Markdown and as one HTML file.

Both are written from the same blocks. The HTML file has its pictures in it and asks for nothing from anywhere.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from diurnal.errors import InputError
from diurnal.show.drawing import style
from diurnal.show.files import write_whole
from diurnal.show.html import render

STYLE = """
:root{color-scheme:light}
body{font:1rem/1.5 "DejaVu Sans",Verdana,sans-serif;color:#1d2733;background:#fff;max-width:70rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.6rem;line-height:1.25}h2{font-size:1.2rem;margin-top:2.2rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:.8rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem .7rem .3rem 0;border-bottom:1px solid #d5dae0}
td:first-child{min-width:8.5rem}th{border-bottom:2px solid #8793a0}.n{text-align:right}td.n{white-space:nowrap}
p,li{overflow-wrap:anywhere}
figure{margin:1.4rem 0;overflow-x:auto}img{max-width:100%;height:auto}figcaption{font-size:.85rem;color:#55606c}
@media screen and (max-width:40rem){img{max-width:none;width:32rem}}
@media print{html{font-size:10px}body{max-width:none;margin:0;padding:0}h2{margin-top:1.2rem}
figure,tr{break-inside:avoid}figure{margin:.6rem 0}img{max-width:70%}}
"""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading."""

    text: str
    """Its words."""
    level: int = 2
    """1 is the page's own."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph."""

    text: str
    """Its words."""


@dataclass(frozen=True, kw_only=True)
class Items:
    """A list."""

    texts: Sequence[str]
    """Its items."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table."""

    head: Sequence[str]
    """What the columns are."""
    rows: Sequence[Sequence[str]]
    """The cells."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure."""

    name: str
    """Which one."""
    caption: str
    """What it shows."""


NUMBER = re.compile(r"-?[\d.,]+(e-?\d+)?( ± \S+)?|under \S+")
"""A number, with or without how sure it is."""

Block = Heading | Text | Items | Table | Picture


def ready(folder: Path) -> None:
    """See to it that a page can be drawn and written, before long work is done for it. It leaves nothing behind.

    Args:
        folder: Where a page is to be written.

    Raises:
        InputError: There is no matplotlib, or no such folder can be made or written into.
    """
    style()
    for name in (".", "figures"):
        place = folder / name
        # What is there already, of it or above it, decides.
        there = next(each for each in (place, *place.absolute().parents) if each.exists())
        if not there.is_dir():
            raise InputError("output-is-file", name=there.name)
        if not os.access(there, os.W_OK | os.X_OK):
            raise InputError("output-folder", name=there.name or there)


def write(
    folder: Path,
    name: str,
    page: Sequence[Block],
    pictures: Mapping[str, bytes],
    numbers: Mapping[str, Any],
    *,
    private: bool,
) -> list[Path]:
    """Write a page, its pictures and its numbers into a folder, and say which files these are.

    Args:
        folder: Where to; made if it is not there.
        name: What the page's two files are called.
        page: What is on it; the first heading is its title.
        pictures: SVG, by name.
        numbers: Everything as plain data.
        private: Whether it shows the truth: then its owner alone may read it, and decides who else may.
    """
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    content: dict[Path, str | bytes] = {
        folder / "figures" / f"{each}.svg": drawn for each, drawn in pictures.items()
    }
    title = next(block.text for block in page if isinstance(block, Heading))
    content[folder / f"{name}.md"] = markdown(page)
    content[folder / f"{name}.html"] = html(page, pictures, title=title)
    content[folder / "numbers.json"] = f"{json.dumps(numbers, indent=1)}\n"
    for path, words in content.items():
        write_whole(path, words, private=private)
    return list(content)


def markdown(page: Iterable[Block]) -> str:
    """The page as Markdown, its figures beside it in `figures/`."""
    return "\n\n".join(map(_markdown, page)) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Text):
        return _marked(block.text)
    if isinstance(block, Items):
        return "\n".join(f"- {_marked(each)}" for each in block.texts)
    if isinstance(block, Picture):
        return f"![{_marked(block.caption)}](figures/{block.name}.svg)\n\n*{_marked(block.caption)}*"
    lines = [block.head, ["---"] * len(block.head), *block.rows]
    return "\n".join(f"| {' | '.join(map(_marked, line))} |" for line in lines)


def _marked(text: str) -> str:
    """Text in which no bar ends a cell and no star begins anything."""
    return text.replace("|", "\\|").replace("*", "\\*")


def html(page: Iterable[Block], pictures: Mapping[str, bytes], *, title: str) -> str:
    """The page as one HTML file with its figures in it."""
    blocks = [_plain(block, pictures) for block in page]
    return render("document/document.html", title=title, style=Markup(STYLE), blocks=blocks)


def _plain(block: Block, pictures: Mapping[str, bytes]) -> dict[str, Any]:
    """A block as a template sees it."""
    if isinstance(block, Picture):
        source = base64.b64encode(pictures[block.name]).decode()
        return {"kind": "picture", "caption": block.caption, "source": source}
    if isinstance(block, Table):
        numbers = [_numbers(column) for column in zip(*block.rows, strict=True)]
        return {"kind": "table", "head": block.head, "rows": block.rows, "numbers": numbers}
    return {"kind": type(block).__name__.lower(), **vars(block)}


def _numbers(column: Sequence[str]) -> bool:
    """Whether most of a column's cells are numbers."""
    return 2 * sum(NUMBER.fullmatch(cell) is not None for cell in column) > len(column)
