"""A session of an environment server: one WebSocket, one episode at a time."""

import json
import os
from typing import Any

from websockets.sync.client import connect

DEFAULT_URL = "http://127.0.0.1:8000"
ENVIRONMENT = "environment-id"


class ServerError(RuntimeError):
    """An error that the server reports. `code` is its code, such as CAPACITY_REACHED."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def server_url(url: str | None = None) -> str:
    """Returns the address of the server: the argument, else LYCEUM_URL, else this machine."""
    return (url or os.environ.get("LYCEUM_URL") or DEFAULT_URL).rstrip("/")


def server_headers(token: str | None = None) -> dict[str, str]:
    """Returns the headers of a request: the token of the argument, else LYCEUM_SERVER_TOKEN."""
    token = token or os.environ.get("LYCEUM_SERVER_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token else {}


class Session:
    """A session. It connects at the first reset, and connects again if the connection is lost."""

    def __init__(
        self, url: str | None = None, *, token: str | None = None, timeout_s: float = 600.0
    ) -> None:
        self._url = f"{server_url(url)}/{ENVIRONMENT}/ws".replace("http", "ws", 1)
        self._headers = server_headers(token)
        self._timeout_s = timeout_s
        self._socket: Any = None

    def reset(self, **options: Any) -> dict[str, Any]:
        """Starts an episode. The options are seed, split, index and episode_id."""
        data = {key: value for key, value in options.items() if value is not None}
        if self._socket is not None:
            try:
                return self._ask({"type": "reset", "data": data})
            except OSError:
                pass
        self._socket = connect(self._url, additional_headers=self._headers, max_size=None)
        return self._ask({"type": "reset", "data": data})

    def step(self, action: dict[str, Any]) -> dict[str, Any]:
        """Takes an action: `text`, and `tool_calls` or `actions`."""
        if self._socket is None:
            raise RuntimeError("Call reset before step.")
        return self._ask({"type": "step", "data": action})

    def close(self) -> None:
        """Ends the session. A second call has no effect."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            self._socket.send(json.dumps(message))
            answer = json.loads(self._socket.recv(timeout=self._timeout_s))
        except Exception as error:
            # A late answer must not become the answer of the next message.
            self.close()
            raise ConnectionError(f"The connection to {self._url} is lost: {error}") from error
        data = answer["data"]
        if answer["type"] == "error":
            raise ServerError(data["message"], data.get("code", ""))
        return data
