"""Serves an environment that returns its text, on OpenEnv's own classes: `openenv_echo.py PORT`."""

import sys

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app


class Say(Action):
    text: str


class Heard(Observation):
    text: str = ""


class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        return Heard(text="Say something.")

    def step(self, action, **_):
        self._state.step_count += 1
        return Heard(text=action.text, reward=0.0)

    @property
    def state(self):
        return self._state


if __name__ == "__main__":
    app = create_app(Echo, Say, Heard, env_name="echo", max_concurrent_envs=4096)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
