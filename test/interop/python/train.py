"""Steps of PyTorch's AdamW, with the gradient clipped to a global norm.

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


def run_job(job: dict) -> dict:
    model = load_model(job["checkpoint"], job.get("adapter"), trainable=True)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    adam = job["adam"]
    optimizer = torch.optim.AdamW(
        parameters,
        lr=adam["learningRate"],
        betas=(adam["beta1"], adam["beta2"]),
        eps=adam["epsilon"],
        weight_decay=adam["weightDecay"],
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
