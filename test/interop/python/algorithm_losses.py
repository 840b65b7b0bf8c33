"""Losses of the algorithms and advantage estimation, written separately for PyTorch's autograd in float64."""

import torch
from contract import answer


def policy_losses(job: dict) -> dict:
    """Token losses, summed: values and derivatives with respect to the log-probabilities."""
    logprobs = torch.tensor(job["logprobs"], dtype=torch.float64, requires_grad=True)
    behaviour = torch.tensor(job["behaviour"], dtype=torch.float64)
    reference = torch.tensor(job["reference"], dtype=torch.float64)
    advantages = torch.tensor(job["advantages"], dtype=torch.float64)
    low, high = job["clipLow"], job["clipHigh"]
    ratio = torch.exp(logprobs - behaviour)
    clipped = torch.clamp(ratio, 1 - low, 1 + high)
    distance = reference - logprobs
    losses = {
        "policyGradient": -(advantages * logprobs),
        "importanceSampling": -(ratio * advantages),
        "ppo": torch.maximum(-advantages * ratio, -advantages * clipped),
        "cispo": -(clipped.detach() * advantages * logprobs),
        "k1": -distance,
        "k2": distance**2 / 2,
        "k3": torch.exp(distance) - distance - 1,
    }
    results = {}
    for name, loss in losses.items():
        (gradient,) = torch.autograd.grad(loss.sum(), logprobs, retain_graph=True)
        results[name] = {"value": loss.sum().item(), "gradient": gradient.tolist()}
    return results


def gspo(job: dict) -> dict:
    """One clipped ratio of one sequence."""
    logprobs = torch.tensor(job["logprobs"], dtype=torch.float64, requires_grad=True)
    behaviour = torch.tensor(job["behaviour"], dtype=torch.float64)
    advantage = job["advantage"]
    ratio = torch.exp((logprobs - behaviour).mean())
    clipped = torch.clamp(ratio, 1 - job["clipLow"], 1 + job["clipHigh"])
    loss = -torch.minimum(ratio * advantage, clipped * advantage)
    loss.backward()
    return {"value": loss.item(), "gradient": logprobs.grad.tolist()}


def dpo(job: dict) -> dict:
    """The forms of direct preference optimization on one pair."""
    chosen = torch.tensor(job["chosen"], dtype=torch.float64, requires_grad=True)
    rejected = torch.tensor(job["rejected"], dtype=torch.float64, requires_grad=True)
    chosen_gain = chosen - torch.tensor(job["chosenReference"], dtype=torch.float64)
    rejected_gain = rejected - torch.tensor(job["rejectedReference"], dtype=torch.float64)
    beta = job["beta"]
    if job["form"] == "ipo":
        margin = chosen_gain.mean() - rejected_gain.mean()
        loss = (margin - 1 / (2 * beta)) ** 2
    else:
        margin = chosen_gain.sum() - rejected_gain.sum()
        if job["form"] == "hinge":
            loss = torch.relu(1 - beta * margin)
        else:
            smoothing = job["labelSmoothing"]
            loss = -torch.nn.functional.logsigmoid(beta * margin) * (1 - smoothing)
            loss = loss - torch.nn.functional.logsigmoid(-beta * margin) * smoothing
    loss.backward()
    return {"value": loss.item(), "gradient": chosen.grad.tolist() + rejected.grad.tolist()}


def value(job: dict) -> dict:
    """The value loss, clipped around the old prediction."""
    predictions = torch.tensor(job["predictions"], dtype=torch.float64, requires_grad=True)
    old = torch.tensor(job["old"], dtype=torch.float64)
    returns = torch.tensor(job["returns"], dtype=torch.float64)
    kept = old + torch.clamp(predictions - old, -job["clip"], job["clip"])
    loss = torch.maximum((predictions - returns) ** 2, (kept - returns) ** 2).sum()
    loss.backward()
    return {"value": loss.item(), "gradient": predictions.grad.tolist()}


def advantages(job: dict) -> dict:
    """Generalized advantages as the exponentially weighted mean of k-step estimates (Schulman et al. 2015, eq. 16)."""
    rewards, values = job["rewards"], [*job["values"], job["bootstrap"]]
    gamma, decay = job["gamma"], job["lambda"]
    steps = len(rewards)
    result = []
    for start in range(steps):
        deltas = [rewards[t] + gamma * values[t + 1] - values[t] for t in range(start, steps)]
        result.append(sum((gamma * decay) ** offset * delta for offset, delta in enumerate(deltas)))
    return {"advantages": result, "returns": [a + v for a, v in zip(result, values)]}


kinds = {"policy": policy_losses, "gspo": gspo, "dpo": dpo, "value": value, "advantages": advantages}

if __name__ == "__main__":
    answer(lambda request: {"results": [kinds[job["kind"]](job) for job in request["jobs"]]})
