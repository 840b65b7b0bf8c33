"""Sampling: continues prompts in batches. A finished row's place is taken by the next request."""

from __future__ import annotations

import functools
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch

from .adapters import Weights, merged
from .cache import Decode, Prefill, SlotCache, decode_mask
from .frames import Arrays, WorkerError
from .models import Settings, Snapshot
from .passes import not_finite
from .random import Random

# The graphs of compiled steps that are kept: a few for each adapter that samples.
MAX_GRAPHS = 64

# Merging an adapter pays off if so many completions are decoded at a time.
MERGED_ROWS = 8

# The tokens whose probabilities are added up first when one is drawn.
BLOCK = 256

# The tokens of prompts that are read at a time, padding included.
MAX_PREFILL_TOKENS = 8192


@dataclass
class Request:
    """A prompt to continue."""

    index: int
    prompt: list[int]
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    max_tokens: int
    seed: float
    stop_ids: set[int]
    top_logprobs: int
    supports: bool
    """True if the tokens that each was sampled from are reported."""

    @property
    def truncated(self) -> bool:
        """True if top-k, top-p or min-p may exclude tokens."""
        return self.temperature > 0 and (self.top_k > 0 or self.top_p < 1 or self.min_p > 0)


@dataclass(eq=False)
class Call:
    """A call of `sample`, with the requests of this rank."""

    id: int
    requests: list[Request]
    waiting: deque[Request] = field(default_factory=deque)
    dropped: set[int] = field(default_factory=set)
    running: int = 0
    failure: WorkerError | None = None

    def __post_init__(self) -> None:
        self.waiting.extend(self.requests)

    @property
    def ended(self) -> bool:
        """True after its last token."""
        return self.failure is not None or (not self.waiting and self.running == 0)


@dataclass(eq=False)
class Row:
    """A completion in a batch."""

    call: Call
    request: Request
    random: Random
    position: int
    """The position of the last token that was read."""
    sampled: int = 0
    token: int = 0
    ended: bool = False


@dataclass
class Choice:
    """A sampled token."""

    token: int
    logprob: float
    kept: numpy.ndarray | None
    top: tuple[numpy.ndarray, numpy.ndarray] | None


