"""A parallel environment of PettingZoo. Actions and observations are texts."""

from typing import Any

from gymnasium.spaces import Text
from pettingzoo import ParallelEnv

from .session import Session

AGENTS = ["agent"]


class AnyText(Text):
    """A space of all texts. Samples have letters and digits only."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class TemplateParallelEnv(ParallelEnv):
    """A game of several agents on a Lyceum server.

    Every agent without an end has an observation. `info["acts"]` is true for those that act next; the
    actions of others are ignored, and their text is empty.
    """

    metadata = {"name": "environment-id", "render_modes": []}

    def __init__(self, url: str | None = None, *, token: str | None = None) -> None:
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.render_mode = None
        self._acting: list[str] = []
        self._session = Session(url, token=token)
        self._action_spaces = {agent: AnyText(max_length=200) for agent in AGENTS}
        self._observation_spaces = {agent: AnyText(max_length=1_000_000) for agent in AGENTS}

    def action_space(self, agent: str) -> AnyText:
        return self._action_spaces[agent]

    def observation_space(self, agent: str) -> AnyText:
        return self._observation_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """Starts an episode. `options` can have the split and the index of the task."""
        chosen = {key: value for key, value in (options or {}).items() if key in ("split", "index")}
        data = self._session.reset(seed=seed, **chosen)
        self.agents = list(AGENTS)
        return self._observe(self.agents, data)

    def step(self, actions: dict[str, str]) -> tuple[dict, dict, dict, dict, dict]:
        """Takes the actions of the agents that act now. A missing action is an empty text."""
        chosen = {agent: {"text": str(actions.get(agent, ""))} for agent in self._acting}
        data = self._session.step({"text": "", "actions": chosen})
        live, results = self.agents, data["observation"]["agents"]
        rewards = {agent: _reward(results.get(agent, {})) for agent in live}
        truncated = {agent: results.get(agent, {}).get("truncated", False) for agent in live}
        terminated = {
            agent: results.get(agent, {}).get("terminated", False)
            or (data["done"] and not truncated[agent])
            for agent in live
        }
        self.agents = [agent for agent in live if not (terminated[agent] or truncated[agent])]
        observations, infos = self._observe(live, data)
        return observations, rewards, terminated, truncated, infos

    def close(self) -> None:
        self._session.close()

    def _observe(
        self, agents: list[str], data: dict[str, Any]
    ) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        seen = data["observation"]["observations"]
        self._acting = list(seen)
        infos = {agent: {"acts": agent in seen, "info": seen.get(agent, {}).get("info")} for agent in agents}
        return {agent: _text(seen.get(agent, {"messages": []})) for agent in agents}, infos


def _text(observation: dict[str, Any]) -> str:
    parts = [part for message in observation["messages"] for part in message["content"]]
    return "\n\n".join(part["text"] for part in parts if part["type"] == "text")


def _reward(result: dict[str, Any]) -> float:
    reward = result.get("reward") or {}
    return float(reward.get("value") or 0.0)
