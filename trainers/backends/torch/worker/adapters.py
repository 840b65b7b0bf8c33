"""Low-rank adapters, as peft computes them, with less work on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from peft.tuners.lora import Linear, LoraLayer
from torch import nn

Weights = list[tuple[nn.Parameter, torch.Tensor]]


class AdaptedLinear(Linear):
    """A linear layer with adapters. It adds an adapter's output in place, where peft makes two more copies of it."""

    def forward(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Returns the layer's output, with that of its adapter."""
        # There is none if the last adapter was deleted.
        names = [] if self.disable_adapters else self.active_adapters
        if len(names) != 1 or kwargs:
            return super().forward(x, *args, **kwargs)
        name = names[0]
        if not is_plain(self, name) or self.lora_B[name].weight.dtype != x.dtype:
            return super().forward(x, *args, **kwargs)
        rows = x.flatten(0, -2)
        output = self.base_layer(rows)
        if output.dtype != x.dtype:
            return super().forward(x)
        inner = self.lora_A[name](self.lora_dropout[name](rows))
        output.addmm_(inner, self.lora_B[name].weight.t(), alpha=self.scaling[name])
        return output.view(*x.shape[:-1], -1)


def is_plain(layer: LoraLayer, adapter: str) -> bool:
    """True if an adapter of a layer is the product of two matrices and no more."""
    return adapter in layer.lora_B and adapter not in layer.lora_variant and layer.lora_B[adapter].bias is None


def merged(network: Any, adapter: str) -> Weights | None:
    """Returns the linear layers' weights with an adapter added, or None if it has others than plain linear layers.

    They are transposed in memory: products of few rows with them take a quarter less time.
    """
    layers = [
        layer
        for layer in network.modules()
        if isinstance(layer, LoraLayer) and (adapter in layer.lora_A or adapter in layer.lora_embedding_A)
    ]
    if any(not isinstance(layer, Linear) or not is_plain(layer, adapter) for layer in layers):
        return None
    # The head may share its weights with the embeddings, which have no adapter.
    if network.get_output_embeddings() in layers:
        return None
    weights: Weights = []
    for layer in layers:
        weight = layer.get_base_layer().weight
        found = weight.detach() + layer.get_delta_weight(adapter).detach()
        weights.append((weight, found if layer.fan_in_fan_out else found.t().contiguous().t()))
    return weights


def exchange(weights: Weights) -> Weights:
    """Puts weights in place, and returns those that were there."""
    present = [(parameter, parameter.data) for parameter, _ in weights]
    for parameter, tensor in weights:
        parameter.data = tensor
    return present
