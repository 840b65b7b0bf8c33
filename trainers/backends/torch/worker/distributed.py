"""Several processes that compute together.

torchrun starts them. Rank 0 talks to Lyceum and sends each call to the others, which run it on their own rows. With `ddp`
every process has the whole model. With `fsdp` the layers are sharded by `fully_shard`, and every process must run as many
forward and backward passes as the others.
"""

from __future__ import annotations

import datetime
import os
import struct
from typing import Any, Iterable, Sequence

import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor, distribute_tensor

from .frames import Arrays, Frame, decode, encode

# Gradients are summed in parts of about this many numbers.
BUCKET = 2**24


class Ranks:
    """This process and the others. A process alone has rank 0 of 1, and nothing is sent."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self.sharded = False
        if self.size > 1:
            if torch.cuda.is_available():
                torch.cuda.set_device(self.local_rank % torch.cuda.device_count())
            dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
            # Calls may be hours apart, because the environments decide when the next one comes.
            self._calls = dist.new_group(backend="gloo", timeout=datetime.timedelta(days=365))

    def send(self, message: dict[str, Any], arrays: Arrays) -> None:
        """Sends a frame from rank 0 to the others."""
        if self.size > 1:
            packed = _pack(message, arrays)
            dist.broadcast(torch.tensor([len(packed)]), 0, group=self._calls)
            dist.broadcast(packed, 0, group=self._calls)

    def receive(self) -> Frame:
        """Returns the next frame of rank 0. Raises RuntimeError if rank 0 has ended."""
        length = torch.zeros(1, dtype=torch.int64)
        dist.broadcast(length, 0, group=self._calls)
        packed = torch.empty(int(length), dtype=torch.uint8)
        dist.broadcast(packed, 0, group=self._calls)
        return _unpack(packed)

    def gather(self, message: dict[str, Any], arrays: Arrays) -> list[Frame]:
        """Returns the frames of all ranks, in every rank."""
        if self.size == 1:
            return [(message, dict(arrays))]
        packed = _pack(message, arrays)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(lengths, torch.tensor([len(packed)]), group=self._calls)
        longest = max(int(length) for length in lengths)
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: len(packed)] = packed
        found = [torch.empty(longest, dtype=torch.uint8) for _ in range(self.size)]
        dist.all_gather(found, padded, group=self._calls)
        return [_unpack(each[: int(length)]) for each, length in zip(found, lengths)]

    def most(self, count: int) -> int:
        """Returns the greatest count of any rank."""
        if self.size == 1:
            return count
        counts = torch.tensor([count])
        dist.all_reduce(counts, dist.ReduceOp.MAX, group=self._calls)
        return int(counts)

    def own(self, count: int, rank: int | None = None) -> slice:
        """Returns a rank's share of so many rows."""
        rank = self.rank if rank is None else rank
        return slice(count * rank // self.size, count * (rank + 1) // self.size)

    def shard(self, network: Any, device: torch.device) -> None:
        """Leaves in each process a part of each layer's weights. Embeddings, the head and adapters stay whole."""
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        self.sharded = True
        mesh = init_device_mesh(device.type, (self.size,))
        names = set(network._no_split_modules or [])
        layers = [module for module in network.modules() if type(module).__name__ in names]
        decoder = network.get_decoder()
        inside = {parameter for layer in layers for parameter in layer.parameters()}
        whole = {parameter for parameter in decoder.parameters() if parameter not in inside}
        for layer in layers:
            fully_shard(layer, mesh=mesh, reshard_after_forward=True)
        fully_shard(decoder, mesh=mesh, ignored_params=whole)
        for module in (*layers, decoder):
            # Losses are sums over rows, so gradients are sums too.
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(True)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Adds up the gradients of all ranks. Those of sharded weights are summed in the backward pass already."""
        if self.size == 1:
            return
        bucket: list[torch.Tensor] = []
        for parameter in parameters:
            if isinstance(parameter, DTensor):
                continue
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            bucket.append(parameter.grad)
            if sum(gradient.numel() for gradient in bucket) >= BUCKET:
                _sum(bucket)
                bucket = []
        if bucket:
            _sum(bucket)


def _sum(gradients: Sequence[torch.Tensor]) -> None:
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    for gradient, part in zip(gradients, flat.split([gradient.numel() for gradient in gradients])):
        gradient.copy_(part.view_as(gradient))


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor that may be sharded as a whole one. Every rank must call it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def as_sharded(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Returns a whole tensor on the device of another and sharded as that one."""
    tensor = tensor.to(like.device)
    return distribute_tensor(tensor, like.device_mesh, like.placements) if isinstance(like, DTensor) else tensor


def _pack(message: dict[str, Any], arrays: Arrays) -> torch.Tensor:
    header, body = encode(message, arrays)
    return torch.frombuffer(bytearray(struct.pack("<I", len(header)) + header + body), dtype=torch.uint8)


def _unpack(packed: torch.Tensor) -> Frame:
    data = packed.numpy().tobytes()
    (length,) = struct.unpack_from("<I", data)
    return decode(data[4 : 4 + length], data[4 + length :])
