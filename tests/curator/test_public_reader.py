"""What is public of a store, read without keeping anybody waiting."""

import contextlib

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator.public_reader import Reader


@pytest.fixture
def city(tmp_path):
    """A store with a plan by groups, and a reader of it."""
    curator = dn.Curator.open(tmp_path / "city.db", support.ROOMY)
    panel = support.town(groups={"side": ["a"] * 15 + ["b"] * 25})
    stream = support.start_in(curator, panel, **support.SLOTWISE, groups="side")
    with contextlib.closing(Reader.open(tmp_path / "city.db")) as reader:
        yield panel, stream, reader


def test_a_reader_has_the_streams_rows(city):
    """What is read is what the stream itself says, step by step; of what was not published there is nothing."""
    panel, stream, reader = city
    assert reader.look().streams[0].last_step is None
    reported = stream.report(panel.between(16, 20))
    found = reader.look().streams[0]
    assert (found.first_step, found.last_step) == (16, 19)
    assert [row.group for row in reported[: found.width]] == list(found.names)
    assert reader.rows(found, range(16, 24)) == reader.rows(found, range(16, 20)) == reported
    assert reader.rows(found, range(17, 18)) == reported[found.width : 2 * found.width]
    assert reader.rows(found, range(20, 20)) == []


def test_what_is_settled_is_reported_or_never_will_be(city):
    """Steps are settled once they have rows, before a stream begins and after it ends; open ones are not."""
    panel, stream, reader = city
    stream.report(panel.between(16, 18))
    stream.report(panel.between(18, 19).columns(np.arange(20)))
    found = reader.look().streams[0]
    assert reader.settled(found, range(18))
    assert not reader.settled(found, range(16, 21))
    end = stream.stop()
    found = reader.look().streams[0]
    assert found.end == end
    assert reader.settled(found, range(end, end + 100))


def test_a_look_tells_what_was_decided_since_the_last(city):
    """Events come once, in their order, and a reader that is told their number knows whether there are new ones."""
    panel, stream, reader = city
    before = reader.look()
    assert [event.number for event in before.events] == list(range(1, before.number + 1))
    assert reader.number() == before.number
    stream.report(panel.between(16, 17))
    after = reader.look(before.number)
    assert reader.number() == after.number > before.number
    assert after.events[0].number == before.number + 1
    assert reader.events(before.number, 1) == list(after.events[:1])


def test_nothing_private_is_in_what_is_read(city):
    """A strong plan's groups come without their noisy profiles."""
    _, _, reader = city
    assert all(group.noisy_profile == () for group in reader.look().streams[0].groups)
