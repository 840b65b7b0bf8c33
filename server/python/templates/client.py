"""A typed client on OpenEnv's client. Install it by `pip install template-package[openenv]`."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from .models import TemplateAction, TemplateObservation, TemplateState
from .session import ENVIRONMENT, server_headers, server_url


class TemplateClient(EnvClient[TemplateAction, TemplateObservation, TemplateState]):
    """A session of the environment. `sync()` returns the client without await."""

    def __init__(self, url: str | None = None, *, token: str | None = None, **options: Any) -> None:
        options.setdefault("headers", server_headers(token))
        super().__init__(base_url=f"{server_url(url)}/{ENVIRONMENT}", **options)

    def _step_payload(self, action: TemplateAction) -> dict[str, Any]:
        return action.model_dump(exclude_none=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[TemplateObservation]:
        return StepResult(
            observation=TemplateObservation.model_validate(payload["observation"]),
            reward=payload.get("reward"),
            done=payload.get("done", False),
        )

    def _parse_state(self, payload: dict[str, Any]) -> TemplateState:
        return TemplateState.model_validate(payload)
