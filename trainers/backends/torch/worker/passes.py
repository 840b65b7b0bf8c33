"""Forward and backward passes over micro-batches.

A pass with gradients keeps its graph. Lyceum computes the loss from the outputs and sends its derivative by each of
them; `backward` runs the graph on these numbers. So a loss is written once, in TypeScript.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy
import torch
from torch import nn
from torch.distributed.tensor import DTensor
from torch.utils.checkpoint import checkpoint

from .cache import SharedPrefix
from .distributed import Ranks, whole
from .frames import WorkerError
from .models import Base, Model, Settings

# The logits that exist at a time: positions times vocabulary.
MAX_LOGITS = 2**26

# Equal beginnings of rows are read once if that saves this share of a micro-batch's tokens.
MIN_SHARED = 0.1

# The scale of gradients in float16 doubles after so many passes without an overflow, as `torch.amp.GradScaler` does.
GROWTH_PASSES = 2000
MIN_SCALE, MAX_SCALE = 2.0**-16, 2.0**24


def forward(
    model: Model,
    settings: Settings,
    arrays: dict[str, numpy.ndarray],
    outputs: Sequence[str],
    gradient: bool,
    dropout_seed: int | None,
) -> dict[str, numpy.ndarray]:
    """Computes outputs at the positions with loss, one sequence after another.

    `tokens` is (sequences, length), padded at the right. `positions` are indices into the flattened tokens. `targets`
    and `temperatures` have one entry per position, `supports` a bitmap of the vocabulary (little-endian bits). Each of
    several ranks computes its own rows. With a gradient, the first micro-batch begins a pass, which `commit` or `rollback`
    ends.
    """
    device = settings.device
    if gradient:
        _begin(model)
    model.graph = {}
    arrays, model.own = _own_rows(arrays, settings.ranks)
    tokens = torch.from_numpy(arrays["tokens"].astype(numpy.int64)).to(device)
    positions = torch.from_numpy(arrays["positions"].astype(numpy.int64)).to(device)
    dropout = gradient and dropout_seed is not None
    with model.active(dropout=dropout), torch.set_grad_enabled(gradient), torch.random.fork_rng(enabled=dropout):
        if dropout:
            torch.manual_seed(dropout_seed + settings.ranks.rank)
        with settings.autocast():
            shares = not (dropout or settings.recompute or settings.ranks.sharded)
            hidden = _hidden(model.network, tokens, _shared(arrays) if shares else 0)
            hidden = hidden.flatten(0, 1).index_select(0, positions)
            found: dict[str, torch.Tensor] = {}
            if "logprobs" in outputs or "entropy" in outputs:
                targets = torch.from_numpy(arrays["targets"].astype(numpy.int64)).to(device)
                scaled = bool((arrays["temperatures"] != 1).any())
                temperatures = torch.from_numpy(arrays["temperatures"].copy()).to(device) if scaled else None
                supports = _supports(arrays, device)
                wants_entropy = "entropy" in outputs
                found["logprobs"], entropy = head(model.base, hidden, targets, temperatures, supports, wants_entropy)
                if wants_entropy:
                    found["entropy"] = entropy
        if "values" in outputs:
            found["values"] = model.value_head(hidden.float()).squeeze(-1)
    if gradient:
        model.graph = found
    count = model.own.stop - model.own.start
    own = {name: found[name].detach()[:count].float().cpu().numpy() for name in outputs}
    parts = [part for _, part in settings.ranks.gather({}, own)]
    return {name: numpy.concatenate([part[name] for part in parts]) for name in outputs}


def _shared(arrays: dict[str, numpy.ndarray]) -> int:
    """Returns how many tokens at the beginnings of rows are worth being read once for equal rows: prompts, or none."""
    tokens, positions = arrays["tokens"], arrays["positions"]
    if len(positions) == 0:
        return 0
    length = int((positions % tokens.shape[1]).min()) + 1
    saved = (len(tokens) - len(numpy.unique(tokens[:, :length], axis=0))) * length
    return length if length < tokens.shape[1] and saved >= MIN_SHARED * tokens.size else 0


def _hidden(network: Any, tokens: torch.Tensor, shared: int) -> torch.Tensor:
    """Returns the final hidden states: (rows, length, size). Equal beginnings of `shared` tokens are read once."""
    decoder = network.get_decoder()
    if shared == 0:
        return decoder(input_ids=tokens, use_cache=False).last_hidden_state
    prefixes, rows = torch.unique(tokens[:, :shared], dim=0, return_inverse=True)
    cache = SharedPrefix(network.config.get_text_config().num_hidden_layers)
    first = decoder(input_ids=prefixes, past_key_values=cache, use_cache=True).last_hidden_state
    cache.rows, cache.length = rows, shared
    rest = decoder(input_ids=tokens[:, shared:], past_key_values=cache, use_cache=True).last_hidden_state
    return torch.cat([first.index_select(0, rows), rest], 1)


def _own_rows(arrays: dict[str, numpy.ndarray], ranks: Ranks) -> tuple[dict[str, numpy.ndarray], slice]:
    """Returns a rank's part of a micro-batch, and which of its positions these are.

    A rank without positions computes one that does not count, because sharded weights need all ranks in each pass.
    """
    tokens, positions = arrays["tokens"], arrays["positions"]
    rows = ranks.own(len(tokens))
    length = tokens.shape[1]
    start, stop = (int(place) for place in numpy.searchsorted(positions, [rows.start * length, rows.stop * length]))
    own = slice(start, stop)
    if ranks.size == 1:
        return arrays, own
    if start == stop:
        idle = {"tokens": tokens[:1, :1], "positions": numpy.zeros(1, numpy.int32), "targets": tokens[0, :1]}
        return {**idle, "temperatures": numpy.ones(1, numpy.float32)}, own
    part = {name: array[own] for name, array in arrays.items() if name != "tokens"}
    return {**part, "tokens": tokens[rows], "positions": part["positions"] - rows.start * length}, own


def backward(model: Model, settings: Settings, derivatives: dict[str, numpy.ndarray]) -> None:
    """Adds the gradient of the pass that `forward` kept, given the derivative of the loss by each output.

    In float16 the gradient is scaled, so that small numbers are not lost.
    """
    names = [name for name in model.graph if name in derivatives and model.graph[name].requires_grad]
    graph, model.graph = model.graph, {}
    if not names or graph[names[0]].numel() == 0:
        return
    own = {name: derivatives[name][model.own] * numpy.float32(model.scale or 1) for name in names}
    with model.active():
        torch.autograd.backward(
            [graph[name] for name in names],
            # The position of a rank that has none does not count.
            [torch.from_numpy(part if len(part) else numpy.zeros(1, numpy.float32)).to(settings.device) for part in own.values()],
            # `fully_shard` puts gradients of whole weights, which no list has, into those of sharded ones.
            inputs=None if settings.ranks.sharded else list(model.trained.values()),
        )


def _begin(model: Model) -> None:
    """Begins a pass, if none runs. Its gradient is added only if it ends well."""
    model.require_trained()
    if model.earlier is not None:
        return
    model.earlier = {name: parameter.grad for name, parameter in model.trained.items()}
    for parameter in model.trained.values():
        parameter.grad = None


def commit(model: Model, settings: Settings) -> bool:
    """Adds the pass's gradient, summed over the ranks, to the accumulated one.

    It ends the pass. Returns False, and drops the gradient, if it has overflowed in float16. The pass must then run again: the scale is
    half as large.
    """
    if model.earlier is None:
        return True
    parameters = model.trained.values()
    settings.ranks.sum_gradients(parameters)
    if model.scale is not None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        for gradient in gradients:
            gradient.mul_(1 / model.scale)
        finite = all(bool(torch.isfinite(_local(gradient)).all()) for gradient in gradients)
        if settings.ranks.most(not finite) and model.scale > MIN_SCALE:
            rollback(model)
            model.scale, model.good_passes = model.scale / 2, 0
            return False
        model.good_passes += 1
        if model.good_passes == GROWTH_PASSES:
            model.scale, model.good_passes = min(2 * model.scale, MAX_SCALE), 0
    for name, before in model.earlier.items():
        parameter = model.trained[name]
        if before is not None:
            parameter.grad = before if parameter.grad is None else before.add_(parameter.grad)
    model.earlier = None
    return True


def _local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def rollback(model: Model) -> None:
    """Drops the pass's gradient."""
    model.graph = {}
    if model.earlier is not None:
        for name, before in model.earlier.items():
            model.trained[name].grad = before
        model.earlier = None


