"""Runs programs that fail by the rollouts of an exported package, on a model of random weights. Trains nothing."""

import json
import os

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import tiny_qwen3
    from datasets import Dataset
    from lyceum_sheets.agent_rollouts import AgentRollouts, environment_reward
    from trl import GRPOConfig, GRPOTrainer

    tokens = tiny_qwen3.tokenizer(json.dumps(request["prompts"]))
    rollouts = AgentRollouts(request["agent"], lyceum=request["lyceum"], env=request["env"], timeout_s=15)
    trainer = GRPOTrainer(
        model=tiny_qwen3.model(tokens),
        processing_class=tokens,
        train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in request["prompts"]]),
        rollout_func=rollouts,
        reward_funcs=environment_reward,
        args=GRPOConfig(
            output_dir=request["folder"],
            num_generations=2,
            per_device_train_batch_size=2,
            max_completion_length=8,
            use_cpu=True,
            bf16=False,
            report_to=[],
        ),
    )
    try:
        rows = rollouts(request["prompts"], trainer)
        rewards = environment_reward(
            agent_answer=rows["agent_answer"],
            index=[0] * len(request["prompts"]),
            split=[None] * len(request["prompts"]),
        )
        refused = []
        for prompt in request["refused"]:
            try:
                rollouts([prompt], trainer)
            except RuntimeError as error:
                refused.append(str(error))
        server = rollouts._server.pid
    finally:
        rollouts.close()
    return {"rows": rows, "rewards": rewards, "refused": refused, "server": server}


answer(handle)
