"""Trains the model of a program, such as a TypeScript agent, by TRL's GRPOTrainer.

`rollout_func=AgentRollouts(["node", "agent.ts"])` runs the program once for each completion. Its model calls go to a
capture server of Lyceum, and from there to the model that the trainer trains. The trainer gets the recorded tokens.
"""

import atexit
import json
import os
import secrets
import signal
import subprocess
import urllib.error
import urllib.request
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .model_endpoint import MODEL, ModelEndpoint
from .session import Session


def agent_rows(count: int, *, split: str | None = None, start: int = 0) -> list[dict[str, Any]]:
    """Returns the rows of a dataset, one for each task, with the task's text as the prompt."""
    session = Session()
    rows = []
    try:
        for index in range(start, start + count):
            data = session.reset(index=index, seed=index, split=split)
            prompt = [{"role": "user", "content": data["observation"]["text"]}]
            rows.append({"prompt": prompt, "index": index, "split": split})
    finally:
        session.close()
    return rows


def environment_reward(
    agent_answer: Sequence[str | None], index: Sequence[int], split: Sequence[str | None], **_: Any
) -> list[float | None]:
    """The reward of the environment for each answer, for `reward_funcs`. None if the program gave no answer."""
    session = Session()
    try:
        return [
            None if answer is None else _reward(session, answer, task, part)
            for answer, task, part in zip(agent_answer, index, split, strict=True)
        ]
    finally:
        session.close()


def _reward(session: Session, answer: str, index: int, split: str | None) -> float | None:
    session.reset(index=index, seed=index, split=split)
    data = session.step({"text": answer})
    if not data["done"]:
        raise ValueError("The episode takes more than one answer. Use trl_environment for it.")
    return data["reward"]


class AgentRollouts:
    """A `rollout_func` that runs a program for each completion.

    The program reads `{"messages": [...], "tools": []}` from its standard input and writes its answer to its standard
    output. OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY and LYCEUM_MODEL are its model.
    Reward functions get `agent_answer` (None if the program failed), `agent_error` and `agent_sequences`, the number
    of its conversations. TRL trains on one sequence of a completion: the one with the most sampled tokens.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        lyceum: Sequence[str] = ("npx", "lyceum"),
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 300.0,
        max_model_calls: int = 100,
        max_concurrent: int = 16,
    ) -> None:
        self._command = list(command)
        self._lyceum = list(lyceum)
        self._cwd = cwd
        self._env = dict(env or {})
        self._timeout_s = timeout_s
        self._max_model_calls = max_model_calls
        self._max_concurrent = max_concurrent
        self._endpoint: ModelEndpoint | None = None
        self._server: subprocess.Popen[str] | None = None
        self._key = secrets.token_urlsafe(24)
        self._url = ""

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Runs the program for each prompt. TRL calls it."""
        _check(trainer)
        endpoint = self._start()
        endpoint.open()
        with ThreadPoolExecutor(self._max_concurrent) as pool:
            runs = [pool.submit(self._run, prompt, trainer) for prompt in prompts]
            try:
                endpoint.answer_calls(trainer, lambda: not all(run.done() for run in runs))
            finally:
                for run in runs:
                    run.cancel()
        rows = [run.result() for run in runs]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def close(self) -> None:
        """Ends the capture server. The end of this process does so too."""
        atexit.unregister(self.close)
        if self._server is not None:
            with self._server:
                _kill(self._server)
        if self._endpoint is not None:
            self._endpoint.close()
        self._server = self._endpoint = None

    def _start(self) -> ModelEndpoint:
        if self._endpoint is not None:
            return self._endpoint
        endpoint = ModelEndpoint(max_batch=self._max_concurrent)
        options = ["tokenIds=true", "processedLogprobs=true", "maxRetries=0", "timeoutMs=3600000"]
        command = [*self._lyceum, "capture", "--model", f"{endpoint.url}#{MODEL}"]
        self._endpoint = endpoint
        self._server = subprocess.Popen(
            [*command, *(word for option in options for word in ("-M", option))],
            env={**os.environ, "LYCEUM_CAPTURE_ADMIN_KEY": self._key},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        atexit.register(self.close)
        for line in self._server.stdout or []:
            _, found, rest = line.partition(" answers at ")
            if found:
                self._url = rest.split("/v1", 1)[0]
                return endpoint
        self.close()
        raise RuntimeError(f"The capture server did not start: {' '.join(command)}")

    def _run(self, prompt: Any, trainer: Any) -> dict[str, Any]:
        sampling = {
            "temperature": trainer.temperature,
            "top_p": trainer.top_p,
            "top_k": trainer.top_k or None,
            "min_p": trainer.min_p,
            "max_tokens": trainer.max_completion_length,
        }
        opened = {"purpose": "train", "sampling": sampling, "max_model_calls": self._max_model_calls}
        session = self._admin("POST", "/sessions", opened)["session_id"]
        try:
            answer, error = self._answer(prompt, session)
            rollout = self._admin("GET", f"/sessions/{session}/rollout")
        finally:
            self._admin("DELETE", f"/sessions/{session}")
        sequences = [row for row in rollout["sequences"] if row["trainable"]]
        if not sequences:
            raise RuntimeError(f"The program made no model call to train on. {error or ''}".rstrip())
        if len(sequences) > 1:
            warnings.warn(
                f"A program had {len(sequences)} conversations. TRL trains on the longest one.",
                stacklevel=2,
            )
        longest = max(sequences, key=lambda row: row["n_trainable"])
        start = longest["prompt_len"]
        return {
            "prompt_ids": longest["input_ids"][:start],
            "completion_ids": longest["input_ids"][start:],
            "logprobs": longest["logprobs"][start:],
            "env_mask": longest["loss_mask"][start:],
            "agent_answer": answer,
            "agent_error": error,
            "agent_sequences": len(sequences),
        }

    def _answer(self, prompt: Any, session: str) -> tuple[str | None, str | None]:
        """Runs the program. Returns its answer, or its error."""
        access = {
            "OPENAI_BASE_URL": f"{self._url}/v1",
            "OPENAI_API_BASE": f"{self._url}/v1",
            "OPENAI_API_KEY": session,
            "ANTHROPIC_BASE_URL": self._url,
            "ANTHROPIC_API_KEY": session,
            "LYCEUM_MODEL": MODEL,
        }
        asked = json.dumps({"messages": _messages(prompt), "tools": []})
        with subprocess.Popen(
            self._command,
            cwd=self._cwd,
            env={**os.environ, **access, **self._env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(asked, timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                return None, f"It did not end within {self._timeout_s:g} seconds."
            finally:
                _kill(process)
        if process.returncode != 0:
            return None, f"It ended with code {process.returncode}: {errors[-2000:]}"
        return output.rstrip(), None

    def _admin(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self._key}", "content-type": "application/json"},
        )
        # The server is on this machine, so no proxy is asked.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from error


def _check(trainer: Any) -> None:
    if trainer.use_vllm or trainer.is_deepspeed_enabled or trainer.is_fsdp_enabled:
        raise ValueError(
            "AgentRollouts samples from the trainer's own model. Set use_vllm=False, without DeepSpeed and FSDP."
        )


def _messages(prompt: Any) -> list[dict[str, Any]]:
    """Returns a prompt as messages whose content is a list of parts, as Lyceum's own agent programs get them."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        if isinstance(message["content"], str)
        else message
        for message in messages
    ]


def _kill(process: subprocess.Popen[str]) -> None:
    """Kills a process and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
