"""Sampling by vLLM, in this process. vLLM runs the network and keeps the keys and values.

Tokens are chosen by `choose`, as without vLLM: seeds, filters, log-probabilities and reported tokens mean the same. vLLM
has a copy of the frozen weights. It reads an adapter from a file, and trained weights from memory.
"""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import math
import os
import shutil
import sys
import tempfile
from typing import Any

import torch

from .frames import Arrays, WorkerError
from .models import Base, Settings, Snapshot
from .passes import not_finite
from .random import Random
from .sampling import Call, Choice, Row, choose, step_arrays
from .state import plain_weights, write_adapter

# The adapters that one batch may use. Requests of further ones wait.
MAX_ADAPTERS = 4
# The ranks that vLLM has kernels for.
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
_REMOVE = "Remove backend.sampler to sample without vLLM."


def require_vllm(processes: int, bits: int | None, card: int) -> None:
    """Raises `config.invalid` or `backend.unsupported` if vLLM cannot be used."""
    if processes > 1 or bits is not None:
        raise WorkerError(
            "config.invalid",
            "backend.sampler: vllm works with one process and without backend.quantize.",
            "Remove backend.sampler, or remove backend.processes, backend.nodes and backend.quantize.",
        )
    if card > 0:
        raise WorkerError(
            "config.invalid",
            f"backend.sampler: vllm uses the first card, but model.deviceIndex is {card}.",
            f"Set CUDA_VISIBLE_DEVICES={card} and remove model.deviceIndex.",
        )
    if importlib.util.find_spec("vllm") is None:
        raise WorkerError(
            "backend.unsupported",
            "backend.sampler: vllm needs the package vllm.",
            f"Run {sys.executable} -m pip install vllm, or remove backend.sampler.",
        )


class Held:
    """A stream of random numbers that stays at one number until its token is reported.

    vLLM also asks for tokens that it then drops, such as the one after a part of a prompt.
    """

    def __init__(self, seed: float) -> None:
        self._random = Random(seed)
        self.advance()

    def next(self) -> float:
        """Returns the current number."""
        return self._number

    def advance(self) -> None:
        """Goes to the next number."""
        self._number = self._random.next()


