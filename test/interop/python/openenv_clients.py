"""Plays on an OpenEnv server by OpenEnv's own clients, validates it by OpenEnv's own program, and reads its tasks."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import requests
from contract import answer
from openenv import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient


def play(url: str, episodes: list[dict]) -> list[dict]:
    """Plays the episodes on one connection."""
    played = []
    with GenericEnvClient(base_url=url).sync() as client:
        for episode in episodes:
            first = client.reset(**episode["reset"])
            steps = [client.step(action) for action in episode["actions"]]
            played.append(
                {
                    "first": first.observation["text"],
                    "task": first.observation["task_id"],
                    "rewards": [step.reward for step in steps],
                    "dones": [step.done for step in steps],
                    "texts": [step.observation["text"] for step in steps],
                    "steps": client.state()["step_count"],
                }
            )
    return played


def call_tools(url: str, calls: list[dict]) -> dict:
    """Lists and calls tools by OpenEnv's client of MCP."""
    with MCPToolClient(base_url=url).sync() as client:
        client.reset(seed=0)
        names = [tool.name for tool in client.list_tools()]
        return {"names": names, "results": [str(client.call_tool(call["name"], **call["arguments"])) for call in calls]}


def validate(url: str) -> dict:
    """Runs `openenv validate --url` and returns its report."""
    program = Path(sys.executable).with_name("openenv")
    ran = subprocess.run(
        [sys.executable, str(program), "validate", "--url", url, "--json"], capture_output=True, text=True, timeout=600
    )
    if not ran.stdout.strip():
        raise RuntimeError(ran.stderr)
    report = json.loads(ran.stdout)
    return {"exit": ran.returncode, "passed": report["passed"], "criteria": report["criteria"]}


def tasks(url: str, name: str) -> dict:
    """Reads the Task API: half of it by requests, half by httpx."""

    def post(path: str, body: dict) -> dict:
        response = requests.post(f"{url}/{name}/{path}", json=body, timeout=30)
        response.raise_for_status()
        return response.json()

    with httpx.Client(base_url=url) as client:
        return {
            "environments": client.get("/list_environments").json(),
            "splits": client.get(f"/{name}/splits").json(),
            "range": client.post(f"/{name}/task_range", json={"split": "train", "start": 1, "stop": 4}).json(),
            "missing": client.post(f"/{name}/tasks", json={"split": "none"}).status_code,
            "task": post("task", {"split": "train", "index": 2}),
            "count": post("num_tasks", {"split": "train"}),
        }


def handle(request: dict) -> dict:
    url = request["url"]
    return {
        "played": {name: play(f"{url}/{name}", episodes) for name, episodes in request["episodes"].items()},
        "tools": call_tools(f"{url}/tools", request["calls"]),
        "validated": [validate(url), validate(f"{url}/{request['taskEnvironment']}")],
        "tasks": tasks(url, request["taskEnvironment"]),
    }


answer(handle)
