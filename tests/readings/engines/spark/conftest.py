"""Towns imported twice: by the local engine, and by Spark."""

import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.study.town import Town
from lakes import rows_of, with_gaps


@pytest.fixture(scope="session")
def lake_of(spark, tmp_path_factory):
    """Imports rows twice, by the local engine and by Spark with its rows in another order; gives both panels."""

    def make(rows, *, parts=3, read=None, **options):
        folder = tmp_path_factory.mktemp("lake")
        pq.write_table(rows, folder / "rows.parquet")
        here = dn.panel(dn.read(folder / "rows.parquet", **(read or {})), **options)
        frame = spark.read.parquet(str(folder / "rows.parquet")).orderBy("value").repartition(parts)
        there = dn.panel(dn.read(frame, **(read or {})), **options, out=folder / "homes")
        return here, there

    return make


@pytest.fixture(scope="session")
def town(lake_of):
    """A town of 60 homes over 21 days with gaps and negative readings, here and in the lake."""
    panel = with_gaps(Town(homes=60, days=21).panel(), seed=1)
    return lake_of(rows_of(panel), read={"groups": ["suburb"], "unit": "Wh"}, zone="UTC", domain=(-10000, 10000))
