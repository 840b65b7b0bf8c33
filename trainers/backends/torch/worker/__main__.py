"""Starts the worker: `python -m worker SETTINGS`, for one process or as each process of torchrun."""

from __future__ import annotations

import json
import os
import signal
import sys


def main() -> None:
    """Redirects what libraries print, then serves calls until Lyceum closes the stream."""
    os.dup2(2, 1)
    # Ctrl-C in a terminal reaches every process of it. Lyceum decides what ends, and may still save.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from .distributed import Ranks
    from .service import Service

    ranks = Ranks()
    # The other ranks, which may be on other machines, get the settings of the first one.
    settings = json.loads(sys.argv[1]) if ranks.rank == 0 else ranks.receive()[0]
    if ranks.rank == 0:
        ranks.send(settings, {})
    Service(settings, ranks).run()


main()
