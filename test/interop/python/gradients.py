"""Gradients by PyTorch autograd in float32: of all parameters, or of the adapter's where one is named.

Request: {"jobs": [{"checkpoint", "adapter"?, "valueHead"?: {"weight": [number], "bias": number}, "data": [datum],
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
    sums = total_loss(model, job["data"], job["terms"])
    sums.sum().backward()
    save_file(checkpoint_gradients(model), job["gradientsFile"])
    return {"terms": sums.tolist()}


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
