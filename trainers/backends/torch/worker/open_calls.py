"""The calls of `sample` that have not ended. Each rank continues its own requests, one token at a time."""

from __future__ import annotations

import traceback
from typing import Any, Callable

import numpy

from .frames import Arrays, WorkerError
from .models import Settings, Snapshot
from .sampling import Batch, Call, Request
from .vllm_sampler import VllmBatch


class OpenCalls:
    """Batches of open calls. All ranks have the same calls in the same batches, each with its own requests."""

    def __init__(
        self,
        settings: Settings,
        capacity: int,
        known_error: Callable[[Exception], WorkerError],
    ) -> None:
        self._settings = settings
        self._capacity = capacity
        self._known_error = known_error
        self._make: type[Batch] | type[VllmBatch] = VllmBatch if settings.vllm else Batch
        self._shared: dict[int, Batch | VllmBatch] = {}
        # The batches of calls that share none. Only the first one runs. vLLM shares its batch always.
        self._own: list[Batch] = []
        self._calls: dict[int, Call] = {}

    @property
    def empty(self) -> bool:
        """True if no call is open."""
        return not self._calls

    def add(self, id: int, sampler: int, snapshot: Snapshot, requests: list[Request], shared: bool) -> None:
        """Opens a call, with this rank's part of its requests."""
        call = self._calls[id] = Call(id, requests[self._settings.ranks.own(len(requests))])
        if shared or self._settings.vllm:
            if sampler not in self._shared:
                self._shared[sampler] = self._make(snapshot, self._settings, self._capacity)
            batch = self._shared[sampler]
        else:
            batch = Batch(snapshot, self._settings, max(1, min(self._capacity, len(call.requests))))
            self._own.append(batch)
        batch.calls.append(call)

    def drop(self, id: int, requests: list[int]) -> None:
        """Ends some requests of a call."""
        if id in self._calls:
            self._calls[id].dropped.update(requests)

    def abort(self, id: int) -> None:
        """Ends a call with an error."""
        if id in self._calls:
            self._calls[id].failure = WorkerError("aborted", "The call was aborted.", "")

    def close_sampler(self, sampler: int) -> None:
        """Forgets the batch that calls of a sampler share."""
        batch = self._shared.pop(sampler, None)
        if batch is not None:
            batch.close()

    def step(self, emit: Callable[[int, Arrays], None], end: Callable[[int, WorkerError | None], None]) -> None:
        """Samples a token in each batch. `emit` gets the tokens of a call, of all ranks, and `end` each call that ends."""
        shared = [batch for batch in self._shared.values() if batch.calls]
        aborted = [batch for batch in self._own[1:] if any(call.failure is not None for call in batch.calls)]
        for batch in [*self._own[:1], *aborted, *shared]:
            self._step(batch, emit, end)
        self._own = [batch for batch in self._own if batch.calls]

    def _step(
        self, batch: Batch | VllmBatch, emit: Callable[[int, Arrays], None], end: Callable[[int, WorkerError | None], None]
    ) -> None:
        try:
            sampled = batch.step()
        except Exception as error:
            if self._settings.ranks.size > 1:
                raise
            sampled = []
            for call in batch.calls:
                call.failure = self._known_error(error)
            if not isinstance(error, WorkerError):
                traceback.print_exc()
            self._shared = {id: other for id, other in self._shared.items() if other is not batch}
        report: dict[str, Any] = {
            "sampled": [id for id, _ in sampled],
            "live": [call.id for call in batch.calls if not call.ended],
            "failures": [[call.id, *_parts(call.failure)] for call in batch.calls if call.failure is not None],
        }
        arrays = {f"{n} {name}": array for n, (_, own) in enumerate(sampled) for name, array in own.items()}
        live: set[int] = set()
        failures: dict[int, WorkerError] = {}
        for found, parts in self._settings.ranks.gather(report, arrays):
            for n, id in enumerate(found["sampled"]):
                emit(id, _named(parts, n))
            live.update(found["live"])
            failures.update({id: WorkerError(*rest) for id, *rest in found["failures"]})
        for call in list(batch.calls):
            call.failure = failures.get(call.id)
            if call.failure is not None or call.id not in live:
                batch.remove(call)
                del self._calls[call.id]
                end(call.id, call.failure)


def _parts(error: WorkerError) -> tuple[str, str, str]:
    return error.code, str(error), error.hint


def _named(arrays: dict[str, numpy.ndarray], n: int) -> Arrays:
    prefix = f"{n} "
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
