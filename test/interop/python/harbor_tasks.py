"""Reads task folders by Harbor's own classes, lints them by its command and, if asked to, runs trials on them."""

import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

from contract import answer
from harbor.models.task.task import Task

PROGRAM = [sys.executable, str(Path(sys.executable).with_name("harbor"))]


def run(*arguments: str) -> str:
    here = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": here, "HARBOR_TELEMETRY": "off", "NO_COLOR": "1"}
    ran = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=500, env=environment)
    if ran.returncode not in (0, 1):
        raise RuntimeError(ran.stdout + ran.stderr)
    return ran.stdout


def read(folder: str) -> dict:
    task = Task(folder)
    return {
        "valid": Task.is_valid_dir(folder),
        "name": task.name,
        "instruction": task.instruction,
        "agent": task.config.agent.user,
        "verifier": str(task.config.verifier.environment_mode),
        "network": task.config.environment.network_mode.value,
    }


def trials(dataset: str, agent: str, jobs: Path) -> dict:
    """Runs an agent on all tasks of a folder. Returns the rewards by task."""
    run("run", "-p", dataset, "-a", agent, "-e", "local_docker:LocalDocker", "-o", str(jobs), "--job-name", agent, "-y", "-q")
    rewards = {}
    for file in sorted((jobs / agent).glob("*/result.json")):
        result = json.loads(file.read_text())
        verified = result.get("verifier_result") or {}
        rewards[result["task_name"]] = (verified.get("rewards") or {"reward": result.get("exception_info")})["reward"]
    return rewards


def main(request: dict) -> dict:
    folders = request["folders"]
    return {
        "tasks": [read(folder) for folder in folders],
        "findings": json.loads(run("lint", *folders, "--json")),
        "rewards": {
            agent: trials(request["dataset"], agent, Path(request["jobs"])) for agent in request["agents"]
        },
    }


answer(main)
