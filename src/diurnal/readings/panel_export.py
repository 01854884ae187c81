"""Panel export: a panel in a format that others read. What we open again ourselves is a `panel_file`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from diurnal.errors import ReadingsError
from diurnal.place import check_place
from diurnal.readings.formats import Format
from diurnal.readings.importing import format_named
from diurnal.readings.panel import Panel


def write(panel: Panel, path: str | Path, *, format: str | Format = "long", **options: Any) -> None:  # noqa: A002
    """Write a panel in a format that others read; a gap is a blank cell. It is the homes' private data.

    Args:
        panel: What to write.
        path: A file (gzip if it ends with .gz), or for umass a folder.
        format: As in `read`.
        **options: As in `read`.
    """
    kind = format if isinstance(format, Format) else format_named(format, options)
    target = Path(path).absolute()
    if not target.parent.is_dir() or (target.is_dir() and kind.name != "umass"):
        raise ReadingsError("write-not-writable", name=target.name)
    if not target.is_dir() or target.is_symlink():
        check_place(target)
    # Beside it first: a writer that refuses half-way leaves nothing. The folder, and so what is in it, is private.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        written = Path(folder) / target.name
        kind.write(panel, written)
        files = {file: target / file.name for file in written.iterdir()} if written.is_dir() else {written: target}
        if written.is_dir():
            target.mkdir(mode=0o700, exist_ok=True)
        for place in files.values():
            check_place(place)
        for file, place in files.items():
            file.chmod(0o600)
            file.replace(place)
