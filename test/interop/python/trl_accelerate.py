"""Trains a tiny model by TRL's GRPOTrainer in several processes that `accelerate launch` starts. Each writes a report."""

import json
import os
import sys
from pathlib import Path

import tiny_qwen3
import torch
from accelerate import PartialState
from datasets import Dataset
from lyceum_letters.trl_environment import LettersEnvironment, task_rows
from trl import GRPOTrainer
from trl_training import grpo_config, letter_examples


class CountedEnvironment(LettersEnvironment):
    """Counts the episodes of this process and their rewards."""

    episodes = 0
    rewards = []

    def reset(self, **row):
        CountedEnvironment.episodes += 1
        return super().reset(**row)

    def get_reward(self):
        reward = super().get_reward()
        CountedEnvironment.rewards.append(reward)
        return reward


request = json.loads(Path(sys.argv[1]).read_text())
tokens = tiny_qwen3.tokenizer(" ".join(["answer text name arguments tool call", *request["prompts"]]))
model = tiny_qwen3.model(tokens)
examples = letter_examples(tokens, request["prompts"], CountedEnvironment().answer)
tiny_qwen3.learn(model, examples, request["warmUp"])
before = {name: value.clone() for name, value in model.state_dict().items()}
trainer = GRPOTrainer(
    model=model,
    processing_class=tokens,
    train_dataset=Dataset.from_list(task_rows(len(request["prompts"]))),
    environment_factory=CountedEnvironment,
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
    "rewards": CountedEnvironment.rewards,
    "steps": [entry["reward"] for entry in trainer.state.log_history if "reward" in entry],
    "calls": [entry["tools/call_frequency"] for entry in trainer.state.log_history if "reward" in entry],
    "changed": sum(not torch.equal(before[name], value) for name, value in model.state_dict().items()),
    "weights": [value.double().sum().item() for value in model.state_dict().values()],
}
Path(request["folder"], f"rank-{state.process_index}.json").write_text(json.dumps(report))
state.destroy_process_group()
