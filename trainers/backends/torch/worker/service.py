"""Answers the calls of one Lyceum process."""

from __future__ import annotations

import os
import platform
import queue
import socket
import sys
import threading
import traceback
from typing import Any

import numpy
import peft
import torch
import transformers

from . import passes, sampling, state
from .distributed import Ranks
from .frames import Arrays, Frame, Stream, WorkerError
from .models import Model, ModelStore, Settings, Snapshot
from .open_calls import OpenCalls
from .vllm_sampler import require_vllm

Answer = tuple[dict[str, Any], Arrays]


def open_stream() -> Stream:
    """Opens the socket of Lyceum: file descriptor 3, or a path if torchrun, which passes no descriptors, is between."""
    path = os.environ.get("LYCEUM_WORKER_SOCKET")
    if path is None:
        return Stream(os.fdopen(3, "rb"), os.fdopen(os.dup(3), "wb"))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return Stream(connection.makefile("rb"), connection.makefile("wb"))


class Service:
    """Runs calls one after another. Between them it samples, so that a long call of `sample` delays nothing."""

    def __init__(self, options: dict[str, Any], ranks: Ranks) -> None:
        self._ranks = ranks
        self._stream = open_stream() if ranks.rank == 0 else None
        self._queue: queue.Queue[Frame] = queue.Queue()
        self._models: dict[int, Model] = {}
        self._snapshots: dict[int, Snapshot] = {}
        self._closed: set[int] = set()
        self._last_id = 0
        try:
            self._settings = _settings(options, ranks)
        except WorkerError as error:
            self._fail(0, error)
            sys.exit(0)
        self._store = ModelStore(self._settings)
        capacity = options.get("decodeBatchSize") or (256 if self._settings.device.type == "cuda" else 32)
        self._open_calls = OpenCalls(self._settings, capacity, _known_error)

    def run(self) -> None:
        """Serves until the stream ends."""
        if self._stream is None:
            while True:
                self._call(*self._ranks.receive())
        self._write({"id": 0, "type": "result", "value": describe(self._settings)})
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            self._take(block=self._open_calls.empty)
            if not self._open_calls.empty:
                self._lead({"id": 0, "call": "sampleStep"}, {})

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
                frame = self._queue.get(block=block)
            except queue.Empty:
                return
            block = False
            self._lead(*frame)

    def _lead(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> None:
        self._ranks.send(message, arrays)
        self._call(message, arrays)

    def _call(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> None:
        method = getattr(self, f"call_{message['call']}", None)
        try:
            if method is None:
                raise WorkerError("backend.failed", f"The worker has no call {message['call']}.", "Update Lyceum.")
            answer = method(message, arrays)
            if answer is not None:
                value, found = answer
                self._write({"id": message["id"], "type": "result", "value": value}, found)
        except Exception as error:
            if message["id"] == 0:
                # Nobody waits for an answer, so the fault would be unseen.
                raise
            self._fail(message["id"], error)
            if self._ranks.size > 1 and not isinstance(error, WorkerError):
                # The other ranks may wait for this one in the middle of the call. torchrun ends them.
                os._exit(1)

    def _write(self, message: dict[str, Any], arrays: Arrays | None = None) -> None:
        if self._stream is not None:
            self._stream.write(message, arrays)

    def _fail(self, id: int, error: Exception) -> None:
        if not isinstance(error, WorkerError):
            traceback.print_exc()
        known = _known_error(error)
        self._write({"id": id, "type": "error", "error": {"code": known.code, "message": str(known), "hint": known.hint}})

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

    def call_backward(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> Answer:
        model = self._models[message["model"]]
        passes.backward(model, self._settings, arrays)
        return {"overflow": message["last"] and not passes.commit(model, self._settings)}, {}

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
        sampler = message["sampler"]
        requests = _requests(message["requests"], arrays)
        self._open_calls.add(message["id"], sampler, self._snapshots[sampler], requests, message["shared"])

    def call_sampleStep(self, message: dict[str, Any], arrays: Arrays) -> None:
        def end(id: int, failure: WorkerError | None) -> None:
            if failure is None:
                self._write({"id": id, "type": "result", "value": {}})
            else:
                self._fail(id, failure)

        self._open_calls.step(lambda id, found: self._write({"id": id, "type": "item"}, found), end)

    def call_drop(self, message: dict[str, Any], arrays: Arrays) -> None:
        self._open_calls.drop(message["of"], message["requests"])

    def call_abort(self, message: dict[str, Any], arrays: Arrays) -> None:
        self._open_calls.abort(message["of"])

    def call_score(self, message: dict[str, Any], arrays: dict[str, numpy.ndarray]) -> Answer:
        snapshot = self._snapshots[message["sampler"]]
        targets = _split(arrays.get("targets"), message["targetCounts"])
        last, top_k = message["last"], message["topK"]
        return {}, sampling.score(snapshot, self._settings, arrays["ids"], last, top_k, targets)

    def call_save(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        state.save(self._models[message["model"]], message["folder"], self._ranks)
        return {}, {}

    def call_load(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._models[message["model"]]
        state.load(model, message["folder"], message["optimizer"])
        return {"version": model.version}, {}

    def call_export(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        model = self._models[message["model"]]
        form, dtype, base = message["format"], message.get("dtype"), message.get("baseModel")
        state.export(model, message["folder"], form, dtype, base, self._ranks)
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
        self._open_calls.close_sampler(message["sampler"])
        if snapshot is not None:
            snapshot.model.snapshots.discard(snapshot)
            self._free()
        return {}, {}

    def call_closeModel(self, message: dict[str, Any], arrays: Arrays) -> Answer:
        self._closed.add(message["model"])
        self._free()
        return {}, {}

    def call_end(self, message: dict[str, Any], arrays: Arrays) -> None:
        """Ends this rank well, because Lyceum has closed an idle worker."""
        os._exit(0)

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
        "card": torch.cuda.get_device_name(settings.device) if settings.device.type == "cuda" else None,
        "threads": torch.get_num_threads(),
        "precision": str(settings.dtype).removeprefix("torch."),
        "python": platform.python_version(),
        "executable": sys.executable,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "transformers": transformers.__version__,
        "peft": peft.__version__,
        "cards": cards,
        "sampler": "vllm" if settings.vllm else "torch",
        "processes": settings.ranks.size,
    }


def _settings(options: dict[str, Any], ranks: Ranks) -> Settings:
    threads = options.get("threads")
    if threads is None and ranks.size > 1:
        threads = max(1, (os.cpu_count() or 1) // ranks.local_size)
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
    index = options.get("deviceIndex", 0) + ranks.local_rank
    if wanted == "cuda" and index >= torch.cuda.device_count():
        raise WorkerError(
            "backend.unsupported",
            f"The card {index} is needed, but PyTorch finds {torch.cuda.device_count()}, counted from 0.",
            "Lower backend.processes to the number of cards, or name another model.deviceIndex.",
        )
    device = torch.device(wanted, index) if wanted == "cuda" else torch.device(wanted)
    vllm = options.get("sampler") == "vllm"
    if vllm:
        require_vllm(ranks.size, options.get("quantize"), options.get("deviceIndex", 0))
    precision = options.get("precision")
    if precision is None:
        precision = "bfloat16" if wanted == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return Settings(
        device,
        state.DTYPES[precision],
        options.get("recompute", False),
        ranks,
        options.get("strategy", "ddp"),
        options.get("quantize"),
        vllm,
        options.get("samplerMemory", 4.0),
        options.get("compile", False),
    )


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
