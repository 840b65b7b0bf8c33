"""Write LoRA adapters by peft, with both halves random and not zero.

Request: {"adapters": [{"checkpoint", "folder", "rank", "alpha", "targets": [name], "dropout", "seed",
"more"?}]}, where "more" has other settings of LoraConfig.
Response: {folder: parameter count}.
"""

import torch
from checkpoint import load_model
from contract import answer
from peft import LoraConfig, get_peft_model


def make(request: dict) -> dict:
    counts = {}
    for wanted in request["adapters"]:
        config = LoraConfig(
            r=wanted["rank"],
            lora_alpha=wanted["alpha"],
            lora_dropout=wanted.get("dropout", 0),
            target_modules=wanted["targets"],
            task_type="CAUSAL_LM",
            **wanted.get("more", {}),
        )
        model = get_peft_model(load_model(wanted["checkpoint"]), config)
        generator = torch.Generator().manual_seed(wanted["seed"])
        trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
        with torch.no_grad():
            for parameter in trainable:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(0.3 * noise / parameter.shape[1] ** 0.5)
        model.save_pretrained(wanted["folder"])
        counts[wanted["folder"]] = sum(parameter.numel() for parameter in trainable)
    return counts


if __name__ == "__main__":
    answer(make)