class Batch:
    """Completions that are decoded together, from one snapshot of weights."""

    def __init__(self, snapshot: Snapshot, settings: Settings, capacity: int) -> None:
        self._snapshot = snapshot
        self._settings = settings
        self._capacity = capacity
        self.calls: list[Call] = []
        """The calls that have not ended on every rank."""
        self._rows: list[Row] = []
        config = snapshot.model.network.config.get_text_config()
        self._config = config
        self._cache = SlotCache(config.num_hidden_layers, capacity, 64)
        self._run = _compiled() if settings.compile else _decode_step
        self._merges = snapshot.model.adapter is not None and settings.merges
        self._merged: Weights | None = None

    def remove(self, call: Call) -> None:
        """Removes a call that has ended or failed, with what is left of it."""
        self.calls.remove(call)
        call.waiting.clear()
        call.dropped.update(request.index for request in call.requests)
        with self._settings.without_gradient():
            self._compact()
        if not self.calls:
            self._merged = None

    def close(self) -> None:
        """Nothing is kept for the snapshot."""

    def step(self) -> list[tuple[int, Arrays]]:
        """Samples one token for each row. Returns the calls with their tokens."""
        model, ranks = self._snapshot.model, self._settings.ranks
        sampled: list[tuple[int, Arrays]] = []
        self._merge()
        active = model.active(self._snapshot.weights, merged=self._merged)
        with self._settings.without_gradient(), active, self._settings.autocast():
            fresh = self._admit()
            older = self._rows[: len(self._rows) - len(fresh)]
            parts = self._prompt_parts(fresh)
            passes = bool(older) + len(parts)
            # Sharded weights need all ranks in each pass.
            for _ in range(ranks.most(passes) - passes if ranks.sharded else 0):
                token = torch.zeros(1, 1, dtype=torch.int64, device=self._settings.device)
                model.network.get_decoder()(input_ids=token, use_cache=False)
            hidden = [self._decode(older)] if older else []
            if fresh:
                hidden.append(self._prefill(fresh, parts))
            if hidden:
                sampled = self._sample(torch.cat(hidden))
            self._compact()
        return sampled

    def _merge(self) -> None:
        """Merges the adapter if enough completions wait for it, until the last call has ended."""
        model = self._snapshot.model
        count = len(self._rows) + sum(len(call.waiting) for call in self.calls)
        if not self._merges or self._merged is not None or min(count, self._capacity) < MERGED_ROWS:
            return
        with torch.no_grad(), model.active(self._snapshot.weights):
            self._merged = merged(model.network, model.adapter)
        self._merges = self._merged is not None

    def _admit(self) -> list[Row]:
        fresh: list[Row] = []
        for call in self.calls:
            if call.failure is not None:
                call.waiting.clear()
            while call.waiting and len(self._rows) < self._capacity:
                request = call.waiting.popleft()
                if request.index in call.dropped:
                    continue
                row = Row(call, request, Random(request.seed), len(request.prompt) - 1)
                call.running += 1
                self._rows.append(row)
                fresh.append(row)
        return fresh

    def _prompt_parts(self, fresh: list[Row]) -> list[list[tuple[int, ...]]]:
        """Returns the prompts of new rows, equal ones once, in parts that are read at a time."""
        prompts = dict.fromkeys(tuple(row.request.prompt) for row in fresh)
        return _parts(sorted(prompts, key=len))

    def _prefill(self, fresh: list[Row], parts: list[list[tuple[int, ...]]]) -> torch.Tensor:
        """Reads prompts. Returns the last hidden state of each row."""
        first = len(self._rows) - len(fresh)
        self._cache.reserve(len(parts[-1][-1]) + 1)
        device = self._settings.device
        states: dict[int, torch.Tensor] = {}
        for part in parts:
            longest = len(part[-1])
            tokens = torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in part], device=device)
            places = {prompt: place for place, prompt in enumerate(part)}
            rows = [n for n, row in enumerate(fresh) if tuple(row.request.prompt) in places]
            of_row = torch.tensor([places[tuple(fresh[n].request.prompt)] for n in rows], device=device)
            self._cache.plan = Prefill(torch.tensor([first + n for n in rows], device=device), of_row)
            decoder = self._snapshot.model.network.get_decoder()
            hidden = decoder(input_ids=tokens, past_key_values=self._cache, use_cache=True).last_hidden_state
            last = torch.tensor([fresh[n].position for n in rows], device=device)
            found = hidden[of_row, last]
            for n, state in zip(rows, found):
                states[n] = state
        return torch.stack([states[n] for n in range(len(fresh))])

    def _decode(self, rows: list[Row]) -> torch.Tensor:
        device = self._settings.device
        for row in rows:
            row.position += 1
        length = max(row.position for row in rows) + 1
        idle = 0
        if self._settings.compile:
            # Few sizes, so that few graphs are recorded. Idle rows write into free places of the cache.
            idle = min(self._capacity, _power_of_two(len(rows))) - len(rows)
            length = _power_of_two(max(length, 64))
        self._cache.reserve(length)
        positions = torch.tensor([*(row.position for row in rows), *[0] * idle], device=device)
        tokens = torch.tensor([*([row.token] for row in rows), *[[0]] * idle], device=device)
        plan = self._cache.plan = Decode(positions, length)
        mask = decode_mask(self._config, plan, self._settings.dtype)
        return self._run(self._snapshot.model.network.get_decoder(), tokens, positions, mask, self._cache)[: len(rows)]

    def _sample(self, hidden: torch.Tensor) -> list[tuple[int, Arrays]]:
        model = self._snapshot.model
        values = None
        if model.value_head is not None:
            values = model.value_head(hidden.float()).squeeze(-1).float().cpu().numpy()
        choices = choose(model.base.logits(hidden), self._rows)
        steps: dict[int, list[tuple[Row, Choice | None, float]]] = {}
        for n, (row, choice) in enumerate(zip(self._rows, choices)):
            value = 0.0 if values is None else float(values[n])
            if row.ended:
                # Only the value of the state after its last token was missing.
                steps.setdefault(row.call.id, []).append((row, None, value))
                row.token = -1
                continue
            if not math.isfinite(choice.logprob):
                row.call.failure = not_finite("The model's probabilities are not numbers.")
                continue
            row.token = choice.token
            row.sampled += 1
            row.ended = choice.token in row.request.stop_ids or row.sampled >= row.request.max_tokens
            steps.setdefault(row.call.id, []).append((row, choice, value))
        has_values = values is not None
        for row in self._rows:
            if row.ended and (not has_values or row.token == -1):
                row.call.dropped.add(row.request.index)
        return [(id, step_arrays(sampled, has_values)) for id, sampled in steps.items()]

    def _compact(self) -> None:
        """Frees the places of completions that have ended, and keeps the others together."""
        n = 0
        while n < len(self._rows):
            row = self._rows[n]
            if row.call.failure is None and row.request.index not in row.call.dropped:
                n += 1
                continue
            row.call.running -= 1
            last = len(self._rows) - 1
            if n != last:
                self._cache.move(last, n)
                self._rows[n] = self._rows[last]
            self._rows.pop()


