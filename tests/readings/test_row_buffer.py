"""The nameless file."""

import os

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diurnal.readings.row_buffer import Spill

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
