"""Gradients by PyTorch autograd in float32: of all parameters, or of the adapter's where one is named.

Request: {"jobs": [{"checkpoint", "adapter"?, "valueHead"?: {"weight": [number], "bias": number},
"dropout"?: {"rate", "masks": {module: [[[0 or 1]]]}}, "data": [datum],
"terms": [term], "gradientsFile"}]}. Writes each job's gradients as safetensors, by the names of checkpoint.py and, of a
value head, as `value_head.weight` and `value_head.bias`.
Response: {"jobs": [{"terms": [number]}]}: the sum of each term.
"""

import torch
from checkpoint import checkpoint_gradients, load_model
from contract import answer
from losses import total_loss
from safetensors.torch import save_file


def run_job(job: dict) -> dict:
    model = load_model(job["checkpoint"], job.get("adapter"), trainable=True)
    if "valueHead" in job:
        model.value_head = value_head(job["valueHead"])
    if "dropout" in job:
        fix_dropout(model, **job["dropout"])
    sums = total_loss(model, job["data"], job["terms"])
    sums.sum().backward()
    save_file(checkpoint_gradients(model), job["gradientsFile"])
    return {"terms": sums.tolist()}


class FixedDropout(torch.nn.Module):
    """Replaces peft's dropout of one adapter by given masks, one for each call."""

    def __init__(self, rate: float, masks: list[list[list[int]]]) -> None:
        super().__init__()
        self.scale = torch.nn.Dropout(rate)(torch.ones(10_000)).max()
        self.masks = iter(masks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.tensor(next(self.masks)) * self.scale


def fix_dropout(model: torch.nn.Module, rate: float, masks: dict) -> None:
    """Gives every adapter its masks instead of peft's own module, which has the same rate."""
    adapted = {
        name.removeprefix("base_model.model."): module
        for name, module in model.named_modules()
        if hasattr(module, "lora_dropout")
    }
    assert adapted.keys() == masks.keys(), adapted.keys() ^ masks.keys()
    for name, module in adapted.items():
        assert module.lora_dropout["default"].p == rate
        module.lora_dropout["default"] = FixedDropout(rate, masks[name])


def value_head(numbers: dict) -> torch.nn.Linear:
    head = torch.nn.Linear(len(numbers["weight"]), 1)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([numbers["weight"]]))
        head.bias.fill_(numbers["bias"])
    return head


def run(request: dict) -> dict:
    return {"jobs": [run_job(job) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
