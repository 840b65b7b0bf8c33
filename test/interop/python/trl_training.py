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


def letter_examples(tokens, prompts: list[str], tool) -> list[tuple[list[int], list[int]]]:
    """Returns the ids of each prompt, and of calls of the tool `answer` with some letters."""
    examples = []
    for text, prompt in itertools.product(["a", "b", "ab", "bb"], prompts):
        asked = tokens.apply_chat_template(
            [{"role": "user", "content": prompt}],
            tools=[tool],
            add_generation_prompt=True,
            tokenize=False,
        )
        call = json.dumps({"name": "answer", "arguments": {"text": text}})
        reply = f"<tool_call>\n{call}\n</tool_call><|im_end|>"
        examples.append((tokens(asked)["input_ids"], tokens(reply)["input_ids"]))
    return examples
