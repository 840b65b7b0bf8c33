"""Opens models. Models with the same source share one copy of the frozen weights; each adapter has its own."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.util
import json
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
from peft import LoraConfig, PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from peft.tuners.lora import LoraLayer
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from torch.distributed.tensor import DTensor
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM, BitsAndBytesConfig
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.pytorch_utils import Conv1D

from .adapters import AdaptedLinear, Weights, exchange
from .attention_check import require_attention
from .distributed import Ranks
from .frames import WorkerError

VALUE_HEAD_FILE = "value_head.safetensors"


@dataclass
class Settings:
    """How the worker computes."""

    device: torch.device
    dtype: torch.dtype
    recompute: bool
    ranks: Ranks
    strategy: str = "ddp"
    # The bits of frozen weights, by bitsandbytes. None: not quantized.
    quantize: int | None = None
    # True if vLLM samples, and the GiB of its keys and values.
    vllm: bool = False
    sampler_memory: float = 4.0
    # True if the decoding step is compiled.
    compile: bool = False

    @property
    def merges(self) -> bool:
        """True if sampling may merge adapters. It needs a second copy of the weights, and in float32 it changes nothing."""
        return self.device.type == "cpu" and self.dtype == torch.float32 and self.quantize is None and not self.ranks.sharded

    def autocast(self) -> Any:
        """Computes matrix products in the lower precision, if one is set."""
        return torch.autocast(self.device.type, self.dtype, enabled=self.dtype != torch.float32)

    def without_gradient(self) -> Any:
        """Computes without a gradient. `fully_shard` does not support inference mode."""
        return torch.no_grad() if self.ranks.sharded else torch.inference_mode()


@dataclass
class Base:
    """A network of `transformers`, and the adapters on it."""

    key: str
    network: Any
    peft: PeftModel | None = None
    models: int = 0
    # The adapter that the layers use, whether it is trained, and whether it drops inputs. None: unknown.
    state: tuple[str | None, bool, bool] | None = None
    # The vLLM engine that samples from the network, if any.
    sampler: Any = None

    def use(self, adapter: str | None, trains: bool, dropout: bool) -> None:
        """Switches the layers to an adapter, or to none."""
        if self.state == (adapter, trains, dropout):
            return
        for layer in self.network.modules():
            if not isinstance(layer, LoraLayer):
                continue
            layer.enable_adapters(adapter is not None)
            if adapter is not None:
                layer.set_adapter(adapter, inference_mode=not trains)
                if adapter in layer.lora_dropout:
                    layer.lora_dropout[adapter].train(dropout)
        self.state = (adapter, trains, dropout)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Computes float32 logits from final hidden states, as the network itself does."""
        config = self.network.config.get_text_config()
        logits = self.network.get_output_embeddings()(hidden).float()
        scale = getattr(config, "logit_scale", None)
        if scale is not None:
            logits = logits * scale
        scaling = getattr(config, "logits_scaling", None)
        if scaling is not None:
            logits = logits / scaling
        cap = getattr(config, "final_logit_softcapping", None)
        return logits if cap is None else torch.tanh(logits / cap) * cap


