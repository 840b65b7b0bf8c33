"""Logits, and per-token log-probabilities and entropies, by transformers in float32.

Request: {"jobs": [{"checkpoint", "adapter"?, "ids": [[id]], "data": [datum], "logitsFile"}]}.
Writes each job's logits as safetensors: tensor "0" for the first list of ids, (tokens, vocabulary), and so on.
Response: {"jobs": [{"logprobs": [[number]], "entropy": [[number]]}]}: for each datum, over all of its targets.
"""

import torch
from checkpoint import load_model
from contract import answer
from losses import token_scores
from safetensors.torch import save_file


@torch.no_grad()
def run_job(job: dict) -> dict:
    model = load_model(job["checkpoint"], job.get("adapter"))
    logits = {
        str(index): model(torch.tensor([ids]), use_cache=False).logits[0].contiguous()
        for index, ids in enumerate(job["ids"])
    }
    save_file(logits, job["logitsFile"])
    scores = [token_scores(model, datum) for datum in job["data"]]
    return {
        "logprobs": [logprobs.tolist() for logprobs, _ in scores],
        "entropy": [entropy.tolist() for _, entropy in scores],
    }


def run(request: dict) -> dict:
    return {"jobs": [run_job(job) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
