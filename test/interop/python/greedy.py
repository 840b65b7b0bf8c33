"""Greedy continuations by transformers' generate, with what the top two logits differed by at each step.

Request: {"jobs": [{"checkpoint", "adapter"?, "prompts": [[id]], "tokens": count}]}. End-of-text tokens do not end
a continuation. Response: {"jobs": [[{"ids": [id], "gaps": [number]}]]}.
"""

import torch
from checkpoint import load_model
from contract import answer


@torch.no_grad()
def run_job(job: dict) -> list[dict]:
    model = load_model(job["checkpoint"], job.get("adapter"))
    model.generation_config.eos_token_id = None
    continuations = []
    for prompt in job["prompts"]:
        output = model.generate(
            input_ids=torch.tensor([prompt]),
            attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
            max_new_tokens=job["tokens"],
            do_sample=False,
            pad_token_id=0,
            return_dict_in_generate=True,
            output_logits=True,
        )
        top_two = [step[0].topk(2).values for step in output.logits]
        continuations.append(
            {
                "ids": output.sequences[0, len(prompt) :].tolist(),
                "gaps": [float(first - second) for first, second in top_two],
            }
        )
    return continuations


def run(request: dict) -> dict:
    return {"jobs": [run_job(job) for job in request["jobs"]]}


if __name__ == "__main__":
    answer(run)
