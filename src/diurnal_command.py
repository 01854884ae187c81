"""The command `diurnal`: an interrupt while it loads is told like every other.

It stands beside the package: whatever is inside loads the whole package first, which takes about a second.
"""

import os
import signal

INTERRUPTED = "Interrupted. What was printed is done; nothing is half done. Run it again to go on."
"""What is said of an interrupt, whenever it comes."""


def main() -> None:
    """Load the command line, and run it. Until a verb has begun, an interrupt ends the process at once."""
    # Whoever started this may have said that interrupts are to be ignored: then they are.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from diurnal.show.cli import main as run

    run()


def begun() -> None:
    """A verb has begun: from now on an interrupt is an exception, and the verb leaves things in order."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    # There is nothing to leave in order, and an exception could get lost in a module that is half loaded.
    try:
        os.write(2, f"{INTERRUPTED}\n".encode())
    finally:
        os._exit(130)
