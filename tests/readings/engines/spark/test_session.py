"""Where Spark finds a Java, and what it says if there is none."""

import pytest

from diurnal.errors import InputError
from diurnal.readings.engines.spark import session
from support import refuses


def test_java_is_found_or_named(monkeypatch, tmp_path):
    """JAVA_HOME comes first, then the wheel, then the PATH; without any, the error says what to install."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with refuses(InputError, "java-home-wrong"):
        session.find_java()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o700)
    assert session.find_java() == tmp_path
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    assert session.find_java() == tmp_path
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.1\"' >&2\n")
    with pytest.raises(InputError, match="Java 17"):
        session.find_java()
