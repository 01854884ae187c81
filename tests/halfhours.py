"""Rows of half hours, and panels made of them."""

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

import diurnal as dn

START = datetime(2012, 7, 1)
TIMES = [START + timedelta(minutes=30 * i) for i in range(48)]

ROWS = [(home, time, 0.001 * (100 * h + i)) for h, home in enumerate("ab") for i, time in enumerate(TIMES)]

EXPECTED = np.array([[i, 100 + i] for i in range(48)])


def frame(rows, **more):
    """Rows of (home, time, value) as a frame."""
    columns = {
        "household": pa.array([row[0] for row in rows], pa.string()),
        "time": pa.array([row[1] for row in rows]),
        "kwh": pa.array([row[2] for row in rows]),
    }
    return pa.table({**columns, **{name: pa.array(values) for name, values in more.items()}})


def half_hours(n, value=0.5, home="a", start=START, minutes=30):
    """So many rows of one home."""
    return [(home, start + timedelta(minutes=minutes * i), value) for i in range(n)]


def make(rows, *, minutes=30, zone="UTC", **options):
    """A panel of rows of (home, time, value)."""
    return dn.panel(dn.read(frame(rows), minutes=minutes), zone=zone, **options)


def written(tmp_path, text, name="list.csv"):
    """A small file."""
    path = tmp_path / name
    path.write_text(text)
    return path


def two_homes():
    """Rows of two homes over a day, as a frame."""
    columns = zip(*ROWS, strict=True)
    return pa.table(dict(zip(["household", "time", "kwh"], map(list, columns), strict=True)))


def are_two_homes(panel):
    """A panel has the readings of `two_homes`, and no row is lost."""
    assert panel.households == ("a", "b")
    np.testing.assert_array_equal(panel.readings, EXPECTED)
    assert panel.quality.rows == panel.quality.kept == 96
