"""Trains a model from scratch of Lyceum by TRL's GRPOTrainer as the package's README does. Its answers are plain texts."""

import os

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import torch
    from datasets import Dataset
    from lyceum_variety.trl_environment import VarietyEnvironment, environment_reward, task_rows
    from transformers import AutoModelForCausalLM
    from trl import GRPOTrainer
    from trl_training import changed_weights, copied_weights, grpo_config, logged_steps

    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(request["model"])
    before = copied_weights(model)
    trainer = GRPOTrainer(
        model=model,
        train_dataset=Dataset.from_list(task_rows(request["tasks"])),
        environment_factory=VarietyEnvironment,
        reward_funcs=environment_reward,
        args=grpo_config(request, 16),
    )
    trainer.train()
    return {
        "rewards": logged_steps(trainer, "reward"),
        "norms": logged_steps(trainer, "grad_norm"),
        "changed": changed_weights(model, before),
    }


answer(handle)