def step(model: Model, params: dict[str, float], step_id: int) -> float:
    """Takes a step of AdamW with the accumulated gradient and clears it. Returns the gradient's norm before clipping."""
    model.require_trained()
    if step_id == model.last_step:
        return 0.0
    parameters = list(model.trained.values())
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    # Operations on lists take either sharded tensors or whole ones.
    kinds = [kind for kind in _by_sharding(parameters) if kind]
    norms = [whole(torch.nn.utils.get_total_norm([parameter.grad for parameter in kind], foreach=True)) for kind in kinds]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    if not bool(torch.isfinite(norm)):
        clear(model)
        raise not_finite(f"The gradient's norm is {norm.item()}.")
    clip = params.get("clipNorm")
    if clip is not None:
        for kind in kinds:
            torch.nn.utils.clip_grads_with_norm_(kind, clip, norm)
    model.before_change()
    optimizer = model.optimizer or make_optimizer(model)
    for group in optimizer.param_groups:
        group["lr"], group["eps"] = params["learningRate"], params["epsilon"]
        group["betas"] = (params["beta1"], params["beta2"])
        group["weight_decay"] = params["weightDecay"] if group["decays"] else 0.0
    optimizer.step()
    clear(model)
    model.version += 1
    model.last_step = step_id
    return norm.item()


