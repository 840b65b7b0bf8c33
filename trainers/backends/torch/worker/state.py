"""Saves, loads and exports weights. Lyceum gives a new folder and renames it when it is complete."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from typing import Any

import torch
from peft.utils.integrations import dequantize_module_weight
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from transformers.core_model_loading import revert_weight_conversion

from .distributed import Ranks, as_sharded, whole
from .frames import WorkerError
from .models import VALUE_HEAD_FILE, Model, adapter_tensors
from .passes import clear, make_optimizer

SCHEMA_VERSION = 1
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def save(model: Model, folder: str, ranks: Ranks) -> None:
    """Writes trained weights, moments and counts. Rank 0 writes whole tensors, which any number of ranks can read."""
    found: dict[str, torch.Tensor] = {}
    steps = 0
    state = model.optimizer.state if model.optimizer is not None else {}
    for name, parameter in model.trained.items():
        found[name] = parameter.detach()
        moments = state.get(parameter)
        if moments:
            steps = int(moments["step"])
            found[f"moment1.{name}"], found[f"moment2.{name}"] = moments["exp_avg"], moments["exp_avg_sq"]
    tensors = {name: _copy(tensor, ranks) for name, tensor in found.items()}
    base = _base_hash(model)
    if ranks.rank > 0:
        return
    save_file(tensors, os.path.join(folder, "state.safetensors"))
    described = {
        "schemaVersion": SCHEMA_VERSION,
        "backend": "torch",
        "structure": _structure(model),
        "base": base,
        "version": model.version,
        "lastStepId": model.last_step,
        "adamStep": steps,
        "scale": model.scale,
        "goodPasses": model.good_passes,
    }
    with open(os.path.join(folder, "state.json"), "w", encoding="utf-8") as file:
        json.dump(described, file, indent=2)


def load(model: Model, folder: str, with_optimizer: bool) -> None:
    """Restores what `save` wrote, and drops the accumulated gradient."""
    try:
        with open(os.path.join(folder, "state.json"), encoding="utf-8") as file:
            state = json.load(file)
        tensors = load_file(os.path.join(folder, "state.safetensors"))
    except Exception as error:
        raise _unusable(folder, f"it cannot be read ({error})") from error
    if state.get("backend") != "torch" or state.get("schemaVersion") != SCHEMA_VERSION:
        raise _unusable(folder, "another backend or another version of Lyceum wrote it")
    if state.get("structure") != _structure(model):
        raise _unusable(folder, "it belongs to a model with another shape")
    if state.get("base") != _base_hash(model):
        raise _unusable(folder, "its adapter was trained on other base weights")
    missing = [name for name in model.trained if name not in tensors]
    if missing:
        raise _unusable(folder, f"it has no {missing[0]}")
    model.before_change()
    clear(model)
    with torch.no_grad():
        for name, parameter in model.trained.items():
            parameter.copy_(as_sharded(tensors[name], parameter))
    model.version, model.last_step, model.optimizer = state["version"], state["lastStepId"], None
    if state.get("scale") is not None and model.scale is not None:
        model.scale, model.good_passes = state["scale"], state["goodPasses"]
    if with_optimizer and state["adamStep"] > 0:
        optimizer = make_optimizer(model)
        for name, parameter in model.trained.items():
            optimizer.state[parameter] = {
                "step": torch.tensor(float(state["adamStep"])),
                "exp_avg": as_sharded(tensors[f"moment1.{name}"], parameter),
                "exp_avg_sq": as_sharded(tensors[f"moment2.{name}"], parameter),
            }


def export(model: Model, folder: str, form: str, dtype: str | None, base_model: str | None, ranks: Ranks) -> None:
    """Writes a folder that `transformers` or `peft` loads, without the tokenizer. Rank 0 writes it."""
    merged = _merged(model, ranks) if form != "peft" else {}
    if ranks.rank > 0:
        return
    if form == "peft":
        write_adapter(model, folder, base_model)
    else:
        own = getattr(model.network.config, "dtype", None)
        target = DTYPES[dtype] if dtype is not None else own if isinstance(own, torch.dtype) else torch.float32
        tensors = {name: tensor.to(target) for name, tensor in merged.items()}
        # A network without weights has the plain layers of one whose weights are quantized.
        config = copy.deepcopy(model.network.config)
        config.dtype = target
        if getattr(config, "quantization_config", None) is not None:
            del config.quantization_config
        with torch.device("meta"):
            plain = AutoModelForCausalLM.from_config(config, dtype=target)
        plain.generation_config = model.network.generation_config
        plain.save_pretrained(folder, state_dict=tensors)
    if model.value_head is not None:
        tensors = {name: model.trained[name].detach().cpu() for name in ("value_head.weight", "value_head.bias")}
        save_file(tensors, os.path.join(folder, VALUE_HEAD_FILE))


def write_adapter(model: Model, folder: str, base_model: str | None) -> None:
    """Writes the model's adapter as peft does."""
    config = model.base.peft.peft_config[model.adapter]
    described = {**config.to_dict(), "inference_mode": True, "base_model_name_or_path": base_model}
    described["target_modules"] = sorted(config.target_modules)
    with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as file:
        json.dump(described, file, indent=2, default=str)
    tensors = {name: tensor.detach().float().cpu().contiguous() for name, tensor in adapter_tensors(model).items()}
    save_file(tensors, os.path.join(folder, "adapter_model.safetensors"), metadata={"format": "pt"})


