"""Write random tiny checkpoints as save_pretrained writes them.

Request: {"checkpoints": [{"folder", "tokenizer": folder, "config": {"model_type", ...}, "seed", "dtype",
"maxShardSize"?, "configForm": "current" | "legacy"}]}. The weights are scaled so that logits spread over several
units and every bias and norm differs from its usual start. `legacy` rewrites config.json to the keys that
transformers wrote before version 5 (`rope_theta`, `rope_scaling`, `torch_dtype`; no `head_dim` where the family had
none). Response: {folder: parameter count}.
"""

import json
from pathlib import Path

import torch
from contract import answer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


def randomize(model: torch.nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    # The weights of Gemma's norms start at zero.
    norm = 0 if model.config.model_type == "gemma3_text" else 1
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith("bias"):
                parameter.copy_(0.5 * noise)
            elif parameter.dim() == 1:
                parameter.copy_(norm + 0.2 * noise)
            elif any(part in name for part in ["embed_tokens", "wte", "wpe"]):
                parameter.copy_(0.5 * noise)
            else:
                # GPT-2 stores the matrices of linear layers as (inputs, outputs).
                inputs = parameter.shape[0 if ".h." in name else 1]
                parameter.copy_(1.2 * noise / inputs**0.5)


def write_legacy_config(folder: Path) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.46.0"
    if config.get("head_dim") == config["hidden_size"] // config["num_attention_heads"]:
        del config["head_dim"]
    for key in ["layer_types", "pad_token_id"]:
        config.pop(key, None)
    path.write_text(json.dumps(config, indent=2) + "\n")


def make(request: dict) -> dict:
    counts = {}
    for wanted in request["checkpoints"]:
        folder = Path(wanted["folder"])
        config = dict(wanted["config"])
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config))
        randomize(model, wanted["seed"])
        model.to(getattr(torch, wanted["dtype"])).save_pretrained(
            folder, max_shard_size=wanted.get("maxShardSize", "5GB")
        )
        if wanted["configForm"] == "legacy":
            write_legacy_config(folder)
        AutoTokenizer.from_pretrained(wanted["tokenizer"]).save_pretrained(folder)
        counts[wanted["folder"]] = sum(parameter.numel() for parameter in model.parameters())
    return counts


if __name__ == "__main__":
    answer(make)
