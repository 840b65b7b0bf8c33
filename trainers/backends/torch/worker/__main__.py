"""Starts the worker: `python -m worker SETTINGS`, with the frames on file descriptor 3."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Redirects what libraries print, then serves calls until Lyceum closes the stream."""
    os.dup2(2, 1)
    # Ctrl-C in a terminal reaches every process of it. Lyceum decides what ends, and may still save.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from .service import Service, open_stream

    Service(open_stream(), sys.argv[1]).run()


main()
