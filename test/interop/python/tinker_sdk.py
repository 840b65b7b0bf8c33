"""Trains a model of `lyceum serve-model` by the official SDK: supervised steps, then one step of each policy loss."""

import tinker
from contract import answer
from tinker import types

TOKENS = [1, 5, 9, 2, 7, 3, 8, 4]
PROMPT = [1, 5]


def tensor(values, dtype):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def example():
    inputs = {"target_tokens": tensor(TOKENS[1:], "int64"), "weights": tensor([1.0] * 7, "float32")}
    return types.Datum(model_input=types.ModelInput.from_ints(TOKENS[:-1]), loss_fn_inputs=inputs)


def graded(index, sequence):
    tokens = PROMPT + list(sequence.tokens)
    inputs = {
        "target_tokens": tensor(tokens[1:], "int64"),
        "advantages": tensor([0.0] + [(-1.0) ** index] * len(sequence.tokens), "float32"),
        "logprobs": tensor([0.0] + list(sequence.logprobs), "float32"),
    }
    return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=inputs)


def negative_log_likelihood(result):
    return -sum(result.loss_fn_outputs[0]["logprobs"].tolist())


def policy_step(training, loss):
    sampler = training.save_weights_and_get_sampling_client()
    sampler = sampler.result() if hasattr(sampler, "result") else sampler
    sampled = sampler.sample(
        prompt=types.ModelInput.from_ints(PROMPT),
        num_samples=4,
        sampling_params=types.SamplingParams(max_tokens=6, temperature=1.0, seed=1),
    ).result()
    data = [graded(index, sequence) for index, sequence in enumerate(sampled.sequences)]
    result = training.forward_backward(data, loss).result()
    training.optim_step(types.AdamParams(learning_rate=1e-3)).result()
    pairs = [
        (before, after)
        for datum, output in zip(data, result.loss_fn_outputs)
        for before, after in list(zip(datum.loss_fn_inputs["logprobs"].tolist(), output["logprobs"].tolist()))[1:]
    ]
    return max(abs(before - after) for before, after in pairs)


def prompt_scores(training):
    """The largest difference of a prompt's log-probabilities, sampler to trainer, and whether each top token is no worse."""
    sampler = training.save_weights_and_get_sampling_client()
    sampler = sampler.result() if hasattr(sampler, "result") else sampler
    own = training.forward([example()], "cross_entropy").result().loss_fn_outputs[0]["logprobs"].tolist()
    prompt = types.ModelInput.from_ints(TOKENS)
    computed = sampler.compute_logprobs(prompt).result()
    sampled = sampler.sample(
        prompt=prompt,
        num_samples=1,
        sampling_params=types.SamplingParams(max_tokens=1),
        include_prompt_logprobs=True,
        topk_prompt_logprobs=3,
    ).result()
    first, *rest = sampled.prompt_logprobs
    _, *tops = sampled.topk_prompt_logprobs
    return {
        "same": computed == sampled.prompt_logprobs and first is None,
        "difference": max(abs(a - b) for a, b in zip(rest, own, strict=True)),
        "tops": [len(top) for top in tops],
        "likeliest": all(top[0][1] >= logprob - 1e-5 for top, logprob in zip(tops, own, strict=True)),
    }


def most_likely_samples(training):
    """The numbers of most likely tokens at each sampled place, and whether a greedy sample takes the first of them."""
    sampler = training.save_weights_and_get_sampling_client().result()
    sampled = sampler.sample(
        prompt=types.ModelInput.from_ints(PROMPT),
        num_samples=1,
        sampling_params=types.SamplingParams(max_tokens=4, temperature=0.0, stop=[]),
        topk_sample_logprobs=3,
    ).result()
    (sequence,) = sampled.sequences
    pairs = list(zip(sequence.tokens, sequence.logprobs, sequence.topk_logprobs, strict=True))
    return {
        "tops": [len(top) for top in sequence.topk_logprobs],
        "greedy": all(top[0][0] == token and abs(top[0][1] - logprob) < 1e-5 for token, logprob, top in pairs),
        "sorted": all(top == sorted(top, key=lambda pair: -pair[1]) for top in sequence.topk_logprobs),
    }


def target_scores(training):
    """The largest difference of target tokens' log-probabilities from those of the prompt's own, dense and sparse."""
    sampler = training.save_weights_and_get_sampling_client().result()
    places = len(TOKENS) - 1
    dense = types.TensorData(
        data=[id for token in TOKENS[1:] for id in (-1, token)], dtype="int64", shape=[places, 2]
    )
    sparse = types.TensorData(
        data=TOKENS[1:],
        dtype="int64",
        shape=[places, 5],
        sparse_crow_indices=list(range(places + 1)),
        sparse_col_indices=[4] * places,
    )
    found = []
    for target in (dense, sparse):
        result = sampler.sample(
            prompt=types.ModelInput.from_ints(TOKENS),
            num_samples=1,
            sampling_params=types.SamplingParams(max_tokens=1),
            include_prompt_logprobs=True,
            target_prompt_logprobs=target,
        ).result()
        scores = result.target_prompt_logprobs
        assert list(scores.shape) == list(target.shape)
        values = list(scores.data)
        if target is dense:
            assert all(value == 0.0 for value in values[::2])
            values = values[1::2]
        else:
            assert list(scores.sparse_crow_indices) == list(target.sparse_crow_indices)
            assert list(scores.sparse_col_indices) == list(target.sparse_col_indices)
        found += [abs(a - b) for a, b in zip(values, result.prompt_logprobs[1:], strict=True)]
    return max(found)


def copies(training, key):
    """The tokens of a sampler and of two copies of it, with equal seeds. Empty for an SDK without handles of samplers."""
    sampler = training.save_weights_and_get_sampling_client()
    sampler = sampler.result() if hasattr(sampler, "result") else sampler
    if not hasattr(sampler, "get_sampler_handle"):
        return []
    handle = sampler.get_sampler_handle()
    samplers = [sampler] + [tinker.SamplingClient.from_sampler_handle(handle, api_key=key) for _ in range(2)]
    futures = [
        each.sample(
            prompt=types.ModelInput.from_ints(PROMPT),
            num_samples=1,
            sampling_params=types.SamplingParams(max_tokens=6, seed=1),
        )
        for each in samplers
    ]
    return [list(future.result().sequences[0].tokens) for future in futures]


def run(request):
    service = tinker.ServiceClient(base_url=request["url"], api_key=request["key"])
    training = service.create_lora_training_client(base_model=request["model"], rank=4)
    training = training.result() if hasattr(training, "result") else training
    losses = []
    for _ in range(10):
        passed = training.forward_backward([example()], "cross_entropy")
        stepped = training.optim_step(types.AdamParams(learning_rate=1e-2))
        losses.append(negative_log_likelihood(passed.result()))
        stepped.result()
    trained = negative_log_likelihood(training.forward([example()], "cross_entropy").result())
    differences = {loss: policy_step(training, loss) for loss in ["importance_sampling", "ppo", "cispo"]}
    scores = prompt_scores(training)
    copied = copies(training, request["key"])
    newest = tinker.__version__ == "0.38.0"
    most_likely = most_likely_samples(training) if newest else None
    targets = target_scores(training) if newest else None
    path = training.save_state("a").result().path
    training.load_state_with_optimizer(path).result()
    return {
        "version": tinker.__version__,
        "losses": losses,
        "trained": trained,
        "differences": differences,
        "scores": scores,
        "copied": copied,
        "mostLikely": most_likely,
        "targets": targets,
    }


answer(run)
