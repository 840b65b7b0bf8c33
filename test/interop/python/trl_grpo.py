"""Trains a tiny model by TRL's GRPOTrainer in an exported environment, by its class for `environment_factory`."""

import itertools
import json
import os

from contract import answer


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import tiny_qwen3
    import torch
    from datasets import Dataset
    from lyceum_letters.trl_environment import LettersEnvironment, task_rows
    from trl import GRPOConfig, GRPOTrainer

    tokens = tiny_qwen3.tokenizer(" ".join(["answer text name arguments tool call", *request["prompts"]]))
    model = tiny_qwen3.model(tokens)
    examples = []
    for text, prompt in itertools.product(["a", "b", "ab", "bb"], request["prompts"]):
        asked = tokens.apply_chat_template(
            [{"role": "user", "content": prompt}],
            tools=[LettersEnvironment().answer],
            add_generation_prompt=True,
            tokenize=False,
        )
        call = json.dumps({"name": "answer", "arguments": {"text": text}})
        examples.append((tokens(asked)["input_ids"], tokens(f"<tool_call>\n{call}\n</tool_call><|im_end|>")["input_ids"]))
    tiny_qwen3.learn(model, examples, request["warmUp"])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokens,
        train_dataset=Dataset.from_list(task_rows(len(request["prompts"]))),
        environment_factory=LettersEnvironment,
        args=GRPOConfig(
            output_dir=request["folder"],
            max_steps=request["steps"],
            num_generations=4,
            per_device_train_batch_size=4,
            max_completion_length=96,
            use_cpu=True,
            bf16=False,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            learning_rate=1e-3,
            seed=1,
        ),
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
