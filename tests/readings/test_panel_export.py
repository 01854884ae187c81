"""A panel in a format that others read: whole or not at all, and for its owner alone."""

import numpy as np
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from support import refuses


@pytest.mark.parametrize("unit", ["net", "consumption"])
def test_a_writer_that_refuses_leaves_the_old_file(tmp_path, unit):
    """Writing in a format replaces a file only when all of it is written, and for its owner only."""
    path = tmp_path / "market.csv"
    path.write_text("the old file")
    panel = dn.Panel.from_array(np.where(np.arange(48)[:, None] == 7, -1, 1) * np.ones((48, 1), dtype=int))
    if unit == "consumption":
        with pytest.raises(ReadingsError):
            dn.write(panel, path, format="nem12")
        assert path.read_text() == "the old file"
    else:
        dn.write(panel, path, format="nem12", channel="net")
        assert path.read_text().startswith("100,NEM12")
        assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["market.csv"]
    with refuses(ReadingsError, "write-not-writable"):
        dn.write(panel, tmp_path / "nowhere" / "x.csv")