def plain_weights(network: Any) -> dict[str, torch.Tensor]:
    """Returns a network's weights without its adapters, by the names that its family has in files."""
    plain = {name.replace(".base_layer.", "."): tensor for name, tensor in network.state_dict().items() if ".lora_" not in name}
    return revert_weight_conversion(network, plain)


def _copy(tensor: torch.Tensor, ranks: Ranks) -> torch.Tensor:
    """Returns a copy of the whole tensor in the computer's memory; an empty one where it is not written."""
    tensor = whole(tensor)
    return torch.empty(0) if ranks.rank > 0 else tensor.to("cpu", copy=True).contiguous()


def _merged(model: Model, ranks: Ranks) -> dict[str, torch.Tensor]:
    """Returns the network's weights with the model's adapter added, by the names of the plain network."""
    modules = dict(model.network.named_modules())
    quantized = getattr(model.network, "is_quantized", False)
    known = dict(model.network.named_parameters(remove_duplicate=False))
    merged: dict[str, torch.Tensor] = {}
    for name, tensor in model.network.state_dict().items():
        # The state of quantized weights has further tensors, such as scales.
        if ".lora_" in name or (quantized and name not in known):
            continue
        plain = name.replace(".base_layer.", ".")
        if quantized and name.endswith(".weight"):
            tensor = dequantize_module_weight(modules[name.removesuffix(".weight")])
        tensor = _copy(tensor.detach(), ranks).float()
        if ranks.rank > 0:
            continue
        layer = modules.get(name.rsplit(".base_layer.", 1)[0]) if ".base_layer." in name else None
        if layer is not None and name.endswith(".weight") and model.adapter in getattr(layer, "lora_A", {}):
            tensor = tensor + layer.get_delta_weight(model.adapter).detach().float().cpu()
        merged[plain] = tensor
    return merged


def _structure(model: Model) -> str:
    shapes = [[name, list(parameter.shape)] for name, parameter in sorted(model.trained.items())]
    return hashlib.sha256(json.dumps(shapes).encode()).hexdigest()[:16]


def _base_hash(model: Model) -> str | None:
    """Identifies the frozen weights under an adapter by a sample of them."""
    if model.adapter is None:
        return None
    digest = hashlib.sha256()
    for name, parameter in model.network.named_parameters():
        if ".lora_" not in name:
            digest.update(whole(parameter.detach()).flatten()[:: 997].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _unusable(folder: str, why: str) -> WorkerError:
    return WorkerError(
        "checkpoint.unusable",
        f"The checkpoint in {folder} cannot be loaded: {why}.",
        "If the config has changed, change it back. If the checkpoint is damaged, move it out of the run's folder: the"
        " run then continues from the previous checkpoint.",
    )
