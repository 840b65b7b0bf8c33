"""Trains a tiny model by TRL's GRPOTrainer in several processes that `accelerate launch` starts. Each writes a report."""

import json
import os
import sys
from pathlib import Path

import tiny_qwen3
import torch
from accelerate import PartialState
from datasets import Dataset
from lyceum_letters.trl_environment import LettersEnvironment, environment_reward, task_rows
from trl import GRPOTrainer
from trl_training import changed_weights, copied_weights, grpo_config, letter_examples, logged_steps


class CountedEnvironment(LettersEnvironment):
    """Counts the episodes of this process."""

    episodes = 0

    def reset(self, **row):
        CountedEnvironment.episodes += 1
        return super().reset(**row)


rewards = []


def recorded_reward(**given):
    found = environment_reward(**given)
    rewards.extend(found)
    return found


request = json.loads(Path(sys.argv[1]).read_text())
tokens = tiny_qwen3.tokenizer(" ".join(["answer text name arguments tool call", *request["prompts"]]))
model = tiny_qwen3.model(tokens)
examples = letter_examples(tokens, request["prompts"], CountedEnvironment().answer)
tiny_qwen3.learn(model, examples, request["warmUp"])
before = copied_weights(model)
trainer = GRPOTrainer(
    model=model,
    processing_class=tokens,
    train_dataset=Dataset.from_list(task_rows(len(request["prompts"]))),
    environment_factory=CountedEnvironment,
    reward_funcs=recorded_reward,
    args=grpo_config(request, 96),
)
trainer.train()
state = PartialState()
report = {
    "rank": state.process_index,
    "processes": state.num_processes,
    "backend": torch.distributed.get_backend(),
    "pid": os.getpid(),
    "episodes": CountedEnvironment.episodes,
    "rewards": rewards,
    "steps": logged_steps(trainer, "reward"),
    "calls": logged_steps(trainer, "tools/call_frequency"),
    "changed": changed_weights(model, before),
    "weights": [value.double().sum().item() for value in model.state_dict().values()],
}
Path(request["folder"], f"rank-{state.process_index}.json").write_text(json.dumps(report))
state.destroy_process_group()
