"""Verdicts of PyPI's math-verify.

Request: {"pairs": [{"text", "golds"}], "workers"}. Response: for each pair whether math-verify, as its own README uses
it, finds the text equal to any of the golds.
"""

import logging
from multiprocessing import Pool

from contract import answer
from math_verify import parse, verify

# Its own limit of five seconds would make verdicts depend on how busy the machine is.
SECONDS = 60


def verdict(pair):
    # It reports what it cannot parse on its log.
    logging.disable()
    given = parse(pair["text"], parsing_timeout=SECONDS)
    golds = (parse(f"${gold}$", parsing_timeout=SECONDS) for gold in pair["golds"])
    return any(verify(gold, given, timeout_seconds=SECONDS) for gold in golds)


def handle(request):
    with Pool(request["workers"]) as pool:
        return pool.map(verdict, request["pairs"], chunksize=20)


if __name__ == "__main__":
    answer(handle)