class Engine:
    """A vLLM engine with the network of a base."""

    def __init__(self, base: Base, settings: Settings, capacity: int, rank: int) -> None:
        self.rank = rank
        """The greatest rank of an adapter. 0: it takes none."""
        self.loaded: Snapshot | Base | None = None
        """Whose weights the engine has."""
        self.rows: dict[str, Row] = {}
        self._base = base
        self._choices: dict[str, Choice] = {}
        self._sampled: list[tuple[Row, Choice, bool]] = []
        self._ids = itertools.count(1)
        self._folder = tempfile.TemporaryDirectory(prefix="lyceum-vllm-")
        try:
            self._engine = self._open(settings, capacity)
        except Exception as error:
            self._folder.cleanup()
            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise WorkerError(
                "backend.failed",
                f"vLLM cannot open a model of the family {base.network.config.model_type}: {error}",
                f"Lower backend.samplerMemory if memory is short. {_REMOVE}",
            ) from error

    def _open(self, settings: Settings, capacity: int) -> Any:
        cpu = settings.device.type == "cpu"
        os.environ.update(
            # The engine runs here, so that weights need no way to another process.
            VLLM_ENABLE_V1_MULTIPROCESSING="0",
            # The other runner has no place for `Chooser`.
            VLLM_USE_V2_MODEL_RUNNER="0",
            VLLM_NO_USAGE_STATS="1",
            VLLM_CPU_OMP_THREADS_BIND="nobind",
            OMP_NUM_THREADS=str(torch.get_num_threads()),
        )
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
        from vllm import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        folder = os.path.join(self._folder.name, "model")
        self._base.network.config.save_pretrained(folder)
        adapters = {"enable_lora": True, "max_lora_rank": next((r for r in RANKS if r >= self.rank), self.rank), "max_loras": MAX_ADAPTERS}
        arguments = EngineArgs(
            model=folder,
            load_format="dummy",
            skip_tokenizer_init=True,
            dtype=str(settings.dtype).removeprefix("torch."),
            # The longest that the memory for keys and values allows.
            max_model_len=-1,
            max_num_seqs=capacity,
            kv_cache_memory_bytes=int(settings.sampler_memory * 2**30),
            # Only asks whether so much is free. The line above decides.
            gpu_memory_utilization=0.01,
            enforce_eager=cpu,
            async_scheduling=False,
            disable_log_stats=True,
            logits_processors=[_chooser(self.rows, self._choices)],
            **(adapters if self.rank > 0 else {}),
        )
        return LLMEngine.from_engine_args(arguments)

    def load(self, owner: Snapshot | Base) -> None:
        """Reads trained weights, or those of the base. No completion may run."""
        if self.loaded is owner:
            return
        earlier = owner.model.active(owner.weights) if isinstance(owner, Snapshot) else contextlib.nullcontext()
        with torch.no_grad(), earlier:
            weights = plain_weights(self._base.network)
            self._engine.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(weights.items())})
        self._engine.reset_prefix_cache()
        self.loaded = owner

    def add_adapter(self, snapshot: Snapshot) -> Any:
        """Reads the adapter of a snapshot. Returns what requests name it by."""
        from vllm.lora.request import LoRARequest

        number = next(self._ids)
        folder = os.path.join(self._folder.name, f"adapter{number}")
        os.mkdir(folder)
        with torch.no_grad(), snapshot.model.active(snapshot.weights):
            write_adapter(snapshot.model, folder, None)
        request = LoRARequest(f"adapter{number}", number, folder)
        self._engine.add_lora(request)
        return request

    def forget(self, snapshot: Snapshot, adapter: Any) -> None:
        """Frees what a snapshot has needed."""
        if self.loaded is snapshot:
            self.loaded = None
        if adapter is not None:
            self._engine.remove_lora(adapter.lora_int_id)
            shutil.rmtree(adapter.lora_path, ignore_errors=True)

    def add(self, row: Row, adapter: Any) -> None:
        """Starts a completion."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        name = f"row{next(self._ids)}"
        request = row.request
        parameters = SamplingParams(
            # The most likely token is the one that `Chooser` has made so.
            temperature=0,
            max_tokens=request.max_tokens,
            stop_token_ids=sorted(request.stop_ids),
            ignore_eos=True,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            extra_args={"lyceum": name},
        )
        self.rows[name] = row
        try:
            self._engine.add_request(name, {"prompt_token_ids": request.prompt}, parameters, lora_request=adapter)
        except ValueError as error:
            del self.rows[name]
            raise _too_long(f"vLLM refuses a prompt: {error}") from error

    def drop(self, name: str) -> None:
        """Ends a completion."""
        self._engine.abort_request([name])
        self._forget(name)

    def step(self) -> None:
        """Samples a token for each completion."""
        try:
            outputs = self._engine.step()
        except Exception as error:
            for row in self.rows.values():
                row.call.failure = WorkerError("backend.failed", f"vLLM has failed: {error}", _REMOVE)
            self.rows.clear()
            self._base.sampler = None
            self.close()
            raise
        for output in outputs:
            row = self.rows.get(output.request_id)
            if row is None:
                continue
            if output.outputs[0].token_ids:
                choice = self._choices[output.request_id]
                row.token = choice.token
                row.sampled += 1
                row.random.advance()
                row.ended = choice.token in row.request.stop_ids or row.sampled >= row.request.max_tokens
                self._sampled.append((row, choice, row.ended))
            if output.finished:
                if not row.ended:
                    row.call.failure = _too_long("vLLM has ended a completion early.")
                self._forget(output.request_id)

    def take(self, calls: list[Call]) -> list[tuple[Row, Choice, bool]]:
        """Returns the tokens of some calls that were sampled since they were last taken, and whether each is the last."""
        own = [entry for entry in self._sampled if entry[0].call in calls]
        self._sampled = [entry for entry in self._sampled if entry[0].call not in calls]
        return own

    def _forget(self, name: str) -> None:
        del self.rows[name]
        self._choices.pop(name, None)

    def close(self) -> None:
        """Frees the engine's memory."""
        self._engine.engine_core.shutdown()
        self._engine = None
        self._folder.cleanup()


