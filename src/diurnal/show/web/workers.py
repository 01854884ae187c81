"""Workers: several processes that answer at one door, and one that looks after them."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess

from diurnal.errors import StoreError

EVERY = 0.5
"""How many seconds until a process that died is missed."""

TRIES, WITHIN = 5, 60.0
"""How many may die within so many seconds before it is given up."""


def supervise(work: Callable[[], None], count: int) -> None:
    """Keep so many processes at work until this one is told to stop; then stop them, and wait for them.

    Args:
        work: What each does, until it is told to stop.
        count: How many.

    Raises:
        StoreError: They die as soon as they begin.
    """
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    # Not forked: a child must not have its parent's threads and connections.
    context = multiprocessing.get_context("spawn")
    running: list[BaseProcess] = []
    deaths: list[float] = []
    while not stopping and len(deaths) < TRIES:
        alive = [each for each in running if each.is_alive()]
        now = time.monotonic()
        deaths = [each for each in deaths if now - each < WITHIN] + [now] * (len(running) - len(alive))
        running = alive
        while len(running) < count:
            running.append(context.Process(target=work))
            running[-1].start()
        time.sleep(EVERY)
    for each in running:
        each.terminate()
    for each in running:
        each.join()
    if not stopping:
        raise StoreError("workers-died", processes=TRIES)
