"""Checks code as the HumanEval harness does: a manager and a forked process for each check, tests inside, in a folder
of its own, with a timer and with output thrown away.

Reads one JSON object: {"program", "checks", "workers"}. Prints checks a second.
"""
import contextlib
import io
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

SECONDS = 3.0


def stop(number, frame):
    raise TimeoutError


def run(program, passed):
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        output = io.StringIO()
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                signal.signal(signal.SIGALRM, stop)
                try:
                    exec(program, {})
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            passed.append(True)
        except BaseException:
            passed.append(False)
        os.chdir(before)


def check(program):
    with multiprocessing.Manager() as manager:
        passed = manager.list()
        process = multiprocessing.Process(target=run, args=(program, passed))
        process.start()
        process.join(timeout=SECONDS + 1)
        if process.is_alive():
            process.kill()
        return list(passed) == [True]


def main():
    job = json.load(sys.stdin)
    with ThreadPoolExecutor(max_workers=job["workers"]) as pool:
        list(pool.map(check, [job["program"]] * 4))
        start = time.monotonic()
        results = list(pool.map(check, [job["program"]] * job["checks"]))
        seconds = time.monotonic() - start
    assert all(results), "the harness failed a right solution"
    print(len(results) / seconds)


main()
