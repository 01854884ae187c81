"""The command line: `diurnal`, a verb for each thing that one does with a store of reports.

Exit codes: 0 done; 1 refused, and said why; 2 wrong usage; 130 interrupted. Whatever a verb does it does at once or
not at all. Verbs live beside what they are about: `readings`, `plans`, `streams`, `stores`, `serve`, `audits`,
`studies` (the work of `audits` is in `audit_work`); `verbs` has what all of them share, `screen` where their words
go, `settings` the file of defaults. The console script is `diurnal_command`, beside the package.
"""

from __future__ import annotations

import signal

from diurnal.show.cli import audits, demo, plans, readings, serve, stores, streams, studies
from diurnal.show.cli.verbs import app

for room in (demo, readings, plans, streams, stores, serve, audits, studies):
    room.add(app)


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="diurnal")
    finally:
        # What was asked for is done or refused by now: an interrupt has nothing left to stop.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


__all__ = ["app", "main"]
