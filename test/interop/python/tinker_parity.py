"""Takes the same steps on any Tinker server: supervised ones, then three of each policy loss on the same completions.

Completions are sampled here, or given by the request, so that two servers train on equal tokens.
"""

import tinker
from contract import answer
from tinker import types

PROMPT = [40, 52, 61]
COMPLETION = 6


def tensor(values, dtype):
    return types.TensorData(data=values, dtype=dtype, shape=[len(values)])


def datum(tokens, inputs):
    named = {"target_tokens": tensor(tokens[1:], "int64")}
    named.update({name: tensor(values, "float32") for name, values in inputs.items()})
    return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=named)


def example(row):
    return datum(row["tokens"], {"weights": row["weights"]})


def graded(row):
    before = [0.0] * (len(PROMPT) - 1)
    inputs = {"advantages": before + row["advantages"], "logprobs": before + row["logprobs"]}
    return datum(PROMPT + row["tokens"], inputs)


def logprobs(result):
    return [output["logprobs"].tolist() for output in result.loss_fn_outputs]


def loss_of(result):
    # SkyRL returns the losses of the tokens, and serve-model their sum.
    tokens = [output["elementwise_loss"].tolist() for output in result.loss_fn_outputs if "elementwise_loss" in output]
    return sum(sum(each) for each in tokens) if tokens else result.metrics["loss:sum"]


def step(training, data, loss, adam, config=None):
    # One after the other: SkyRL may run a step before a pass that arrives at the same time.
    result = training.forward_backward(data, loss, config).result()
    training.optim_step(adam).result()
    return {"loss": loss_of(result), "logprobs": logprobs(result)}


def sampler_of(training):
    sampler = training.save_weights_and_get_sampling_client(name="sampled")
    return sampler.result() if hasattr(sampler, "result") else sampler


def sample(training, count, temperature):
    params = types.SamplingParams(max_tokens=COMPLETION, temperature=temperature, seed=1)
    prompt = types.ModelInput.from_ints(PROMPT)
    result = sampler_of(training).sample(prompt=prompt, num_samples=count, sampling_params=params).result()
    return [{"tokens": list(each.tokens), "logprobs": list(each.logprobs)} for each in result.sequences]


def with_advantages(rows):
    signs = [1.5, -1.0, 0.5, -0.25]
    return [{**row, "advantages": [signs[i % 4]] * len(row["tokens"])} for i, row in enumerate(rows)]


def run(request):
    service = tinker.ServiceClient(base_url=request["url"], api_key=request["key"])
    training = service.create_lora_training_client(
        base_model=request["model"], rank=request["rank"], seed=request["seed"]
    )
    training = training.result() if hasattr(training, "result") else training
    adam = types.AdamParams(learning_rate=request["learningRate"])
    examples = [example(row) for row in request["examples"]]
    initial = logprobs(training.forward(examples, "cross_entropy").result())
    supervised = []
    for _ in range(request["steps"]):
        supervised.append(step(training, examples, "cross_entropy", adam))
    greedy = [sample(training, 1, 0.0)[0]]
    given = request.get("completions")
    completions, policy = {}, {}
    for loss in ["importance_sampling", "ppo", "cispo"]:
        rows = given[loss] if given else with_advantages(sample(training, 8, 1.0))
        completions[loss] = rows
        policy[loss] = []
        config = None if loss == "importance_sampling" else {"clip_low_threshold": 0.9, "clip_high_threshold": 1.1}
        for _ in range(3):
            passed = step(training, [graded(row) for row in rows], loss, adam, config)
            completed = [each[len(PROMPT) - 1 :] for each in passed["logprobs"]]
            policy[loss].append({**passed, "logprobs": completed})
        greedy.append(sample(training, 1, 0.0)[0])
    return {
        "version": tinker.__version__,
        "initial": initial,
        "supervised": supervised,
        "completions": completions,
        "policy": policy,
        "greedy": greedy,
    }


answer(run)
