"""The types of folders as transformers loads them by itself.

Request: {"folders": [{"folder", "exact"}]}, `exact` with the same weights in float32. Response: [{"dtype", "equal"}]:
the type of the loaded model, and whether every weight is the exact one as PyTorch rounds it to that type.
"""

import torch
from contract import answer
from transformers import AutoModelForCausalLM


def inspect(folder: str, exact: str) -> dict:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    reference = AutoModelForCausalLM.from_pretrained(exact, dtype=torch.float32).state_dict()
    weights = model.state_dict()
    equal = all(torch.equal(weights[name], value.to(model.dtype)) for name, value in reference.items())
    return {"dtype": str(model.dtype).removeprefix("torch."), "equal": equal}


def run(request: dict) -> list[dict]:
    return [inspect(**job) for job in request["folders"]]


if __name__ == "__main__":
    answer(run)
