"""Answers the calls of one Lyceum process."""

from __future__ import annotations

import json
import os
import platform
import queue
import sys
import threading
import traceback
from typing import Any

import numpy
import peft
import torch
import transformers

from . import passes, sampling, state
from .frames import Arrays, Stream, WorkerError
from .models import Model, ModelStore, Settings, Snapshot

Answer = tuple[dict[str, Any], Arrays]


def open_stream() -> Stream:
    """Opens the socket that Lyceum passes as file descriptor 3."""
    return Stream(os.fdopen(3, "rb"), os.fdopen(os.dup(3), "wb"))


class Service:
    """Runs calls one after another. Between them it samples, so that a long call of `sample` delays nothing."""

    def __init__(self, stream: Stream, settings: str) -> None:
        self._stream = stream
        self._queue: queue.Queue[tuple[dict[str, Any], dict[str, numpy.ndarray]]] = queue.Queue()
        self._options = json.loads(settings)
        self._models: dict[int, Model] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._closed: set[int] = set()
        self._shared: dict[int, sampling.Batch] = {}
        # The batches of calls that share none. Only the first one runs.
        self._own: list[sampling.Batch] = []
        self._calls: dict[int, sampling.Call] = {}
        self._last_id = 0

    def run(self) -> None:
        """Serves until the stream ends."""
        try:
            self._settings = _settings(self._options)
        except WorkerError as error:
            self._fail(0, error)
            return
        self._store = ModelStore(self._settings)
        self._stream.write({"id": 0, "type": "result", "value": describe(self._settings)})
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            self._take(block=not self._batches())
            for batch in self._batches():
                self._step(batch)

    def _read(self) -> None:
        try:
            while (frame := self._stream.read()) is not None:
                self._queue.put(frame)
        except Exception:
            traceback.print_exc()
        # Lyceum has closed the stream or has ended. Nothing that runs here has a reader any more.
        os._exit(1)

    def _take(self, block: bool) -> None:
        """Runs the calls that have arrived."""
        while True:
            try:
                message, arrays = self._queue.get(block=block)
            except queue.Empty:
                return
            block = False
            self._call(message, arrays)

    def _call(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> None:
        method = getattr(self, f"call_{message['call']}", None)
        try:
            if method is None:
                raise WorkerError("backend.failed", f"The worker has no call {message['call']}.", "Update Lyceum.")
            answer = method(message, arrays)
            if answer is not None:
                value, found = answer
                self._stream.write({"id": message["id"], "type": "result", "value": value}, found)
        except Exception as error:
            self._fail(message["id"], error)

    def _fail(self, id: int, error: Exception) -> None:
        if not isinstance(error, WorkerError):
            traceback.print_exc()
        known = _known_error(error)
        self._stream.write(
            {"id": id, "type": "error", "error": {"code": known.code, "message": str(known), "hint": known.hint}}
        )

    def _batches(self) -> list[sampling.Batch]:
        shared = [batch for batch in self._shared.values() if batch.calls]
        aborted = [batch for batch in self._own[1:] if any(call.failure is not None for call in batch.calls)]
        return [*self._own[:1], *aborted, *shared]

    def _step(self, batch: sampling.Batch) -> None:
        try:
            ended = batch.step()
        except Exception as error:
            ended = list(batch.calls)
            for call in ended:
                call.failure = _known_error(error)
            if not isinstance(error, WorkerError):
                traceback.print_exc()
            self._shared = {id: other for id, other in self._shared.items() if other is not batch}
            self._own = [other for other in self._own if other is not batch]
        for call in ended:
            self._calls.pop(call.id, None)
            if call.failure is None:
                self._stream.write({"id": call.id, "type": "result", "value": {}})
            else:
                self._fail(call.id, call.failure)
        self._own = [other for other in self._own if other.calls]

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def call_open(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._store.open(message["source"], message["trainable"], message["valueHead"])
        id = self._new_id()
        self._models[id] = model
        config = model.network.config.get_text_config()
        return {
            "model": id,
            "isAdapter": model.adapter is not None,
            "parameterCount": sum(parameter.numel() for parameter in model.trained.values()),
            "maxLength": getattr(config, "max_position_embeddings", None) or 2**20,
            "vocabularySize": model.network.get_output_embeddings().weight.shape[0],
        }, {}

    def call_forward(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> Answer:
        outputs, gradient, seed = message["outputs"], message["gradient"], message.get("dropoutSeed")
        model = self._models[message["model"]]
        return {}, passes.forward(model, self._settings, arrays, outputs, gradient, seed)

    def call_begin(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        passes.begin(self._models[message["model"]])
        return {}, {}

    def call_backward(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> Answer:
        passes.backward(self._models[message["model"]], self._settings, arrays, message.get("scale", 1.0))
        return {}, {}

    def call_commit(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        passes.commit(self._models[message["model"]])
        return {}, {}

    def call_rollback(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        passes.rollback(self._models[message["model"]])
        return {}, {}

    def call_step(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._models[message["model"]]
        norm = passes.step(model, message["params"], message["stepId"])
        return {"gradientNorm": norm, "version": model.version}, {}

    def call_snapshot(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._models[message["model"]]
        id = self._new_id()
        self._snapshots[id] = Snapshot(model, model.version)
        model.snapshots.add(self._snapshots[id])
        return {"sampler": id, "version": model.version}, {}

    def call_sample(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> None:
        snapshot = self._snapshots[message["sampler"]]
        id = message["id"]

        def emit(found: Arrays) -> None:
            self._stream.write({"id": id, "type": "item"}, found)

        call = sampling.Call(id, _requests(message["requests"], arrays), emit)
        self._calls[id] = call
        capacity = self._options.get("decodeBatchSize") or (256 if self._settings.device.type == "cuda" else 32)
        if message.get("shared"):
            shared = self._shared.setdefault(
                message["sampler"], sampling.Batch(snapshot, self._settings, capacity)
            )
            shared.add(call)
            return
        batch = sampling.Batch(snapshot, self._settings, max(1, min(capacity, len(call.requests))))
        batch.add(call)
        self._own.append(batch)

    def call_drop(self, message: dict[str, Any], arrays: Arrays) -> None:
        call = self._calls.get(message["of"])
        if call is not None:
            call.dropped.update(message["requests"])

    def call_abort(self, message: dict[str, Any], arrays: Arrays) -> None:
        call = self._calls.get(message["of"])
        if call is not None:
            call.failure = WorkerError("aborted", "The call was aborted.", "")

    def call_score(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> Answer:
        snapshot = self._snapshots[message["sampler"]]
        targets = _split(arrays.get("targets"), message["targetCounts"])
        last, top_k = message["last"], message["topK"]
        return {}, sampling.score(snapshot, self._settings, arrays["ids"], last, top_k, targets)

    def call_save(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        state.save(self._models[message["model"]], message["folder"])
        return {}, {}

    def call_load(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._models[message["model"]]
        state.load(model, message["folder"], message["optimizer"])
        return {"version": model.version}, {}

    def call_export(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._models[message["model"]]
        state.export(model, message["folder"], message["format"], message.get("dtype"), message.get("baseModel"))
        return {}, {}

    def call_memory(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        """Returns and resets the greatest memory that was allocated on the card."""
        if self._settings.device.type != "cuda":
            return {"peakBytes": 0}, {}
        peak = torch.cuda.max_memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        return {"peakBytes": peak}, {}

    def call_closeSampler(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        snapshot = self._snapshots.pop(message["sampler"], None)
        self._shared.pop(message["sampler"], None)
        if snapshot is not None:
            snapshot.model.snapshots.discard(snapshot)
            self._free()
        return {}, {}

    def call_closeModel(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        self._closed.add(message["model"])
        self._free()
        return {}, {}

    def _free(self) -> None:
        """Frees closed models that no sampler reads."""
        for id in [id for id in self._closed if not self._models[id].snapshots]:
            self._closed.discard(id)
            self._store.close(self._models.pop(id))


def describe(settings: Settings) -> dict[str, Any]:
    """Describes the machine and the versions."""
    cards = [
        {"name": torch.cuda.get_device_name(i), "bytes": torch.cuda.get_device_properties(i).total_memory}
        for i in range(torch.cuda.device_count())
    ]
    return {
        "device": settings.device.type,
        "precision": str(settings.dtype).removeprefix("torch."),
        "python": platform.python_version(),
        "executable": sys.executable,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "transformers": transformers.__version__,
        "peft": peft.__version__,
        "cards": cards,
    }


def _settings(options: dict[str, Any]) -> Settings:
    threads = options.get("threads")
    if threads is not None:
        torch.set_num_threads(threads)
    wanted = options.get("device", "auto")
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        why = "this PyTorch is built without CUDA" if torch.version.cuda is None else "PyTorch finds no card"
        raise WorkerError(
            "backend.unsupported",
            f"The device cuda cannot be used: {why}.",
            "Install the CUDA build (lyceum setup torch --cuda 13), check nvidia-smi, or set model.device to cpu.",
        )
    device = torch.device(wanted, options.get("deviceIndex", 0)) if wanted == "cuda" else torch.device(wanted)
    precision = options.get("precision")
    if precision is None:
        precision = "bfloat16" if wanted == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return Settings(device, state.DTYPES[precision], options.get("recompute", False))


def _requests(described: list[dict[str, Any]], arrays: dict[str, numpy.ndarray]) -> list[sampling.Request]:
    prompts = _split(arrays.get("prompts"), [request["length"] for request in described])
    return [
        sampling.Request(
            index=index,
            prompt=prompt.tolist(),
            temperature=request["temperature"],
            top_k=request["topK"],
            top_p=request["topP"],
            min_p=request["minP"],
            max_tokens=request["maxTokens"],
            seed=request["seed"],
            stop_ids=set(request["stopTokenIds"]),
            top_logprobs=request["topLogprobs"],
            supports=request["supports"],
        )
        for index, (request, prompt) in enumerate(zip(described, prompts))
    ]


def _split(array: numpy.ndarray | None, counts: list[int]) -> list[numpy.ndarray]:
    if array is None:
        return []
    return numpy.split(array, numpy.cumsum(counts)[:-1]) if counts else []


def _known_error(error: Exception) -> WorkerError:
    if isinstance(error, WorkerError):
        return error
    if isinstance(error, torch.OutOfMemoryError):
        return WorkerError(
            "backend.failed",
            f"The card's memory is full: {str(error).splitlines()[0]}",
            "Lower training.maxTokensPerMicroBatch, set backend.recompute to true, or lower backend.decodeBatchSize.",
        )
    return WorkerError(
        "backend.failed",
        f"PyTorch has failed: {type(error).__name__}: {error}",
        "The worker's output on stderr has the stack. If the card has failed, start again from the last checkpoint.",
    )
