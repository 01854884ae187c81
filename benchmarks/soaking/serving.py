"""Serving: the service of the command line with less patience: a soak sees slow clients refused.

Its processes import this file too, as all that are spawned do. Nobody else may: it changes what it imports.
"""

from __future__ import annotations

from benchmarks.soaking import PATIENCE
from diurnal.show.cli import main
from diurnal.show.web import server, settings

server.QUIET = server.STUCK = int(PATIENCE)
defaults = settings.Limits.__init__.__kwdefaults__
assert defaults is not None
defaults["patience"] = PATIENCE

if __name__ == "__main__":
    main()
