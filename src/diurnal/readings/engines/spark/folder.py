"""Folder: a folder wherever Spark can write, by way of Spark's own file systems."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from diurnal.errors import ReadingsError


class Folder:
    """A folder by its path: on this machine, or hdfs://, s3a://, abfss://..."""

    def __init__(self, session: Any, path: str) -> None:
        self._jvm = session._jvm
        self._gateway = session._sc._gateway
        self._settings = session._jsc.hadoopConfiguration()
        _check(path)
        here = "://" not in path and str(self._settings.get("fs.defaultFS", "file:///")).startswith("file:")
        # Java has a working folder of its own, that of the moment when it began; and it wants no %20.
        self.path = f"file://{Path(path).resolve()}" if here else path.rstrip("/")
        self._files = self._at("").getFileSystem(self._settings)
        self._files.setWriteChecksum(False)

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{name}" if name else self.path)

    def names(self) -> list[str] | None:
        """What is in it; None if there is no such folder."""
        here = self._at("")
        if not self._files.exists(here):
            return None
        if not self._files.getFileStatus(here).isDirectory():
            raise NotADirectoryError
        return [status.getPath().getName() for status in self._files.listStatus(here)]

    def make(self) -> None:
        """Make it, for its owner alone."""
        permission = self._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
        self._files.mkdirs(self._at(""), permission)
        self._files.setPermission(self._at(""), permission)

    def read(self, name: str) -> str | None:
        """The text of a file in it; None if there is none."""
        if not self._files.exists(self._at(name)):
            return None
        stream = self._files.open(self._at(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file in it, whole or not at all, in the place of an older one."""
        beside = self._at(f".{name}.partial")
        stream = self._files.create(beside, True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        over = self._gateway.new_array(rename, 1)
        over[0] = rename.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(beside.toUri(), self._settings)
        context.rename(beside, self._at(name), over)

    def delete(self, name: str) -> None:
        """Delete what is in it under a name, if it is there."""
        self._files.delete(self._at(name), True)


def _check(path: str) -> None:
    """Refuse a path that would be another one for Spark.

    Raises:
        ReadingsError: It has signs of a pattern, or has been through `Path`, which takes one of two slashes away.
    """
    if re.search(r"[\[\]{}*?\\\n]", path):
        raise ReadingsError("spark-folder-name")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)", path):
        raise ReadingsError("spark-address")
