"""What the system leaves the service: open files, and room on the disk."""

import contextlib
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import httpx
import pytest

import services
from diurnal.errors import InputError
from diurnal.show.web import resources
from diurnal.show.web.settings import Limits

FEW = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from diurnal.show.cli import main
main()
"""


def begun(city, tmp_path, soft, hard):
    script = tmp_path / "few.py"
    script.write_text(FEW.format(soft=soft, hard=hard))
    return services.running(city[0], script=script)


def test_descriptors_are_asked_for(city, tmp_path):
    """With few descriptors, of which there may be more, the service asks for as many as its limits need."""
    with begun(city, tmp_path, 256, 4096) as process:
        limits = pathlib.Path(f"/proc/{process.process.pid}/limits").read_text()
        (line,) = (each for each in limits.splitlines() if each.startswith("Max open files"))
        assert int(line.split()[3]) == Limits().connections + resources.SPARE
        assert "too few" not in process.log.read_text()


def test_with_few_descriptors_fewer_may_listen(city, tmp_path):
    """Where there may be no more than 1,024, as under systemd, fewer may listen, and a line says so."""
    with begun(city, tmp_path, 1024, 1024) as process:
        (line,) = services.lines_of(process, "too few open files: fewer may listen")
        assert (line["listeners"], line["wanted"]) == (1024 - resources.SPARE - 564, 1000)


def test_with_too_few_descriptors_it_does_not_begin(city, tmp_path):
    """Where nobody could listen, the service says what it needs, and ends with code 1."""
    script = tmp_path / "few.py"
    script.write_text(FEW.format(soft=400, hard=400))
    words = ["serve", "--store", str(city[0] / "city.db"), "--profiles", str(city[0] / "profiles"), "--port", "0"]
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "open files" in done.stderr
    assert "LimitNOFILE" in done.stderr
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(InputError):
        resources.fitted(Limits(at_once=10**9, listeners=1))
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= soft


def test_a_full_disk_is_not_ready(city, tmp_path):
    """On a file system without room /readyz says 503 and /healthz 200; with room again it is ready."""
    small = tmp_path / "small"
    small.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(small)], capture_output=True)
    if made.returncode:
        pytest.skip("no file system may be mounted here")
    try:
        folder = small / "city"
        shutil.copytree(city[0], folder)
        with services.running(folder) as process:
            with (small / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
                for _ in range(12 << 8):
                    filler.write(bytes(4096))
            full = answered(process, 503)
            assert (full.json()["code"], full.headers["retry-after"]) == ("full", "30")
            assert httpx.get(f"{process.url}/healthz").status_code == 200
            (small / "filler").unlink()
            assert answered(process, 200).json() == {"status": "ok"}
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)


def answered(process, status):
    """The first answer of /readyz with a status, within a few seconds; else the last."""
    for _ in range(50):
        found = httpx.get(f"{process.url}/readyz")
        if found.status_code == status:
            break
        time.sleep(0.1)
    return found
