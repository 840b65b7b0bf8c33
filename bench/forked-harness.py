"""Checks code as the HumanEval harness does: a manager and a forked process for each check, tests inside.

Reads one JSON object: {"program", "checks", "workers"}. Prints checks a second.
"""
import json
import multiprocessing
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def run(program, passed):
    try:
        exec(program, {})
        passed.append(True)
    except BaseException:
        passed.append(False)


def check(program):
    manager = multiprocessing.Manager()
    passed = manager.list()
    process = multiprocessing.Process(target=run, args=(program, passed))
    process.start()
    process.join(timeout=10)
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
