"""The environment for TRL's GRPOTrainer.

`environment_factory=TemplateEnvironment, reward_funcs=environment_reward`: TRL needs both. The reward function sends
the model's last message to the environment.
"""

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal  # noqa: F401

from .session import Session

MAX_CONCURRENT = 16


def task_rows(count: int, *, split: str | None = None, start: int = 0) -> list[dict[str, Any]]:
    """Returns the rows of a dataset, one for each task. The environment adds the task's text."""
    prompt = [{"role": "user", "content": ""}]
    split_column = {} if split is None else {"split": split}
    return [{"prompt": prompt, "index": start + row, **split_column} for row in range(count)]


def environment_reward(
    environments: Sequence[Any], completions: Sequence[list[dict[str, Any]]], **_: Any
) -> list[float | None]:
    """The sum of the rewards of each episode, for `reward_funcs`. None if there is none.

    If an episode has not ended and the last message calls no tool, that message is the last action. It is sent once,
    so that a second call returns the same rewards. Rows of other environments have the reward None.
    """
    with ThreadPoolExecutor(MAX_CONCURRENT) as pool:
        return list(pool.map(_reward, environments, completions))


def _reward(environment: Any, completion: list[dict[str, Any]]) -> float | None:
    return environment._finish(completion) if isinstance(environment, TemplateEnvironment) else None


class TemplateEnvironment:
    """An environment on a Lyceum server."""

    def __init__(self) -> None:
        self._session = Session()
        self._reward: float | None = 0.0
        self._done = True

    def reset(self, **row: Any) -> str:
        """Starts the task of a row: its index, its seed and its split. Returns the task's text."""
        self._reward = 0.0
        self._done = True
        if row.get("index") is None and row.get("seed") is None:
            raise ValueError("The row has no index and no seed. task_rows() returns the rows of tasks.")
        data = self._session.reset(
            index=row.get("index"), seed=row.get("seed"), split=row.get("split")
        )
        self._done = data["done"]
        return data["observation"]["text"]

    # The methods of tools.

    def _call(self, name: str, required: dict[str, Any], optional: dict[str, Any]) -> str:
        given = {key: value for key, value in optional.items() if value is not None}
        return self._step({"text": "", "tool_calls": [{"name": name, "arguments": required | given}]})

    def _step(self, action: dict[str, Any]) -> str:
        if self._done:
            raise ValueError("The episode has ended.")
        try:
            data = self._session.step(action)
        except ConnectionError:
            # The episode is lost, and the next reset connects again.
            self._done, self._reward = True, None
            raise
        self._done = data["done"]
        if "unscored" in (data.get("metadata") or {}):
            self._reward = None
        elif self._reward is not None:
            self._reward += data["reward"] or 0.0
        return data["observation"]["text"] or "Done."

    def _finish(self, completion: list[dict[str, Any]]) -> float | None:
        """Ends the episode by the last message. Returns the sum of the episode's rewards."""
        if not self._done:
            answer = _plain_answer(completion)
            try:
                if answer is not None:
                    self._step({"text": answer})
            except ConnectionError as error:
                warnings.warn(f"An episode has no reward. {error}", stacklevel=2)
            finally:
                self._done = True
        return self._reward


def _plain_answer(completion: list[dict[str, Any]]) -> str | None:
    """Returns the text of the last message without its thoughts. None if it calls a tool, or is a tool's result."""
    last = completion[-1]
    if last["role"] != "assistant" or last.get("tool_calls"):
        return None
    content = last.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part["text"] for part in content if part["type"] == "text")
    thought, end, answer = content.partition("</think>")
    is_thought = thought.lstrip().startswith("<think>")
    if end and (is_thought or "<think>" not in thought):
        return answer.lstrip("\n")
    return "" if is_thought else content
