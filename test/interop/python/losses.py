"""The loss terms of trainers/backend/loss-term.ts, written separately from their formulas for autograd.

A datum is {"tokens", "targets", "lossMask", "advantages"?, "behaviourLogprobs"?, "referenceLogprobs"?, "returns"?,
"oldValues"?, "temperature"?, "supports"?}, as in trainers/backend/datum.ts. Each term sums over the targets whose loss mask is not 0.
"""

import torch
from torch.nn.functional import log_softmax


def token_scores(model: torch.nn.Module, datum: dict) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Log-probability of each target, entropy of its distribution, both at the datum's temperature and over the ids that
    the target was drawn from, and the state's value.

    The value is that of `model.value_head`, where there is one, of the hidden state that the logits are made from.
    """
    output = model(torch.tensor([datum["tokens"]]), use_cache=False, output_hidden_states=True)
    logits, hidden = output.logits[0], output.hidden_states[-1][0]
    torch.testing.assert_close(model.get_output_embeddings()(hidden), logits)
    head = getattr(model, "value_head", None)
    values = None if head is None else head(hidden)[:, 0]
    rows = logits / datum.get("temperature", 1)
    logprobs, entropy = [], []
    for row, target, support in zip(rows, datum["targets"], datum.get("supports", [None] * len(rows)), strict=True):
        kept = list(range(len(row))) if support is None else support
        distribution = log_softmax(row[kept], dim=-1)
        logprobs.append(distribution[kept.index(target)])
        entropy.append(-(distribution.exp() * distribution).sum())
    return torch.stack(logprobs), torch.stack(entropy), values


def term_sum(
    term: dict, datum: dict, logprobs: torch.Tensor, entropy: torch.Tensor, values: torch.Tensor | None
) -> torch.Tensor:
    mask = torch.tensor(datum["lossMask"])
    counts = mask != 0

    def given(name: str) -> torch.Tensor:
        return torch.tensor(datum[name])[counts]

    weight = mask[counts]
    current = logprobs[counts]
    match term["type"]:
        case "crossEntropy":
            loss = -weight * current
        case "policyGradient":
            loss = -given("advantages") * current
        case "importanceSampling":
            loss = -torch.exp(current - given("behaviourLogprobs")) * given("advantages")
        case "ppo":
            ratio = torch.exp(current - given("behaviourLogprobs"))
            clipped = ratio.clamp(1 - term["clipLow"], 1 + term["clipHigh"])
            loss = -torch.minimum(ratio * given("advantages"), clipped * given("advantages"))
        case "kl":
            difference = given("referenceLogprobs") - current
            estimates = {
                "k1": lambda: -difference,
                "k2": lambda: difference**2 / 2,
                "k3": lambda: torch.exp(difference) - difference - 1,
            }
            loss = weight * estimates[term["estimator"]]()
        case "entropy":
            loss = -weight * entropy[counts]
        case "value":
            prediction, target = values[counts], given("returns")
            loss = (prediction - target) ** 2
            if "clip" in term:
                old = given("oldValues")
                moved = (prediction - old).clamp(-term["clip"], term["clip"])
                loss = torch.maximum(loss, (old + moved - target) ** 2)
            loss = weight * loss
        case other:
            raise ValueError(f"unknown loss term {other}")
    return term.get("weight", 1) * loss.sum()


def total_loss(model: torch.nn.Module, data: list[dict], terms: list[dict]) -> torch.Tensor:
    """Each term summed over all data, as one tensor with an entry for each term."""
    sums = torch.zeros(len(terms))
    for datum in data:
        scores = token_scores(model, datum)
        sums = sums + torch.stack([term_sum(term, datum, *scores) for term in terms])
    return sums
