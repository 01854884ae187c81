"""The registry of engines: an engine is loaded for its own frames and folders, and for nothing else."""

import subprocess
import sys
import types

import pytest

from diurnal.readings import engines
from diurnal.readings.source import engine_of

LOCAL = """
import sys
import numpy as np
import pyarrow as pa
import diurnal as dn
rows = pa.table({"household": ["17"] * 48, "time": [f"2024-07-01T{i // 2:02d}:{i % 2 * 30:02d}" for i in range(48)],
                 "wh": [250] * 48})
panel = dn.panel(dn.read(rows, minutes=30), zone="UTC")
dn.save_panel(panel, "homes.parquet")
assert dn.open_panel("homes.parquet").readings.sum() == 48 * 250
print([name for name in sys.modules if "spark" in name])
"""


def test_no_engine_is_loaded_for_what_is_read_here(tmp_path):
    """A frame that is read, a panel that is kept and one that is opened, all on this machine, load no engine."""
    told = subprocess.run([sys.executable, "-c", LOCAL], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "name", "engine"),
    [
        ("pyspark.sql.classic.dataframe", "DataFrame", "spark"),
        ("pyspark.sql.connect.dataframe", "DataFrame", "spark"),
        ("pyspark.sql.column", "Column", None),
        ("pyspark.pandas.frame", "DataFrame", None),
        ("pyspark.sqlite", "DataFrame", None),
        ("pandas", "DataFrame", None),
    ],
)
def test_a_frame_is_known_by_its_class(module, name, engine):
    """Spark's frames are its engine's, classic or connected; its columns and other libraries' frames are not."""
    frame = types.new_class(name, exec_body=lambda body: body.update(__module__=module))()
    assert engine_of(frame) is (None if engine is None else engines.named(engine))
