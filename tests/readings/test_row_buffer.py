"""Every row once: batches put together or refused, and the nameless file."""

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.row_buffer import Spill
from halfhours import START, frame, half_hours

PAIR = np.dtype([("bucket", "i4"), ("number", "i8")])


@given(batches=st.lists(st.lists(st.integers(0, 4), max_size=20), max_size=6))
def test_buckets_have_their_records_in_order(batches):
    """Every record comes back in its bucket, in the order in which it came; batches come back whole."""
    number = 0
    sent = []
    with Spill(None, PAIR, 5) as spill:
        for batch in batches:
            records = np.zeros(len(batch), dtype=PAIR)
            records["bucket"] = batch
            records["number"] = np.arange(number, number + len(batch))
            number += len(batch)
            sent += records.tolist()
            spill.add(records, records["bucket"].astype(np.int64))
        assert len(spill) == number
        for bucket in range(5):
            assert spill.bucket(bucket).tolist() == [pair for pair in sent if pair[0] == bucket]
        assert sorted(pair for batch in spill.batches() for pair in batch.tolist()) == sorted(sent)


def test_the_file_has_no_name(tmp_path):
    """Nothing can be seen in the folder while a spill is in use."""
    with Spill(tmp_path, PAIR) as spill:
        spill.add(np.zeros(1000, dtype=PAIR))
        assert os.listdir(tmp_path) == []
        assert len(spill.bucket(0)) == 1000


def test_a_batch_whose_ends_are_alike_is_sorted():
    """A batch that begins and ends in one bucket, with others between, is told apart."""
    with Spill(None, PAIR, 3) as spill:
        spill.add(np.array([(1, 0), (2, 1), (0, 2), (1, 3)], dtype=PAIR), np.array([1, 2, 0, 1]))
        assert spill.bucket(1).tolist() == [(1, 0), (1, 3)]
        assert spill.bucket(0).tolist() == [(0, 2)]


def test_short_writes_and_reads_go_on(monkeypatch):
    """Where the system takes or gives only a part at a time, all of it arrives all the same."""
    preadv, records = os.preadv, np.array([(i, i) for i in range(100)], dtype=PAIR)
    monkeypatch.setattr(os, "preadv", lambda file, views, offset: preadv(file, [views[0][:7]], offset))

    class Slow:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def write(self, view):
            return self.file.write(view[:5])

    with Spill(None, PAIR) as spill:
        spill._file = Slow(spill._file)
        spill.add(records)
        assert spill.bucket(0).tolist() == records.tolist()
        assert spill.record(42).tolist() == (42, 42)


@dataclass(frozen=True, kw_only=True)
class Given(dn.Format):
    """A format that reads what it was given."""

    name: ClassVar[str] = "given"
    batches: tuple = ()

    def read(self, part):
        yield from self.batches


def test_small_batches_are_put_together_with_their_lines():
    """A reader that yields a row at a time is as good as one that yields many: values, gaps, lines of errors."""

    class One(dn.Format):
        name = "one"
        values: tuple = ()

        def read(self, part):
            for i, value in enumerate(self.values):
                yield dn.Rows(meter="a", time=[str(START + timedelta(minutes=30 * i))], value=[value], line=10 + i)

    One.values = ("0.1", "", "0.3")
    panel = dn.panel(dn.read(frame(half_hours(1)), format=One(minutes=30)), zone="UTC")
    assert panel.readings[:, 0].tolist() == [100, 0, 300]
    One.values = ("0.1", "0.2", "x")
    with pytest.raises(ReadingsError, match="row 12: column value"):
        dn.panel(dn.read(frame(half_hours(1)), format=One(minutes=30)), zone="UTC")


def test_batches_of_uneven_columns_are_refused():
    """A batch whose columns have different lengths is refused; nothing slides from one household to another."""
    times = [str(START + timedelta(minutes=30 * i)) for i in range(3)]

    for batches in (
        (
            dn.Rows(meter="a", time=times, value=["1", "2"], line=1),
            dn.Rows(meter="b", time=times[:2], value=["3", "4", "5"], line=4),
        ),
        (dn.Rows(meter="a", time=times, value=["1"], line=1),),
        (dn.Rows(meter=["a", "b"], time=times, value=["1"] * 3, line=1),),
        (dn.Rows(meter="a", time=times, value=["1"] * 3, line=np.array([1, 2])),),
        (dn.Rows(meter="a", time=times, value=["1"] * 3, line=1, minutes=np.array([30])),),
    ):
        with pytest.raises(ReadingsError, match=r"Expected 3 entries, one per row"):
            dn.panel(dn.read(frame(half_hours(1)), format=Given(minutes=30, batches=batches)), zone="UTC")


def test_batches_of_mixed_types_show_nothing():
    """Entries of several types, numbers too large for Arrow and mixed offsets are errors that show no entry."""
    time = str(START)

    for batches in (
        (dn.Rows(meter="a", time=[time], value=[0.7, "0.2512345"], line=1),),
        (dn.Rows(meter="a", time=[time, time], value=[0.7, "0.2512345"], line=1),),
        (dn.Rows(meter="a", time=[time], value=[2**70], line=1),),
        (dn.Rows(meter=[1, "secret"], time=[time] * 2, value=[1, 2], line=1),),
        (
            dn.Rows(meter="a", time=[START], value=[1.0], line=1),
            dn.Rows(meter="a", time=[START.replace(tzinfo=ZoneInfo("UTC"))], value=[1.0], line=2),
        ),
        (
            dn.Rows(meter="a", time=[time], value=["1"], line=1),
            dn.Rows(meter="a", time=[f"{time}+10:00"], value=["1"], line=2),
        ),
    ):
        with pytest.raises(ReadingsError) as error:
            dn.panel(dn.read(frame(half_hours(1)), format=Given(minutes=30, batches=batches)), zone="UTC")
        assert "secret" not in str(error.value)
        assert "0.2512345" not in str(error.value)
