"""An endpoint of OpenAI's chat protocol on this machine, answered by the model that TRL's GRPOTrainer trains."""

import copy
import json
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch
from trl.chat_template_utils import add_response_schema, parse_response
from trl.models import unwrap_model_for_generation

MODEL = "policy"
# A batch waits this long for a further request. The programs of a step often ask at the same time.
GATHER_S = 0.02


class ModelEndpoint:
    """The endpoint. Its requests wait until answer_calls answers them, in batches, in the thread of the trainer."""

    def __init__(self, *, max_batch: int = 16) -> None:
        self._max_batch = max_batch
        self._waiting: queue.Queue[tuple[dict[str, Any], Future]] = queue.Queue()
        self._known: dict[str, list[int]] = {}
        self._lock = threading.Lock()
        self._is_open = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to a chat request. Raises if no trainer answers requests."""
        future: Future = Future()
        with self._lock:
            if not self._is_open:
                raise RuntimeError("The trainer collects no rollouts now.")
            self._waiting.put((body, future))
        return future.result()

    def open(self) -> None:
        """Accepts requests, until answer_calls ends."""
        self._known.clear()
        self._is_open = True

    def answer_calls(self, trainer: Any, is_running: Callable[[], bool]) -> None:
        """Answers requests until is_running returns False. An error ends it, and all waiting requests."""
        calls: list[tuple[dict[str, Any], Future]] = []
        try:
            while is_running():
                calls = self._batch()
                if calls:
                    self._answer(calls, trainer)
        finally:
            with self._lock:
                self._is_open = False
                calls = [*calls, *self._drain()]
            for _, future in calls:
                if not future.done():
                    future.set_exception(RuntimeError("The trainer has stopped collecting rollouts."))

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()

    def _batch(self) -> list[tuple[dict[str, Any], Future]]:
        calls: list[tuple[dict[str, Any], Future]] = []
        wait_s = 0.1
        while len(calls) < self._max_batch:
            try:
                calls.append(self._waiting.get(timeout=wait_s))
            except queue.Empty:
                break
            wait_s = GATHER_S
        return calls

    def _drain(self) -> list[tuple[dict[str, Any], Future]]:
        return [self._waiting.get_nowait() for _ in range(self._waiting.qsize())]

    def _answer(self, calls: list[tuple[dict[str, Any], Future]], trainer: Any) -> None:
        prompts = [self._prompt(body, trainer) for body, _ in calls]
        limits = [body.get("max_tokens") or trainer.max_completion_length for body, _ in calls]
        sampled = _sample([ids for _, ids in prompts], max(limits), trainer)
        for place, (body, future) in enumerate(calls):
            text, prompt_ids = prompts[place]
            ids, logprobs = (values[: limits[place]] for values in sampled[place])
            self._known[text + _text(ids, trainer)] = prompt_ids + ids
            future.set_result(_completion(body, prompt_ids, ids, logprobs, trainer))

    def _prompt(self, body: dict[str, Any], trainer: Any) -> tuple[str, list[int]]:
        """Returns the rendered prompt and its ids. Ids of an earlier prompt and answer that it begins with stay."""
        messages = copy.deepcopy(body["messages"])
        for message in messages:
            for call in message.get("tool_calls") or []:
                call["function"]["arguments"] = json.loads(call["function"]["arguments"] or "{}")
        text = trainer.processing_class.apply_chat_template(
            messages,
            tools=body.get("tools") or None,
            add_generation_prompt=True,
            tokenize=False,
            chat_template=trainer.chat_template,
            **trainer.chat_template_kwargs,
        )
        begin = max((known for known in self._known if text.startswith(known)), key=len, default="")
        rest = _tokenizer(trainer).encode(text[len(begin) :], add_special_tokens=False)
        return text, self._known.get(begin, []) + rest


def _tokenizer(trainer: Any) -> Any:
    return getattr(trainer.processing_class, "tokenizer", trainer.processing_class)


def _text(ids: list[int], trainer: Any) -> str:
    return _tokenizer(trainer).decode(ids, clean_up_tokenization_spaces=False)


def _sample(
    prompts: list[list[int]], max_tokens: int, trainer: Any
) -> list[tuple[list[int], list[float]]]:
    """Samples with the trainer's settings. Returns ids and their log-probabilities under these settings."""
    width = max(len(ids) for ids in prompts)
    pad = _tokenizer(trainer).pad_token_id
    device = trainer.accelerator.device
    ids = torch.tensor([[pad] * (width - len(ids)) + ids for ids in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts], device=device)
    config = copy.deepcopy(trainer.generation_config)
    config.max_new_tokens = max_tokens
    with (
        unwrap_model_for_generation(
            trainer.model_wrapped,
            trainer.accelerator,
            generation_kwargs=trainer.generation_kwargs,
            gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
        ) as model,
        torch.no_grad(),
    ):
        output = model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=config,
            return_dict_in_generate=True,
            output_scores=True,
        )
    rows = output.sequences[:, width:]
    logprobs = torch.stack(
        [
            scores.float().log_softmax(-1).gather(-1, rows[:, place : place + 1])[:, 0]
            for place, scores in enumerate(output.scores)
        ],
        dim=1,
    )
    lengths = [_length(row, trainer.eos_token_ids) for row in rows.tolist()]
    return [
        (rows[row, :length].tolist(), logprobs[row, :length].tolist())
        for row, length in enumerate(lengths)
    ]