class VllmBatch:
    """The completions of one snapshot, as `Batch`. The engine continues those of other snapshots at the same time.

    Snapshots of trained weights take turns, because an engine has one copy of them.
    """

    def __init__(self, snapshot: Snapshot, settings: Settings, capacity: int) -> None:
        self.calls: list[Call] = []
        """The calls that have not ended."""
        self._snapshot = snapshot
        self._settings = settings
        self._capacity = capacity
        self._engine: Engine | None = None
        self._adapter: Any = None

    def remove(self, call: Call) -> None:
        """Removes a call that has ended or failed, with what is left of it."""
        self.calls.remove(call)
        call.waiting.clear()
        self._drop(call, {request.index for request in call.requests})
        if self._engine is not None:
            self._engine.take([call])

    def close(self) -> None:
        """Forgets the snapshot."""
        engine, self._engine = self._engine, None
        if engine is not None and engine is self._snapshot.model.base.sampler:
            engine.forget(self._snapshot, self._adapter)

    def step(self) -> list[tuple[int, Arrays]]:
        """Samples one token for each completion of the engine. Returns the calls with their tokens."""
        for call in self.calls:
            self._drop(call, call.dropped)
            if call.failure is not None:
                call.waiting.clear()
        if any(call.waiting for call in self.calls):
            self._admit()
        if self._engine is None:
            return []
        if self._engine.rows:
            self._engine.step()
        steps: dict[int, list[tuple[Row, Choice, float]]] = {}
        for row, choice, last in self._engine.take(self.calls):
            if not math.isfinite(choice.logprob):
                row.call.failure = not_finite("The model's probabilities are not numbers.")
                continue
            steps.setdefault(row.call.id, []).append((row, choice, 0.0))
            row.call.running -= last
        return [(id, step_arrays(sampled, False)) for id, sampled in steps.items()]

    def _drop(self, call: Call, indices: set[int]) -> None:
        engine = self._engine
        for name, row in list(engine.rows.items()) if engine is not None else []:
            if row.call is call and row.request.index in indices:
                engine.drop(name)
                call.running -= 1

    def _admit(self) -> None:
        """Starts the waiting requests, if the engine can have the snapshot's weights now."""
        model = self._snapshot.model
        rank = 0 if model.adapter is None else model.base.peft.peft_config[model.adapter].r
        engine = model.base.sampler
        if engine is None or engine.rank < rank:
            if engine is not None:
                if engine.rows:
                    return
                model.base.sampler = None
                engine.close()
            engine = model.base.sampler = Engine(model.base, self._settings, self._capacity, rank)
        owner = self._snapshot if model.adapter is None and model.trained else model.base
        if engine.rows and engine.loaded is not owner:
            return
        engine.load(owner)
        if model.adapter is not None and self._engine is not engine:
            self._adapter = engine.add_adapter(self._snapshot)
        self._engine = engine
        for call in self.calls:
            while call.waiting:
                request = call.waiting.popleft()
                if request.index not in call.dropped:
                    engine.add(Row(call, request, Held(request.seed), len(request.prompt) - 1), self._adapter)
                    call.running += 1


def _chooser(rows: dict[str, Row], choices: dict[str, Choice]) -> type:
    """Returns a class for vLLM that chooses the next token of each row, and makes it the most likely one."""
    from vllm.v1.sample.logits_processor import LogitsProcessor
    from vllm.v1.sample.logits_processor.builtin import process_dict_updates

    class Chooser(LogitsProcessor):
        """Sees the logits of each step. vLLM keeps the order of its rows."""

        def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
            self._names: dict[int, str] = {}

        def is_argmax_invariant(self) -> bool:
            """Greedy sampling must see what it does."""
            return False

        def update_state(self, batch_update: Any) -> None:
            """Learns which request has which row."""
            process_dict_updates(self._names, batch_update, lambda parameters, _, __: (parameters.extra_args or {}).get("lyceum"))

        def apply(self, logits: torch.Tensor) -> torch.Tensor:
            """Chooses the tokens."""
            known = [(n, name) for n, name in sorted(self._names.items()) if n < len(logits) and name in rows]
            if known:
                places = torch.tensor([n for n, _ in known], device=logits.device)
                found = choose(logits[places], [rows[name] for _, name in known])
                choices.update({name: choice for (_, name), choice in zip(known, found)})
                tokens = torch.tensor([choice.token for choice in found], device=logits.device)
                logits[places, tokens] = torch.finfo(logits.dtype).max
            return logits

    return Chooser


def _too_long(message: str) -> WorkerError:
    return WorkerError("backend.failed", message, f"Raise backend.samplerMemory. {_REMOVE}")
