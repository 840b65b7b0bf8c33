"""The models of the environment's actions, observations and reset options."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

AgentId = Literal["agent"]
Split = Literal["train"]


class ToolCall(BaseModel):
    """A call of a tool."""

    model_config = ConfigDict(extra="forbid")

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str | None = None


class AgentAction(BaseModel):
    """The action of one of several agents."""

    model_config = ConfigDict(extra="forbid")

    text: str = ""
    tool_calls: list[ToolCall] | None = None


class TemplateAction(BaseModel):
    """An action: the text of the assistant and its tool calls, or the actions of several agents."""

    model_config = ConfigDict(extra="forbid")

    text: str = ""
    tool_calls: list[ToolCall] | None = None
    actions: dict[AgentId, AgentAction] | None = None
    step_id: str | None = Field(default=None, max_length=255)
    metadata: dict[str, Any] | None = None


class Reward(BaseModel):
    """The reward of an agent: a value with its components, or the reason why there is none."""

    model_config = ConfigDict(extra="allow")

    status: Literal["scored", "unscored"]
    value: float | None = None
    components: dict[str, float] = Field(default_factory=dict)
    reason: str | None = None


class AgentStep(BaseModel):
    """The result of a step for one agent."""

    model_config = ConfigDict(extra="allow")

    reward: Reward | None = None
    terminated: bool
    truncated: bool


class TemplateObservation(BaseModel):
    """An observation: the new text of a single acting agent, and the messages of all."""

    model_config = ConfigDict(extra="allow")

    text: str
    observations: dict[AgentId, dict[str, Any]]
    agents: dict[AgentId, AgentStep] = Field(default_factory=dict)
    correct: bool | None = None
    info: Any = None
    episode_id: str | None = None
    task_id: str | None = None
    seed: int | None = None
    split: str | None = None
    index: int | None = None


class TemplateState(BaseModel):
    """The state of a session."""

    model_config = ConfigDict(extra="allow")

    episode_id: str | None = None
    step_count: int = 0
    done: bool = False


class TemplateReset(BaseModel):
    """The options of a reset. Without them, the episode plays the first task with seed 0."""

    model_config = ConfigDict(extra="forbid")

    seed: int | None = Field(default=None, ge=0)
    split: Split | None = None
    index: int | None = Field(default=None, ge=0)
    episode_id: str | None = Field(default=None, max_length=255)