def _length(ids: list[int], ends: list[int]) -> int:
    """Returns the number of tokens up to the first end of a turn."""
    return next((place + 1 for place, token in enumerate(ids) if token in ends), len(ids))


def _completion(
    body: dict[str, Any],
    prompt_ids: list[int],
    ids: list[int],
    logprobs: list[float],
    trainer: Any,
) -> dict[str, Any]:
    tokenizer = _tokenizer(trainer)
    message = _message(body.get("tools"), prompt_ids, ids, trainer)
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    if ids[-1] not in trainer.eos_token_ids:
        finish = "length"
    sampled = [
        {"token": tokenizer.decode([token]), "logprob": min(logprob, 0.0)}
        for token, logprob in zip(ids, logprobs, strict=True)
    ]
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "prompt_token_ids": prompt_ids,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": finish,
                "logprobs": {"content": sampled},
                "token_ids": ids,
            }
        ],
        "usage": {
            "prompt_tokens": len(prompt_ids),
            "completion_tokens": len(ids),
            "total_tokens": len(prompt_ids) + len(ids),
        },
    }


def _message(
    tools: list[dict[str, Any]] | None, prompt_ids: list[int], ids: list[int], trainer: Any
) -> dict[str, Any]:
    """Returns the answer as a message. Tool calls need a chat template that TRL knows, or a response template."""
    tokenizer = _tokenizer(trainer)
    if not tools:
        return {"role": "assistant", "content": tokenizer.decode(ids, skip_special_tokens=True)}
    if not any(getattr(tokenizer, name, None) for name in ("response_template", "response_schema")):
        add_response_schema(trainer.processing_class)
    message = dict(parse_response(tokenizer, ids, prefix=prompt_ids, tools=tools))
    calls = []
    for place, call in enumerate(message.pop("tool_calls", None) or []):
        function = call.get("function", call)
        given = function.get("arguments") or {}
        text = given if isinstance(given, str) else json.dumps(given)
        called = {"name": function["name"], "arguments": text}
        calls.append({"id": f"call-{place}", "type": "function", "function": called})
    return {**message, "tool_calls": calls} if calls else message


def _handler(endpoint: ModelEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "trl"}
            self._send(200, {"object": "list", "data": [model]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            if body.get("stop"):
                self._send(400, {"error": {"message": "Stop sequences are not supported."}})
                return
            try:
                self._send(200, endpoint.ask(body))
            except Exception as error:
                self._send(500, {"error": {"message": str(error)}})

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler
