"""Trains a tiny model by TRL's GRPOTrainer in an exported environment, by its class for `environment_factory`."""

import os

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import tiny_qwen3
    import torch
    from datasets import Dataset
    from lyceum_letters.trl_environment import LettersEnvironment, task_rows
    from trl import GRPOTrainer
    from trl_training import grpo_config, letter_examples

    tokens = tiny_qwen3.tokenizer(" ".join(["answer text name arguments tool call", *request["prompts"]]))
    model = tiny_qwen3.model(tokens)
    examples = letter_examples(tokens, request["prompts"], LettersEnvironment().answer)
    tiny_qwen3.learn(model, examples, request["warmUp"])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokens,
        train_dataset=Dataset.from_list(task_rows(len(request["prompts"]))),
        environment_factory=LettersEnvironment,
        args=grpo_config(request, 96),
    )
    trainer.train()
    steps = [entry for entry in trainer.state.log_history if "reward" in entry]
    return {
        "rewards": [entry["reward"] for entry in steps],
        "deviations": [entry["reward_std"] for entry in steps],
        "calls": [entry["tools/call_frequency"] for entry in steps],
        "failures": [entry["tools/failure_frequency"] for entry in steps],
        "changed": sum(not torch.equal(before[name], value.cpu()) for name, value in model.state_dict().items()),
    }


answer(handle)
