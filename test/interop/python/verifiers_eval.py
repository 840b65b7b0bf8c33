"""Runs `vf-eval` of verifiers on an exported taskset, against a chat endpoint. Returns the reward of each task."""

import json
import os
import sys
from pathlib import Path

from contract import answer


def handle(request: dict) -> list[dict]:
    os.environ["LYCEUM_KEY"] = request["key"]
    folder = Path(request["folder"])
    config = folder / "eval.toml"
    config.write_text(
        f"""model = "scripted"
num_rollouts = 1
push = false
output_dir = "{folder / "out"}"
[env.taskset]
id = "lyceum_letters_taskset"
url = "{request["url"]}"
count = {request["count"]}
[client]
base_url = "{request["model"]}"
api_key_var = "LYCEUM_KEY"
"""
    )
    from verifiers.v1.cli.eval.main import main

    sys.argv = ["vf-eval", "@", str(config), "--no-rich"]
    try:
        main()
    except SystemExit as ended:
        if ended.code not in (None, 0):
            raise
    results = []
    for file in (folder / "out").rglob("traces.jsonl"):
        for line in file.read_text().splitlines():
            record = json.loads(line)
            [trace] = record["traces"]
            results.append(
                {"index": record["task"]["data"]["index"], "ok": record["ok"], "rewards": trace.get("rewards")}
            )
    return results


answer(handle)