def _decode_step(decoder: Any, tokens: torch.Tensor, positions: torch.Tensor, mask: Any, cache: SlotCache) -> torch.Tensor:
    """Returns the last hidden state of each row."""
    output = decoder(
        input_ids=tokens,
        position_ids=positions[:, None],
        attention_mask=mask,
        past_key_values=cache,
        use_cache=True,
    )
    return output.last_hidden_state[:, 0]


@functools.cache
def _compiled() -> Any:
    """Returns the compiled step. On a card, it is replayed as CUDA graphs, one for each size of the batch and the cache."""
    torch._dynamo.config.recompile_limit = MAX_GRAPHS
    return torch.compile(_decode_step, mode="reduce-overhead")


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()


def choose(logits: torch.Tensor, rows: list[Row]) -> list[Choice]:
    """Samples a token for each row, as `chooseToken` of Lyceum does.

    Top-k, top-p and min-p each apply to the softmax of logits / temperature. Tokens that all of them keep are
    renormalized. Temperature 0 takes the most likely token and reports its log-probability at temperature 1.
    """
    device = logits.device
    temperatures = [row.request.temperature for row in rows]
    uniforms = torch.tensor([row.random.next() for row in rows], dtype=torch.float64, device=device)
    if any(temperature not in (0, 1) for temperature in temperatures):
        logits = logits / torch.tensor([temperature or 1.0 for temperature in temperatures], device=device)[:, None]
    probabilities = torch.softmax(logits, -1)
    tokens = _draw(probabilities, uniforms)
    if 0 in temperatures:
        greedy = torch.tensor([temperature == 0 for temperature in temperatures], device=device)
        tokens = torch.where(greedy, logits.argmax(-1), tokens)
    chosen = probabilities.gather(-1, tokens[:, None]).squeeze(-1).log()
    choices = [Choice(token, logprob, None, None) for token, logprob in zip(tokens.tolist(), chosen.tolist())]
    special = [n for n, row in enumerate(rows) if row.request.truncated or row.request.top_logprobs > 0]
    if special:
        ordered, ids = probabilities[special].sort(dim=-1, descending=True, stable=True)
        for place, n in enumerate(special):
            choices[n] = _filtered(choices[n], rows[n].request, uniforms[n].item(), ordered[place], ids[place])
    return choices


