"""The load of `make soak`, for a few seconds."""

from benchmarks import soak


def test_under_load_nothing_is_lost_doubled_or_changed(tmp_path):
    """While a head-end sends, others read finished and newest pages, and one listens, all see the same rows."""
    seen = soak.soak(tmp_path, 6)
    assert seen.took
    assert seen.newest
    assert seen.ranges
    assert seen.told
    assert seen.memory
