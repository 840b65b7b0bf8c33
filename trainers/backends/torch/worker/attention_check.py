"""Checks that a network can be continued token by token: it is causal, and its only state is keys and values."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from .cache import Decode, Prefill, SlotCache, decode_mask
from .frames import WorkerError

# What the layers of a config may be. Others have a state that `SlotCache` does not hold, or a mask that it does not make.
ATTENTION = {"full_attention", "sliding_attention"}


def require_attention(network: Any, device: torch.device, dtype: torch.dtype) -> None:
    """Raises `model.unsupported` for a network that sampling cannot continue. Runs it on three tokens."""
    config = network.config
    text = config.get_text_config()
    if config.is_encoder_decoder:
        raise _unsupported(config, "it has an encoder")
    others = sorted(set(getattr(text, "layer_types", None) or []) - ATTENTION)
    if others:
        raise _unsupported(config, f"it has layers of the type {others[0]}")
    decoder = network.get_decoder()
    if "past_key_values" not in inspect.signature(decoder.forward).parameters:
        raise _unsupported(config, "its state is not keys and values")
    try:
        causal, difference = _differences(decoder, text, device, dtype)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        raise _unsupported(config, f"its cache has failed: {type(error).__name__}: {error}") from error
    # Rounding alone gives less than 1e-6 in float32. In half precision, another expert may be chosen.
    exact = dtype == torch.float32
    if causal > (1e-5 if exact else 0.05):
        raise _unsupported(config, "it is not causal: what a token means depends on later ones")
    if difference > (1e-3 if exact else 0.5):
        raise _unsupported(config, "with a cache it computes other values than without")


def _differences(decoder: Any, config: Any, device: torch.device, dtype: torch.dtype) -> tuple[float, float]:
    """Returns how much the first state depends on later tokens, and how much the cache changes the last state."""

    def run(ids: list[int], **options: Any) -> torch.Tensor:
        tokens = torch.tensor([ids], device=device)
        return decoder(input_ids=tokens, **options).last_hidden_state[0].float()

    last = config.vocab_size - 1
    whole = run([0, 1, last], use_cache=False)
    other = run([0, last, 1], use_cache=False)
    cache = SlotCache(config.num_hidden_layers, 1, 4)
    row = torch.zeros(1, dtype=torch.int64, device=device)
    cache.plan = Prefill(row, row)
    run([0, 1], past_key_values=cache, use_cache=True)
    cache.plan = Decode(row + 2, 3)
    mask = decode_mask(config, cache.plan, dtype)
    decoded = run([last], position_ids=(row + 2)[None], attention_mask=mask, past_key_values=cache, use_cache=True)
    return _relative(other[0], whole[0]), _relative(decoded[0], whole[2])


def _relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm().clamp(min=1e-9))


def _unsupported(config: Any, why: str) -> WorkerError:
    return WorkerError(
        "model.unsupported",
        f"A model of the family {config.model_type} cannot be sampled: {why}.",
        "Choose a causal language model with attention in each layer, such as Llama, Qwen2, Qwen3, Mistral or Gemma.",
    )
