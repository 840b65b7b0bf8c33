"""Plays on an ORS server by the client of PyPI's `openreward`, and scores a group."""

import os

os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"

from contract import answer
from openreward import EnvironmentsAPI, Message, ScoreGroupUnsupported
from openreward.api.environments.types import TextBlock
from openreward.api.errors import ToolCallError


def texts(blocks: list) -> list[str]:
    return [block.text for block in blocks]


def play(environment, episode: dict) -> dict:
    """Plays one episode. Its task comes from the server by its index, or is named by split and index."""
    split, index = episode["split"], episode["index"]
    named = {"split": split, "index": index} if episode["named"] else {"task": environment.get_task(split, index)}
    outputs = []
    refused = []
    with environment.session(**named) as session:
        prompt = texts(session.get_prompt())
        messages = [[message.role, texts(message.blocks)] for message in session.get_messages()]
        tools = [tool.name for tool in session.list_tools()]
        terminal = session.terminal_tool()
        for action in episode["actions"]:
            if "call" in action:
                outputs.append(session.call_tool(action["call"], action["input"]))
            elif terminal is None:
                outputs.append(session.call_tool("answer", {"text": action["text"]}))
            else:
                outputs.append(session.call_terminal_tool(action["text"]))
        for call in ({"tool_name": "no_such_tool"}, {"tool_name": "answer", "input": {"text": "again"}}):
            try:
                session.call_tool(**call)
                refused.append(None)
            except ToolCallError as error:
                refused.append(error.reason)
    return {
        "prompt": prompt,
        "messages": messages,
        "tools": tools,
        "final": terminal is not None,
        "texts": [texts(output.blocks) for output in outputs],
        "rewards": [output.reward for output in outputs],
        "finished": [output.finished for output in outputs],
        "correct": [(output.metadata or {}).get("correct") for output in outputs],
        "refused": refused,
    }


def said(text: str) -> list[Message]:
    return [Message(role="assistant", blocks=[TextBlock(text=text)])]


def score(environment, group: dict) -> list[float]:
    with environment.session(split=group["split"], index=0) as session:
        assert session.supports_score_group()
        return [score.reward for score in session.score_group([said(text) for text in group["texts"]])]


def unsupported(environment) -> str:
    with environment.session(split="train", index=0) as session:
        try:
            session.score_group([said("1")])
        except ScoreGroupUnsupported:
            return "unsupported"
    return "scored"


def main(request: dict) -> dict:
    with EnvironmentsAPI(base_url=request["url"], api_key=request["token"]) as api:
        first = api.get("first")
        environments = {name: api.get(name, variant=name) for name in request["episodes"]}
        return {
            "first": [first.list_splits(), first.num_tasks("train"), len(first.get_task_range("train", 2, 5))],
            "played": {
                name: [play(environments[name], episode) for episode in episodes]
                for name, episodes in request["episodes"].items()
            },
            "scores": score(api.get("group", variant="group"), request["group"]),
            "unsupported": unsupported(first),
        }


answer(main)