@dataclass(eq=False)
class Model:
    """A model that Lyceum has opened: what it trains, its gradient and its optimizer."""

    base: Base
    adapter: str | None
    trained: dict[str, nn.Parameter]
    value_head: nn.Linear | None
    dropout: float = 0.0
    version: int = 0
    last_step: int | None = None
    # What the loss is multiplied by in the backward pass in float16, and the passes since it has changed.
    scale: float | None = None
    good_passes: int = 0
    optimizer: torch.optim.AdamW | None = None
    # The gradient before the pass that runs, and that pass's outputs.
    earlier: dict[str, torch.Tensor | None] | None = None
    graph: dict[str, torch.Tensor] = field(default_factory=dict)
    # The positions of that pass that this rank computes.
    own: slice = field(default_factory=lambda: slice(0, 0))
    snapshots: set[Snapshot] = field(default_factory=set)

    @property
    def network(self) -> Any:
        return self.base.network

    def require_trained(self) -> None:
        """Raises `backend.unsupported` for a frozen model."""
        if not self.trained:
            raise WorkerError(
                "backend.unsupported",
                "This model is frozen: it has no parameters to train.",
                'Open it with trainable { type: "full" } or { type: "lora", ... }.',
            )

    def before_change(self) -> None:
        """Gives the snapshots of the current weights a copy of their own."""
        current = [snapshot for snapshot in self.snapshots if snapshot.weights is None]
        if current:
            copy = {name: parameter.detach().clone() for name, parameter in self.trained.items()}
            for snapshot in current:
                snapshot.weights = copy

    @contextlib.contextmanager
    def active(
        self, weights: dict[str, torch.Tensor] | None = None, dropout: bool = False, merged: Weights | None = None
    ) -> Iterator[None]:
        """Runs the network with this model's adapter, which may be merged, and with earlier weights if given."""
        self.base.use(self.adapter if merged is None else None, bool(self.trained), dropout)
        present = self._exchange(weights) if weights else None
        unmerged = exchange(merged or [])
        try:
            yield
        finally:
            exchange(unmerged)
            if present is not None:
                self._exchange(present)

    def _exchange(self, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Puts weights in place and returns those that were there. Sharded ones are copied, for `fully_shard` keeps views."""
        present: dict[str, torch.Tensor] = {}
        for name, parameter in self.trained.items():
            if isinstance(parameter, DTensor):
                present[name] = parameter.detach().clone()
                parameter.detach().copy_(weights[name])
            else:
                present[name], parameter.data = parameter.data, weights[name]
        return present


@dataclass(eq=False)
class Snapshot:
    """The weights of a model at one version. `weights` is None while they are the model's current ones."""

    model: Model
    version: int
    weights: dict[str, torch.Tensor] | None = None


class ModelStore:
    """The open models and their bases."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._bases: dict[str, Base] = {}
        self._opened = 0
        self._shards = settings.strategy == "fsdp" and settings.ranks.size > 1

    def open(self, source: dict[str, Any], trainable: dict[str, Any], value_head: bool) -> Model:
        """Opens a model. Raises `model.unsupported`, `model.malformed`, `model.mismatch` or `config.invalid`."""
        kind, stored = trainable["type"], source.get("adapter")
        merges = kind == "full" or (kind == "lora" and trainable.get("start") == "merge")
        if self.settings.quantize is not None:
            _check_quantized(source, merges)
        alone = stored is not None and not merges and _replaces_modules(stored)
        base = self._base(source, own=kind == "full", merged=merges, alone=alone)
        try:
            adapter = None
            if kind == "lora" or (stored is not None and not merges):
                continued = None if merges else stored
                adapter = self._add_adapter(base, trainable.get("lora", {}), continued, trains=kind == "lora")
            model = self._model(base, adapter, kind, value_head)
            model.dropout = trainable.get("lora", {}).get("dropout", 0.0) if kind == "lora" else 0.0
            if value_head:
                self._read_value_head(model, stored or source.get("folder"))
            return model
        except BaseException:
            self._release(base)
            raise

    def close(self, model: Model) -> None:
        """Frees a model's memory. Its snapshots must be closed before."""
        if model.adapter is not None:
            model.base.peft.delete_adapter(model.adapter)
            model.base.state = None
        model.trained, model.optimizer, model.graph = {}, None, {}
        self._release(model.base)

    def _base(self, source: dict[str, Any], own: bool, merged: bool, alone: bool) -> Base:
        named = {name: source.get(name) for name in ("type", "folder", "config", "seed")}
        key = json.dumps([named, source.get("adapter") if merged else None], sort_keys=True)
        if own or alone:
            self._opened += 1
            key = f"{key}#{self._opened}"
        base = self._bases.get(key)
        if base is None:
            dtype = torch.float32 if own else self.settings.dtype
            base = Base(key, self._network(source, dtype))
            if merged and source.get("adapter") is not None:
                self._add_adapter(base, {}, source["adapter"], trains=False)
                base.network = base.peft.merge_and_unload()
                base.peft = None
            base.network.requires_grad_(own)
            if self._shards:
                self.settings.ranks.shard(base.network, self.settings.device)
            if self.settings.quantize is None:
                base.network.to(self.settings.device)
            with self.settings.without_gradient(), self.settings.autocast():
                require_attention(base.network, self.settings.device, self.settings.dtype)
            self._bases[key] = base
        base.models += 1
        return base

    def _release(self, base: Base) -> None:
        base.models -= 1
        if base.models == 0:
            self._bases.pop(base.key, None)
            if base.sampler is not None:
                base.sampler.close()
                base.sampler = None
            gc.collect()
            if self.settings.device.type == "cuda":
                torch.cuda.empty_cache()

    def _network(self, source: dict[str, Any], dtype: torch.dtype) -> Any:
        if source["type"] == "scratch":
            config = dict(source["config"])
            family = config.pop("model_type", None)
            try:
                made = AutoConfig.for_model(family, **config)
                with torch.random.fork_rng(), torch.device("cpu" if self._shards else self.settings.device):
                    torch.manual_seed(int(source["seed"]) % 2**63)
                    network = AutoModelForCausalLM.from_config(made, dtype=torch.float32)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                raise unsupported(f"A model of this config cannot be made: {_one_line(error)}") from error
            network = network.to(dtype)
        else:
            try:
                network = AutoModelForCausalLM.from_pretrained(
                    source["folder"],
                    dtype=dtype,
                    local_files_only=True,
                    trust_remote_code=False,
                    **self._quantization(dtype),
                )
            except (ValueError, KeyError, ImportError) as error:
                raise unsupported(f"transformers cannot open {source['folder']}: {_one_line(error)}") from error
            except (OSError, SafetensorError, RuntimeError) as error:
                if isinstance(error, torch.OutOfMemoryError):
                    raise
                raise malformed(f"transformers cannot open {source['folder']}: {_one_line(error)}") from error
        network.eval()
        if self.settings.recompute:
            # `gradient_checkpointing_enable` has an effect in training mode only, which would drop activations too.
            for layer in network.modules():
                if isinstance(layer, GradientCheckpointingLayer):
                    layer.forward = _recomputed(layer.forward)
        return network

    def _quantization(self, dtype: torch.dtype) -> dict[str, Any]:
        bits = self.settings.quantize
        if bits is None:
            return {}
        config = BitsAndBytesConfig(
            load_in_8bit=bits == 8,
            # Outliers would be found by batch, so that sampling and training would differ.
            llm_int8_threshold=0.0,
            load_in_4bit=bits == 4,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=dtype,
        )
        return {"quantization_config": config, "device_map": {"": self.settings.device}}

    def _add_adapter(self, base: Base, lora: dict[str, Any], folder: str | None, trains: bool) -> str:
        self._opened += 1
        name = f"adapter{self._opened}"
        if folder is not None:
            config = LoraConfig.from_pretrained(folder)
            config.inference_mode = not trains
            _check_continued(folder, config, lora)
        else:
            config = LoraConfig(
                r=lora.get("rank", 16),
                lora_alpha=lora.get("alpha", 32),
                lora_dropout=lora.get("dropout", 0.0),
                target_modules=list(lora["targets"]) if lora.get("targets") else linear_layers(base.network),
                task_type="CAUSAL_LM",
            )
        if self.settings.quantize is None:
            config._register_custom_module({nn.Linear: AdaptedLinear})
        try:
            with torch.random.fork_rng():
                torch.manual_seed(int(lora.get("seed", 0)) % 2**63)
                if base.peft is None:
                    base.peft = PeftModel(base.network, config, adapter_name=name, autocast_adapter_dtype=True)
                else:
                    base.peft.add_adapter(name, config)
        except ValueError as error:
            raise WorkerError(
                "config.invalid",
                f"No adapter can be added: {error}",
                "Name layers of the model in the targets of the adapter, such as q_proj.",
            ) from error
        base.network.eval()
        base.state = None
        if folder is not None:
            found = load_file(os.path.join(folder, "adapter_model.safetensors"))
            try:
                result = set_peft_model_state_dict(base.peft, found, adapter_name=name)
            except RuntimeError as error:
                raise mismatch(f"The adapter {folder} does not fit its base: {error}") from error
            unread = [key for key in result.unexpected_keys if "lora_" in key]
            if unread:
                raise mismatch(f"The adapter {folder} does not fit its base, which has no layer for {unread[0]}")
        return name

    def _model(self, base: Base, adapter: str | None, kind: str, value_head: bool) -> Model:
        trained: dict[str, nn.Parameter] = {}
        if kind == "full":
            trained = dict(base.network.named_parameters())
        elif kind == "lora":
            for name, parameter in base.network.named_parameters():
                if f".{adapter}." in name:
                    parameter.data = parameter.data.float()
                    trained[name.replace(f".{adapter}.", ".")] = parameter
        for parameter in trained.values():
            parameter.requires_grad_(True)
        head = None
        if value_head:
            head = nn.Linear(base.network.config.get_text_config().hidden_size, 1, device=self.settings.device)
            nn.init.zeros_(head.weight)
            nn.init.zeros_(head.bias)
            trained = {**trained, "value_head.weight": head.weight, "value_head.bias": head.bias}
        # Gradients pass through float16 activations, where small ones would be 0.
        scale = 2.0**16 if self.settings.dtype == torch.float16 else None
        return Model(base, adapter, trained, head, scale=scale)

    def _read_value_head(self, model: Model, folder: str | None) -> None:
        file = None if folder is None else os.path.join(folder, VALUE_HEAD_FILE)
        if file is None or not os.path.exists(file):
            return
        for name, tensor in load_file(file).items():
            model.trained[name].data.copy_(tensor)


def adapter_tensors(model: Model) -> dict[str, torch.Tensor]:
    """Returns an adapter's tensors with the names that peft gives them in a file."""
    return get_peft_model_state_dict(model.base.peft, adapter_name=model.adapter)


def linear_layers(network: Any) -> list[str]:
    """Returns the ends of the names of every linear layer but the output head."""
    head = network.get_output_embeddings()
    found = {
        name.rsplit(".", 1)[-1]
        for name, module in network.named_modules()
        if isinstance(module, (nn.Linear, Conv1D)) and module is not head and not name.endswith("base_layer")
    }
    # A layer that already has an adapter of another model is wrapped.
    found |= {
        name.rsplit(".", 1)[-1]
        for name, module in network.named_modules()
        if isinstance(module, LoraLayer) and module is not head
    }
    return sorted(found - {"default"})


def _recomputed(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch.is_grad_enabled():
            return checkpoint(forward, *args, use_reentrant=False, **kwargs)
        return forward(*args, **kwargs)

    return run


def _check_quantized(source: dict[str, Any], merges: bool) -> None:
    if merges or source["type"] == "scratch":
        raise WorkerError(
            "config.invalid",
            "backend.quantize is for frozen weights, but this model trains all of its weights, merges an adapter or"
            " begins from scratch.",
            "Set model.adapter to train an adapter on the quantized weights, or remove backend.quantize.",
        )
    if importlib.util.find_spec("bitsandbytes") is None:
        raise WorkerError(
            "backend.unsupported",
            "backend.quantize needs the package bitsandbytes.",
            f"Run {sys.executable} -m pip install bitsandbytes, or remove backend.quantize.",
        )


def _replaces_modules(folder: str) -> bool:
    """True if an adapter has more than low-rank layers: whole modules or tokens of its own, which `Base.use` does not switch."""
    config = LoraConfig.from_pretrained(folder)
    return bool(config.modules_to_save or config.trainable_token_indices)


def _check_continued(folder: str, config: LoraConfig, lora: dict[str, Any]) -> None:
    own = {"rank": config.r, "alpha": config.lora_alpha}
    for name, value in own.items():
        asked = lora.get(name)
        if asked is not None and asked != value:
            raise WorkerError(
                "config.invalid",
                f"The adapter {folder} has {name} {value}, but the config requests {asked}.",
                f"Remove model.adapter.{name} to continue training this adapter, or set model.adapter.start to merge to"
                " train a new adapter on the merged model.",
            )


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if "trust_remote_code" in text:
        return "its code is in the folder, and code of a model is never run"
    # Lists of all families follow.
    return re.split(r" (?:Model type should be|Should contain) one of", text)[0]


def unsupported(message: str) -> WorkerError:
    """A model that this worker cannot run."""
    return WorkerError("model.unsupported", message, "Choose a causal language model that this transformers can open.")


def malformed(message: str) -> WorkerError:
    """A folder that cannot be read."""
    return WorkerError("model.malformed", message, "Download the model again.")


def mismatch(message: str) -> WorkerError:
    """An adapter of another base."""
    return WorkerError("model.mismatch", message, "Open the adapter with the base that it was trained on.")
