import type { ToolSpec } from "../../contract/message.ts";
import { identifiers } from "./python-names.ts";
import { docText, wrapped } from "./python-text.ts";
import { toolMethod } from "./tool-method.ts";

/** The names that a tool's method must not have: other methods, and types in hints of the class. */
const reserved = [
  ...["reset", "get_reward", "answer"],
  ...["str", "int", "float", "bool", "list", "dict", "Any", "Literal", "self"],
];

/** Returns the module with the class for TRL's `environment_factory`. */
export function trlModule(options: {
  readonly prefix: string;
  readonly description: string;
  readonly tools: readonly ToolSpec[];
}): string {
  const { prefix, description, tools } = options;
  const names = identifiers(
    tools.map(({ name }) => name),
    reserved,
  );
  const methods = tools.map((tool, place) => `\n${toolMethod(tool, names[place]!)}`).join("");
  return `"""The environment for TRL's GRPOTrainer: \`environment_factory=${prefix}Environment\`."""

from typing import Any, Literal  # noqa: F401

from .session import Session


def task_rows(count: int, *, split: str | None = None, start: int = 0) -> list[dict[str, Any]]:
    """Returns the rows of a dataset, one for each task. The environment adds the task's text."""
    prompt = [{"role": "user", "content": ""}]
    split_column = {} if split is None else {"split": split}
    return [{"prompt": prompt, "index": start + row, **split_column} for row in range(count)]


class ${prefix}Environment:
    """${wrapped(docText(description) || "An environment on a Lyceum server.", { indent: "    " })}"""

    def __init__(self) -> None:
        self._session = Session()
        self._reward = 0.0
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

    def get_reward(self) -> float:
        """Returns the sum of the episode's rewards."""
        return self._reward

    def answer(self, text: str) -> str:
        """Answers by a text. Use it for the final answer, and for a turn without another tool.

        Args:
            text: The complete answer.
        """
        return self._step({"text": text})
${methods}
    def _call(self, name: str, required: dict[str, Any], optional: dict[str, Any]) -> str:
        given = {key: value for key, value in optional.items() if value is not None}
        return self._step({"text": "", "tool_calls": [{"name": name, "arguments": required | given}]})

    def _step(self, action: dict[str, Any]) -> str:
        if self._done:
            raise ValueError("The episode has ended.")
        data = self._session.step(action)
        self._done = data["done"]
        self._reward += data["reward"] or 0.0
        return data["observation"]["text"] or "Done."
`;
}
