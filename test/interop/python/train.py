"""Steps of PyTorch's AdamW, with the gradient clipped to a global norm, and the weight decay of transformers' Trainer.

Request: {"jobs": [{"checkpoint", "adapter"?, "data": [datum], "terms": [term], "steps", "adam", "ids": [[id]],
"logitsFile"}]}, `adam` with the keys of AdamParams in trainers/backend/training-backend.ts. Writes the logits after
the last step, as forward.py does. Response: {"jobs": [{"losses": [number], "gradientNorms": [number]}]}: the loss
before each step and the norm before clipping.
"""

import torch
from checkpoint import load_model
from contract import answer
from losses import total_loss
from safetensors.torch import save_file
from transformers import Trainer


def run_job(job: dict) -> dict:
    model = load_model(job["checkpoint"], job.get("adapter"), trainable=True)
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    parameters = list(trained.values())
    adam = job["adam"]
    # The grouping of the Trainer; it reads nothing of the Trainer itself.
    decayed = set(Trainer.get_decay_parameter_names(None, model))
    groups = [
        {"params": [value for name, value in trained.items() if name in decayed], "weight_decay": adam["weightDecay"]},
        {"params": [value for name, value in trained.items() if name not in decayed], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups,
        lr=adam["learningRate"],
        betas=(adam["beta1"], adam["beta2"]),
        eps=adam["epsilon"],
    )
    losses, norms = [], []
    for _ in range(job["steps"]):
        optimizer.zero_grad()
        loss = total_loss(model, job["data"], job["terms"]).sum()
        loss.backward()
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, adam["clipNorm"]).item())
        optimizer.step()
    with torch.no_grad():
        logits = [model(torch.tensor([ids]), use_cache=False).logits[0].contiguous() for ids in job["ids"]]
    save_file({str(index): tensor for index, tensor in enumerate(logits)}, job["logitsFile"])
    return {"losses": losses, "gradientNorms": norms}


def run(request: dict) -> dict:
    return {"jobs": [run_job(job) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
