"""Logits, and per-token log-probabilities and entropies, by transformers in float32.

Request: {"jobs": [{"checkpoint", "adapter"?, "ids": [[id]], "data": [datum], "logitsFile", "measureRounding"?}]}.
Writes each job's logits as safetensors: tensor "0" for the first list of ids, (tokens, vocabulary), and so on.
Response: {"jobs": [{"logprobs": [[number]], "entropy": [[number]], "rounding": [number]}]}: the first two for each
datum, over all of its targets; `rounding` for each list of ids where it is to be measured, the largest difference of
these float32 logits from the same in float64.
"""

import torch
from checkpoint import load_model
from contract import answer
from losses import token_scores
from safetensors.torch import save_file


def all_logits(model: torch.nn.Module, sequences: list[list[int]]) -> list[torch.Tensor]:
    return [model(torch.tensor([ids]), use_cache=False).logits[0].contiguous() for ids in sequences]


@torch.no_grad()
def run_job(job: dict) -> dict:
    model = load_model(job["checkpoint"], job.get("adapter"))
    logits = all_logits(model, job["ids"])
    save_file({str(index): tensor for index, tensor in enumerate(logits)}, job["logitsFile"])
    scores = [token_scores(model, datum) for datum in job["data"]]
    exact = []
    if job.get("measureRounding"):
        exact = all_logits(load_model(job["checkpoint"], job.get("adapter"), dtype=torch.float64), job["ids"])
    return {
        "logprobs": [logprobs.tolist() for logprobs, *_ in scores],
        "entropy": [entropy.tolist() for _, entropy, *_ in scores],
        "rounding": [float((single - double).abs().max()) for single, double in zip(logits, exact)],
    }


def run(request: dict) -> dict:
    return {"jobs": [run_job(job) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
