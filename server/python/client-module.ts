/** Returns the module with the typed client on OpenEnv's client. */
export function clientModule({ prefix, module }: { readonly prefix: string; readonly module: string }): string {
  return `"""A typed client on OpenEnv's client. Install it by \`pip install ${module}[openenv]\`."""

from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from .models import ${prefix}Action, ${prefix}Observation, ${prefix}State
from .session import ENVIRONMENT, server_headers, server_url


class ${prefix}Client(EnvClient[${prefix}Action, ${prefix}Observation, ${prefix}State]):
    """A session of the environment. \`sync()\` returns the client without await."""

    def __init__(self, url: str | None = None, *, token: str | None = None, **options: Any) -> None:
        options.setdefault("headers", server_headers(token))
        super().__init__(base_url=f"{server_url(url)}/{ENVIRONMENT}", **options)

    def _step_payload(self, action: ${prefix}Action) -> dict[str, Any]:
        return action.model_dump(exclude_none=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[${prefix}Observation]:
        return StepResult(
            observation=${prefix}Observation.model_validate(payload["observation"]),
            reward=payload.get("reward"),
            done=payload.get("done", False),
        )

    def _parse_state(self, payload: dict[str, Any]) -> ${prefix}State:
        return ${prefix}State.model_validate(payload)
`;
}
