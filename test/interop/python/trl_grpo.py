"""Trains a tiny model by TRL's GRPOTrainer in an exported environment of two turns, by its class and reward function.

The model calls tools, and answers by plain texts. A second reward function asks for the same rewards again.
"""

import os

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import tiny_qwen3
    from datasets import Dataset
    from lyceum_pairs.trl_environment import PairsEnvironment, environment_reward, task_rows
    from trl import GRPOTrainer
    from trl_training import changed_weights, copied_weights, grpo_config, letter_examples, logged_steps

    tokens = tiny_qwen3.tokenizer(" ".join(["answer text name arguments tool call", *request["prompts"]]))
    model = tiny_qwen3.model(tokens)
    examples = letter_examples(tokens, request["prompts"], PairsEnvironment().answer)
    tiny_qwen3.learn(model, examples, request["warmUp"])
    before = copied_weights(model)
    played = []

    def played_reward(environments, completions, **rest):
        again = environment_reward(environments, completions, **rest)
        rewards = environment_reward(environments, completions, **rest)
        played.extend(zip(completions, rewards, again, strict=True))
        return [None] * len(rewards)

    trainer = GRPOTrainer(
        model=model,
        processing_class=tokens,
        train_dataset=Dataset.from_list(task_rows(len(request["prompts"]))),
        environment_factory=PairsEnvironment,
        reward_funcs=[played_reward, environment_reward],
        args=grpo_config(request, 96),
    )
    trainer.train()
    return {
        "played": played,
        "rewards": logged_steps(trainer, "reward"),
        "deviations": logged_steps(trainer, "reward_std"),
        "calls": logged_steps(trainer, "tools/call_frequency"),
        "changed": changed_weights(model, before),
    }


answer(handle)