def _draw(probabilities: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Returns for each row the first token at which the sum of the probabilities exceeds the uniform number's share.

    It adds up blocks of tokens, then the tokens of one block, in float64.
    """
    count, vocabulary = probabilities.shape
    padded = torch.nn.functional.pad(probabilities, (0, -vocabulary % BLOCK)) if vocabulary % BLOCK else probabilities
    blocks = padded.view(count, -1, BLOCK)
    sums = blocks.sum(-1, dtype=torch.float64).cumsum(-1)
    # A sum that rounding makes equal to the last one would choose a token without probability.
    below = 1 - 2.0**-52
    share = (uniforms[:, None] * sums[:, -1:]).minimum(sums[:, -1:] * below)
    block = torch.searchsorted(sums, share, right=True).clamp(max=sums.shape[1] - 1)
    before = torch.where(block > 0, sums.gather(1, (block - 1).clamp(min=0)), 0.0)
    inside = blocks[torch.arange(count, device=block.device), block[:, 0]].double().cumsum(-1)
    place = torch.searchsorted(inside, (share - before).minimum(inside[:, -1:] * below), right=True)
    return (block * BLOCK + place)[:, 0].clamp(max=vocabulary - 1)


def _filtered(choice: Choice, request: Request, uniform: float, ordered: torch.Tensor, ids: torch.Tensor) -> Choice:
    count, total = len(ordered), 1.0
    if request.truncated:
        count = int(((ordered > 0) & (ordered >= request.min_p * ordered[0])).sum())
        if request.top_k > 0:
            count = min(count, request.top_k)
        sums = ordered[:count].double().cumsum(0)
        if request.top_p < 1:
            count = max(1, int((sums - ordered[:count] < request.top_p).sum()))
            sums = sums[:count]
        total = sums[-1].item()
        place = min(int(torch.searchsorted(sums, uniform * total, right=True)), count - 1)
        choice.token = int(ids[place])
        choice.logprob = math.log(ordered[place].item() / total)
        if request.supports:
            choice.kept = ids[:count].to(torch.int32).cpu().numpy()
    if request.top_logprobs > 0:
        k = min(request.top_logprobs, count)
        top = (ordered[:k] / total).log()
        choice.top = (ids[:k].to(torch.int32).cpu().numpy(), top.float().cpu().numpy())
    return choice


def step_arrays(sampled: list[tuple[Row, Choice | None, float]], has_values: bool) -> dict[str, numpy.ndarray]:
    """One step of a call: for each row its request, token (-1 for a value alone), log-probability and value."""
    i32, f32 = numpy.int32, numpy.float32
    choices = [choice for _, choice, _ in sampled]
    arrays = {
        "requests": numpy.array([row.request.index for row, _, _ in sampled], i32),
        "tokens": numpy.array([-1 if choice is None else choice.token for choice in choices], i32),
        "logprobs": numpy.array([0.0 if choice is None else choice.logprob for choice in choices], f32),
    }
    if has_values:
        arrays["values"] = numpy.array([value for _, _, value in sampled], f32)
    kept = [None if choice is None else choice.kept for choice in choices]
    if any(ids is not None for ids in kept):
        arrays["keptCounts"] = numpy.array([-1 if ids is None else len(ids) for ids in kept], i32)
        arrays["kept"] = numpy.concatenate([ids for ids in kept if ids is not None])
    top = [None if choice is None else choice.top for choice in choices]
    if any(pair is not None for pair in top):
        arrays["topCounts"] = numpy.array([0 if pair is None else len(pair[0]) for pair in top], i32)
        arrays["topIds"] = numpy.concatenate([pair[0] for pair in top if pair is not None])
        arrays["topLogprobs"] = numpy.concatenate([pair[1] for pair in top if pair is not None])
    return arrays


def _parts(prompts: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    """Splits prompts, sorted by length, into parts of at most MAX_PREFILL_TOKENS tokens."""
    parts: list[list[tuple[int, ...]]] = []
    for prompt in prompts:
        if not parts or (len(parts[-1]) + 1) * len(prompt) > MAX_PREFILL_TOKENS:
            parts.append([])
        parts[-1].append(prompt)
    return parts


def score(
    snapshot: Snapshot, settings: Settings, ids: numpy.ndarray, last: int, top_k: int, targets: list[numpy.ndarray]
) -> dict[str, numpy.ndarray]:
    """Computes log-probabilities at temperature 1 of the last ids of a sequence, and of the most likely ids there."""
    model = snapshot.model
    device = settings.device
    tokens = torch.from_numpy(ids.astype(numpy.int64)).to(device)
    arrays: dict[str, list[numpy.ndarray]] = {"logprobs": [], "topIds": [], "topLogprobs": [], "targetLogprobs": []}
    with settings.without_gradient(), model.active(snapshot.weights), settings.autocast():
        hidden = model.network.get_decoder()(input_ids=tokens[None], use_cache=False).last_hidden_state[0]
        hidden = hidden[-last - 1 : -1]
        rows = max(1, 2**26 // model.base.network.get_output_embeddings().weight.shape[0])
        for start in range(0, last, rows):
            logprobs = torch.log_softmax(model.base.logits(hidden[start : start + rows]), -1)
            own = tokens[len(tokens) - last + start :][: len(logprobs)]
            arrays["logprobs"].append(logprobs.gather(-1, own[:, None])[:, 0].cpu().numpy())
            if top_k > 0:
                ordered, order = logprobs.sort(dim=-1, descending=True, stable=True)
                arrays["topIds"].append(order[:, :top_k].to(torch.int32).cpu().numpy().ravel())
                arrays["topLogprobs"].append(ordered[:, :top_k].cpu().numpy().ravel())
            for n, wanted in enumerate(targets[start : start + rows]):
                found = logprobs[n][torch.from_numpy(wanted.astype(numpy.int64)).to(device)]
                arrays["targetLogprobs"].append(found.cpu().numpy())
    empty = {"topIds": numpy.zeros(0, numpy.int32)}
    return {
        name: numpy.concatenate(parts) if parts else empty.get(name, numpy.zeros(0, numpy.float32))
        for name, parts in arrays.items()
    }
