"""ONNX files of checkpoints as transformers.js takes them: a folder like the checkpoint's with `onnx/model.onnx`.

One graph for prompts and single tokens: `input_ids`, `attention_mask`, `position_ids` and the cache's
`past_key_values.N.key|value` (batch, heads, past, width) to `logits` and `present.N.key|value`, in float32.
Request: {"checkpoints": [{"checkpoint", "folder"}]}. Response: {}. Needs the package `onnx`.
"""

import shutil
from pathlib import Path

import torch
from checkpoint import load_model
from contract import answer
from transformers.cache_utils import DynamicCache


class Step(torch.nn.Module):
    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        output = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=cache,
            use_cache=True,
        )
        present = [half for layer in output.past_key_values.layers for half in (layer.keys, layer.values)]
        return (output.logits, *present)


def export(checkpoint: str, folder: str) -> None:
    model = load_model(checkpoint)
    config = model.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    past = [torch.zeros(1, config.num_key_value_heads, 3, width) for _ in range(2 * config.num_hidden_layers)]
    names = [f"{layer}.{half}" for layer in range(config.num_hidden_layers) for half in ("key", "value")]
    past_names = [f"past_key_values.{name}" for name in names]
    present_names = [f"present.{name}" for name in names]
    target = Path(folder, "onnx", "model.onnx")
    target.parent.mkdir(parents=True)
    torch.onnx.export(
        Step(model),
        (torch.ones(1, 4, dtype=torch.long), torch.ones(1, 7, dtype=torch.long), torch.arange(3, 7)[None], *past),
        str(target),
        input_names=["input_ids", "attention_mask", "position_ids", *past_names],
        output_names=["logits", *present_names],
        dynamic_axes={
            "input_ids": {1: "tokens"},
            "position_ids": {1: "tokens"},
            "logits": {1: "tokens"},
            "attention_mask": {1: "total"},
            **{name: {2: "past"} for name in past_names},
            **{name: {2: "total"} for name in present_names},
        },
        opset_version=17,
        dynamo=False,
    )
    for file in Path(checkpoint).iterdir():
        if file.suffix in (".json", ".jinja"):
            shutil.copy(file, folder)


@torch.no_grad()
def run(request: dict) -> dict:
    for job in request["checkpoints"]:
        export(job["checkpoint"], job["folder"])
    return {}


if __name__ == "__main__":
    answer(run)