def make_optimizer(model: Model) -> torch.optim.AdamW:
    """Creates the optimizer. Biases and the weights of norms are not decayed."""
    matrices = [parameter for parameter in model.trained.values() if parameter.ndim >= 2]
    others = [parameter for parameter in model.trained.values() if parameter.ndim < 2]
    groups = [
        {"params": kind, "decays": decays}
        for parameters, decays in ((matrices, True), (others, False))
        for kind in _by_sharding(parameters)
    ]
    model.optimizer = torch.optim.AdamW([group for group in groups if group["params"]], lr=0.0)
    return model.optimizer


def _by_sharding(parameters: list[nn.Parameter]) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    sharded = [parameter for parameter in parameters if isinstance(parameter, DTensor)]
    return sharded, [parameter for parameter in parameters if not isinstance(parameter, DTensor)]


def clear(model: Model) -> None:
    """Drops the accumulated gradient."""
    rollback(model)
    for parameter in model.trained.values():
        parameter.grad = None


def head(
    base: Base,
    hidden: torch.Tensor,
    targets: torch.Tensor,
    temperatures: torch.Tensor | None,
    supports: torch.Tensor | None,
    wants_entropy: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes log-probabilities of targets, and entropies, in chunks of positions.

    The logits of only one chunk exist at a time. A backward pass computes them again.
    """
    vocabulary = base.network.get_output_embeddings().weight.shape[0]
    rows = max(1, MAX_LOGITS // vocabulary)
    inputs = (hidden, targets, temperatures, supports)
    chunks = [
        tuple(None if each is None else each[i : i + rows] for each in inputs) for i in range(0, len(targets), rows)
    ]

    def run(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return _chunk(base, *inputs, wants_entropy)

    recompute = len(chunks) > 1 and torch.is_grad_enabled()
    results = [checkpoint(run, *inputs, use_reentrant=False) if recompute else run(*inputs) for inputs in chunks]
    if not results:
        empty = hidden.new_zeros(0, dtype=torch.float32)
        return empty, empty
    return torch.cat([result[0] for result in results]), torch.cat([result[1] for result in results])


def _chunk(
    base: Base,
    hidden: torch.Tensor,
    targets: torch.Tensor,
    temperatures: torch.Tensor | None,
    supports: torch.Tensor | None,
    wants_entropy: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    logits = base.logits(hidden)
    if temperatures is not None:
        logits = logits / temperatures[:, None]
    if supports is not None:
        logits = logits.masked_fill(~_unpack(supports, logits.shape[-1]), -1e20)
    return TokenLogprobs.apply(logits, targets, wants_entropy)


class TokenLogprobs(torch.autograd.Function):
    """The log-probabilities of targets and the entropies, (positions), of logits: (positions, vocabulary).

    It keeps one tensor of the size of the logits, and its backward pass overwrites that with the gradient: with
    p = softmax(z), dlog p_t / dz = e_t - p, and dH / dz = -p (log p + H).
    """

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: torch.Tensor, wants_entropy: bool) -> tuple[torch.Tensor, torch.Tensor]:
        logprobs = torch.log_softmax(logits, -1)
        chosen = logprobs.gather(-1, targets[:, None]).squeeze(-1)
        entropy = -(logprobs.exp() * logprobs).sum(-1) if wants_entropy else torch.zeros_like(chosen)
        ctx.save_for_backward(logprobs, targets, entropy)
        ctx.wants_entropy = wants_entropy
        return chosen, entropy

    @staticmethod
    def backward(ctx: Any, of_chosen: torch.Tensor, of_entropy: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        logprobs, targets, entropy = ctx.saved_tensors
        factor = -of_chosen[:, None]
        if ctx.wants_entropy:
            factor = factor - of_entropy[:, None] * (logprobs + entropy[:, None])
        gradient = logprobs.exp_().mul_(factor)
        return gradient.scatter_add_(-1, targets[:, None], of_chosen[:, None]), None, None


def _supports(arrays: dict[str, numpy.ndarray], device: torch.device) -> torch.Tensor | None:
    packed = arrays.get("supports")
    return None if packed is None else torch.from_numpy(packed.copy()).to(device)


def _unpack(packed: torch.Tensor, vocabulary: int) -> torch.Tensor:
    bits = torch.arange(8, device=packed.device, dtype=torch.uint8)
    return ((packed[:, :, None] >> bits) & 1).bool().reshape(len(packed), -1)[:, :vocabulary]


def not_finite(message: str) -> WorkerError:
    """Weights, a loss or a gradient that are not numbers."""
    return WorkerError(
        "backend.not-finite",
        message,
        "Lower training.learningRate, or resume from a checkpoint before the weights diverged.",
    )
