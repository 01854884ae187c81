"""Place: where a file may be written: where there is none, or in the place of a regular one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from diurnal.errors import InputError

KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
"""What a path may be besides a regular file."""


def check_place(path: Path) -> None:
    """Refuse to write over what is not a regular file.

    A file is written beside its place and moved there: a device or a link would be gone, for everybody who uses it.

    Raises:
        InputError: There is something else.
    """
    try:
        kind = stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return
    if kind != stat.S_IFREG:
        raise InputError("output-special-file", name=path.name, kind=KINDS.get(kind, "no regular file"))
