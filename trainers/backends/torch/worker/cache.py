"""A key-value cache with one row per completion. Rows may have different lengths, and a finished row's place is free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


@dataclass
class Prefill:
    """Reads prompts (padded at the right) and stores each in the rows that begin with it."""

    rows: torch.Tensor
    """The rows to fill."""
    prompts: torch.Tensor
    """For each of these rows, the index of its prompt in the batch."""


@dataclass
class Decode:
    """Reads one token for each of the first rows."""

    positions: torch.Tensor
    """The position of each row's token."""
    length: int
    """The columns that attention reads: at least the longest row, this token included."""


class SlotLayer(CacheLayerMixin):
    """The keys and values of one layer: (rows, heads, length, size)."""

    is_sliding = False

    def __init__(self, cache: SlotCache) -> None:
        super().__init__()
        self._cache = cache

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Allocates the rows when the sizes of the heads are known."""
        rows, length = self._cache.rows, self._cache.length
        self.keys = key_states.new_zeros(rows, key_states.shape[1], length, key_states.shape[3])
        self.values = value_states.new_zeros(rows, value_states.shape[1], length, value_states.shape[3])
        self.is_initialized = True
        self._keep_address()

    def _keep_address(self) -> None:
        """Lets a CUDA graph of a compiled decoding step write here. Without one, it has no effect."""
        torch._dynamo.mark_static_address(self.keys, guard=False)
        torch._dynamo.mark_static_address(self.values, guard=False)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Stores new keys and values, and returns those that attention reads."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        plan = self._cache.plan
        if isinstance(plan, Prefill):
            length = key_states.shape[2]
            self.keys[plan.rows, :, :length] = key_states[plan.prompts]
            self.values[plan.rows, :, :length] = value_states[plan.prompts]
            return key_states, value_states
        count = len(plan.positions)
        rows = torch.arange(count, device=key_states.device)
        self.keys[rows, :, plan.positions] = key_states[:, :, 0]
        self.values[rows, :, plan.positions] = value_states[:, :, 0]
        return self.keys[:count, :, : plan.length], self.values[:count, :, : plan.length]

    def grow(self, length: int) -> None:
        """Makes room for longer rows."""
        if self.is_initialized:
            more = (0, 0, 0, length - self.keys.shape[2])
            self.keys = torch.nn.functional.pad(self.keys, more)
            self.values = torch.nn.functional.pad(self.values, more)
            self._keep_address()

    def move(self, source: int, target: int) -> None:
        """Copies one row to the place of another."""
        if self.is_initialized:
            self.keys[target] = self.keys[source]
            self.values[target] = self.values[source]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Reads prompts from their start. Decoding brings its own mask."""
        return query_length, 0

    def get_seq_length(self) -> int:
        """Positions are given by the caller."""
        return 0

    def get_max_length(self) -> int:
        """Rows grow."""
        return -1


class SlotCache(Cache):
    """The cache of a batch. `plan` says what the next forward pass reads and stores."""

    def __init__(self, layers: int, rows: int, length: int) -> None:
        self.rows = rows
        self.length = length
        self.plan: Prefill | Decode | None = None
        super().__init__(layers=[SlotLayer(self) for _ in range(layers)])

    def reserve(self, length: int) -> None:
        """Makes room for rows of this length, at least twice as much as before if it must grow."""
        if length > self.length:
            self.length = max(length, 2 * self.length)
            for layer in self.layers:
                layer.grow(self.length)

    def move(self, source: int, target: int) -> None:
        """Copies one row to the place of another."""
        for layer in self.layers:
            layer.move(source, target)


class PrefixLayer(CacheLayerMixin):
    """The keys and values of a layer for distinct beginnings. Rows that go on from one attend to it too."""

    is_sliding = False

    def __init__(self, cache: SharedPrefix) -> None:
        super().__init__()
        self._cache = cache

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """There is nothing to allocate."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Keeps the beginnings, or returns each row's beginning with its own keys and values."""
        if self._cache.rows is None:
            self.keys, self.values = key_states, value_states
            return key_states, value_states
        rows = self._cache.rows
        keys = torch.cat([self.keys.index_select(0, rows), key_states], 2)
        return keys, torch.cat([self.values.index_select(0, rows), value_states], 2)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Rows see their beginning."""
        return self._cache.length + query_length, 0

    def get_seq_length(self) -> int:
        """Rows go on after their beginning."""
        return self._cache.length

    def get_max_length(self) -> int:
        """There is no limit."""
        return -1


class SharedPrefix(Cache):
    """Beginnings that are read once. Afterwards, `rows` has the beginning of each row, and `length` their tokens."""

    def __init__(self, layers: int) -> None:
        self.rows: torch.Tensor | None = None
        self.length = 0
        super().__init__(layers=[PrefixLayer(self) for _ in range(layers)])


def decode_mask(config: Any, plan: Decode, dtype: torch.dtype) -> torch.Tensor | dict[str, torch.Tensor]:
    """Returns what is added to each row's scores: (rows, 1, 1, length), for each type of attention if there are several."""
    columns = torch.arange(plan.length, device=plan.positions.device)
    distance = plan.positions[:, None] - columns[None, :]
    full = distance >= 0
    window = getattr(config, "sliding_window", None)
    types = set(getattr(config, "layer_types", None) or [])
    slides = window is not None and getattr(config, "use_sliding_window", True) is not False
    sliding = full & (distance < window) if slides else full

    def mask(seen: torch.Tensor) -> torch.Tensor:
        smallest = torch.finfo(dtype).min
        return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, smallest)[:, None, None, :]

    if "sliding_attention" in types:
        return {"full_attention": mask(full), "sliding_attention": mask(sliding)}
    return mask(sliding if not types else full)
