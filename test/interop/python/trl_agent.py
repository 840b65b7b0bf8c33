"""Trains the model of a program by TRL's GRPOTrainer and the rollouts of an exported package.

Returns what the capture server recorded, what the model sampled and what TRL trained on, for each step.
"""

import copy
import json
import os

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import tiny_qwen3
    import torch
    from datasets import Dataset
    from lyceum_sheets import agent_rollouts, model_endpoint
    from trl import GRPOTrainer
    from trl_training import changed_weights, copied_weights, grpo_config, logged_steps

    tokens = tiny_qwen3.tokenizer(json.dumps(request["examples"]))
    model = tiny_qwen3.model(tokens)
    examples = []
    for call in request["examples"]:
        messages = copy.deepcopy(call["messages"])
        for message in messages:
            for asked in message.get("tool_calls", []):
                asked["function"]["arguments"] = json.loads(asked["function"]["arguments"])
        given = {"tools": call["tools"], "tokenize": False}
        prompt = tokens.apply_chat_template(messages[:-1], add_generation_prompt=True, **given)
        text = messages[-1]["content"] or ""
        for asked in messages[-1].get("tool_calls", []):
            text += f"<tool_call>\n{json.dumps({**asked['function']})}\n</tool_call>"
        examples.append((tokens(prompt)["input_ids"], tokens(f"{text}<|im_end|>")["input_ids"]))
    tiny_qwen3.learn(model, examples, request["warmUp"])

    recorded: list[dict] = []
    sampled: list[list[int]] = []
    trained: list[dict] = []
    rows: list[dict] = []
    sample = model_endpoint._sample

    def observed_sample(*given):
        answers = sample(*given)
        sampled.extend(ids for ids, _ in answers)
        return answers

    model_endpoint._sample = observed_sample

    class Rollouts(agent_rollouts.AgentRollouts):
        def _admin(self, method, path, body=None):
            found = super()._admin(method, path, body)
            if path.endswith("/rollout"):
                recorded.append(found)
            return found

        def __call__(self, prompts, trainer):
            found = super().__call__(prompts, trainer)
            rows.extend({name: values[row] for name, values in found.items()} for row in range(len(prompts)))
            return found

    class Trainer(GRPOTrainer):
        def _compute_loss(self, model, inputs):
            ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
            is_token = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
            is_sampled = inputs["completion_mask"] * inputs["tool_mask"]
            mask = torch.cat([torch.zeros_like(inputs["prompt_mask"]), is_sampled], dim=1)
            with torch.no_grad():
                kept = inputs["completion_ids"].size(1)
                logps, *_ = self._get_per_token_logps_and_entropies(model, ids, is_token, kept)
            trained.extend(
                {
                    "ids": ids[row][is_token[row] == 1].tolist(),
                    "mask": mask[row][is_token[row] == 1].tolist(),
                    "logprobs": logps[row][is_sampled[row] == 1].tolist(),
                    "advantage": inputs["advantages"][row].item(),
                }
                for row in range(ids.size(0))
            )
            return super()._compute_loss(model, inputs)

    before = copied_weights(model)
    rollouts = Rollouts(request["agent"], lyceum=request["lyceum"], env=request["env"])
    trainer = Trainer(
        model=model,
        processing_class=tokens,
        train_dataset=Dataset.from_list(agent_rollouts.agent_rows(request["tasks"])),
        rollout_func=rollouts,
        reward_funcs=agent_rollouts.environment_reward,
        args=grpo_config(request, 64),
    )
    try:
        trainer.train()
    finally:
        rollouts.close()
    return {
        "recorded": recorded,
        "sampled": sampled,
        "trained": trained,
        "rows": rows,
        "deviations": logged_steps(trainer, "reward_std"),
        "changed": changed_weights(model, before),
        "pid": os.getpid(),
    }


answer(handle)
