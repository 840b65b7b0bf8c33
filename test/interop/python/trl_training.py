"""What the trainings by TRL of these tests share."""

import itertools
import json


def grpo_config(request: dict, max_completion_length: int):
    """Returns the settings of a training with four completions of a prompt in each step."""
    from trl import GRPOConfig

    return GRPOConfig(
        output_dir=request["folder"],
        max_steps=request["steps"],
        num_generations=4,
        per_device_train_batch_size=4,
        max_completion_length=max_completion_length,
        use_cpu=True,
        bf16=False,
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        learning_rate=1e-3,
        seed=1,
    )


def copied_weights(model) -> dict:
    """Returns a copy of a model's weights."""
    return {name: value.clone() for name, value in model.state_dict().items()}


def changed_weights(model, before: dict) -> int:
    """Returns the number of tensors that differ from a copy."""
    import torch

    return sum(not torch.equal(before[name], value.cpu()) for name, value in model.state_dict().items())


def logged_steps(trainer, name: str) -> list[float]:
    """Returns a metric of each step."""
    return [entry[name] for entry in trainer.state.log_history if "reward" in entry]


def letter_examples(tokens, prompts: list[str], tool) -> list[tuple[list[int], list[int]]]:
    """Returns the ids of each prompt, and of calls of the tool `answer` with some letters and of plain answers."""
    calls = [json.dumps({"name": "answer", "arguments": {"text": text}}) for text in ["a", "bb"]]
    replies = [f"<tool_call>\n{call}\n</tool_call>" for call in calls]
    replies += [f"<think>\n\n</think>\n\n{text}" for text in ["ab", "a"]]
    examples = []
    for reply, prompt in itertools.product(replies, prompts):
        asked = tokens.apply_chat_template(
            [{"role": "user", "content": prompt}],
            tools=[tool],
            add_generation_prompt=True,
            tokenize=False,
        )
        examples.append((tokens(asked)["input_ids"], tokens(f"{reply}<|im_end|>")["input_ids"]))
    return examples
