"""Serves a small environment written on OpenEnv's own classes: `openenv_server.py game|code|tools PORT`."""

import random
import subprocess
import sys

import uvicorn
from fastmcp import FastMCP
from openenv.core.env_server import Action, Environment, Observation, State, create_app
from openenv.core.env_server.mcp_environment import MCPEnvironment
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from pydantic import Field


class Guess(Action):
    guess: int = Field(..., description="A whole number from 1 to 10")


class Hint(Observation):
    text: str = ""


class GuessingGame(Environment):
    """Guess a number from 1 to 10 in four guesses. The reward is 1 for a first right guess, and 0.25 less for each more."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()
        self._secret = 0

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        self._secret = random.Random(seed).randint(1, 10)
        return Hint(text="Guess a number from 1 to 10.")

    def step(self, action, **_):
        self._state.step_count += 1
        if action.guess == self._secret:
            return Hint(text="Right.", done=True, reward=1 - 0.25 * (self._state.step_count - 1))
        hint = "higher" if action.guess < self._secret else "lower"
        return Hint(text=f"The number is {hint}.", done=self._state.step_count == 4, reward=0.0)

    @property
    def state(self):
        return self._state


class Program(Action):
    code: str = Field(..., description="A Python program")


class Output(Observation):
    task: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None


class CodeRunner(Environment):
    """Write a program whose output is the wanted one. Two tries."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()
        self._number = 0

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        self._number = 2 + (seed or 0) % 5
        return Output(task=f"Write a Python program that prints {self._number} squared.")

    def step(self, action, **_):
        self._state.step_count += 1
        ran = subprocess.run([sys.executable, "-I", "-c", action.code], capture_output=True, text=True, timeout=20)
        right = ran.stdout.strip() == str(self._number**2)
        return Output(
            stdout=ran.stdout,
            stderr=ran.stderr.strip().splitlines()[-1] if ran.stderr else "",
            exit_code=ran.returncode,
            done=right or self._state.step_count == 2,
            reward=1.0 if right else 0.0,
        )

    @property
    def state(self):
        return self._state


class Calculator(MCPEnvironment):
    """Add numbers by the tool `add`. The first sum of 42 ends the episode with a reward of 1."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        server = FastMCP("calculator")

        @server.tool()
        def add(a: int, b: int) -> int:
            """Adds two whole numbers."""
            return a + b

        super().__init__(server)
        self._state = State()

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        return Hint(text="Make 42 by the tool.")

    def _step_impl(self, action, **_):
        return Hint(text="Call the tool.")

    async def step_async(self, action, timeout_s=None, **rest):
        observation = await super().step_async(action, timeout_s=timeout_s, **rest)
        self._state.step_count += 1
        right = "42" in str(getattr(observation, "result", ""))
        return observation.model_copy(update={"done": right, "reward": 1.0 if right else 0.0})

    @property
    def state(self):
        return self._state


KINDS = {
    "game": (GuessingGame, Guess, Hint),
    "code": (CodeRunner, Program, Output),
    "tools": (Calculator, CallToolAction, CallToolObservation),
}

if __name__ == "__main__":
    kind, port = sys.argv[1], int(sys.argv[2])
    environment, action, observation = KINDS[kind]
    app = create_app(environment, action, observation, env_name=f"python-{kind}", max_concurrent_envs=16)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
