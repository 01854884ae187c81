"""What is new in the store, and who waits for it."""

import asyncio
import itertools

from diurnal.show.web import change_feed
from diurnal.show.web.change_feed import ChangeFeed


def test_a_crowd_hears_of_a_release_some_at_a_time():
    """Of a hundred who wait, ten are woken at a time, others' work comes between, and all hear of it once."""

    async def all_of_it():
        found, heard = [], []
        waiting = ChangeFeed(None, None)

        async def one():
            await waiting.news(20)
            heard.append(1)

        listening = [asyncio.create_task(one()) for _ in range(100)]
        await asyncio.sleep(0)
        waking = asyncio.create_task(waiting._wake_in_turns())
        while not waking.done():
            await asyncio.sleep(0)
            found.append(len(heard))
        await asyncio.gather(*listening)
        return found, len(heard), waiting._waiting

    found, heard, left = asyncio.run(all_of_it())
    assert set(found) >= set(range(10, 100, 10))
    assert max(after - before for before, after in itertools.pairwise(found)) <= change_feed.TOLD_AT_ONCE
    assert (heard, left) == (100, {})
