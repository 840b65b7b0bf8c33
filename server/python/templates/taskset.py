"""The taskset of verifiers (verifiers.v1): the server plays the user of each conversation.

Install it by `pip install template_package[verifiers]`, in an environment without openenv.
"""

import asyncio
from collections.abc import Iterator

import verifiers.v1 as vf

from template_package.session import Session


class TemplateData(vf.TaskData):
    """A task of the server."""

    url: str | None = None
    split: str
    index: int


class TemplateConfig(vf.TasksetConfig):
    """The tasks to play."""

    url: str | None = None
    """The address of the server. LYCEUM_URL by default."""
    split: str = "train"
    count: int = 100
    """The number of tasks."""


class TemplateTask(vf.Task[TemplateData]):
    """A task without signals of its own: the server scores it."""


class TemplateTaskset(vf.Taskset[TemplateTask, TemplateConfig]):
    """The first tasks of a split."""

    def load(self) -> Iterator[TemplateTask]:
        for index in range(self.config.count):
            data = TemplateData(
                name=f"{self.config.split}#{index}",
                url=self.config.url,
                split=self.config.split,
                index=index,
            )
            yield TemplateTask(data, self.config.task)


class TemplateEnvConfig(vf.EnvConfig):
    """The agent that plays. It has no tools of its own, and runs on this machine."""

    player: vf.AgentConfig = vf.AgentConfig(
        harness={"id": "null"}, runtime=vf.SubprocessConfig()
    )


class TemplateEnv(vf.Env[TemplateEnvConfig]):
    """Sends each answer to the server and each observation to the model. The reward is the server's."""

    async def run(self, task, agents):
        data = task.data
        session = Session(data.url)
        total = 0.0
        try:
            result = await asyncio.to_thread(session.reset, split=data.split, index=data.index)
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn(result["observation"]["text"])
                while not segment.terminated:
                    action = {"text": segment.last_reply}
                    result = await asyncio.to_thread(session.step, action)
                    total += result["reward"] or 0.0
                    if result["done"]:
                        break
                    segment = await interaction.turn(result["observation"]["text"])
            interaction.trace.record_reward("environment", total)
        finally:
            session.close()


__all__ = ["TemplateEnv", "TemplateTaskset"]
