"""Samples with the worker's decoding step, compiled or not. Reports the tokens and how often it was compiled."""

import sys

from contract import answer


def handle(request: dict) -> dict:
    sys.path.insert(0, request["worker"])
    import torch
    from worker.distributed import Ranks
    from worker.models import ModelStore, Settings, Snapshot
    from worker.sampling import Batch, Call, Request

    torch.set_num_threads(1)
    settings = Settings(torch.device("cpu"), torch.float32, False, Ranks(), compile=request["compile"])
    store = ModelStore(settings)
    source = {"type": "scratch", "config": request["config"], "seed": 1}
    model = store.open(source, {"type": "lora", "lora": {"rank": 4, "seed": 1}}, False)
    generator = torch.Generator().manual_seed(2)
    texts, graphs = [], []
    for seed, (rows, tokens) in enumerate(request["calls"]):
        # Each call has a cache and weights of its own, as after a training step.
        model.before_change()
        for name, parameter in model.trained.items():
            parameter.data = torch.randn(parameter.shape, generator=generator) / 20
        requests = [
            Request(i, [1 + i % 5, 2, 3], 1.0, 0, 1.0, 0.0, tokens - i % 7, 100 * seed + i, set(), 0, False)
            for i in range(rows)
        ]
        batch, call = Batch(Snapshot(model, model.version), settings, 32), Call(1, requests)
        batch.calls.append(call)
        found = [([], []) for _ in range(rows)]
        while not call.ended:
            for _, arrays in batch.step():
                for row, token, logprob in zip(arrays["requests"], arrays["tokens"], arrays["logprobs"]):
                    found[row][0].append(int(token))
                    found[row][1].append(float(logprob))
        texts.extend({"ids": ids, "logprobs": logprobs} for ids, logprobs in found)
        graphs.append(torch._dynamo.utils.counters["stats"]["unique_graphs"])
    return {"texts": texts, "graphs": graphs}


answer(handle)
