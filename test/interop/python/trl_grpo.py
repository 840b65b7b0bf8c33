"""Trains a tiny model by TRL's GRPOTrainer in an exported environment, by its class for `environment_factory`.

A random model practically never writes a valid tool call, so it first learns the form of one from a few examples.
"""

import itertools
import json
import os
from pathlib import Path

from contract import answer


def tokenizer(trl_folder: Path):
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    marks = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"]
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    plain.train_from_iterator(["answer text name arguments tool call"] * 20, trainer)
    plain.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in marks])
    fast = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    # TRL accepts the templates that it knows.
    fast.chat_template = (trl_folder / "chat_templates" / "qwen3.jinja").read_text()
    return fast


def handle(request: dict) -> dict:
    os.environ["LYCEUM_URL"] = request["url"]
    import torch
    import trl
    from datasets import Dataset
    from lyceum_letters.trl_environment import LettersEnvironment, task_rows
    from transformers import Qwen3Config, Qwen3ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokens = tokenizer(Path(trl.__file__).parent)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokens),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=2048,
            eos_token_id=tokens.eos_token_id,
            pad_token_id=tokens.pad_token_id,
        )
    )
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
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for step in range(request["warmUp"]):
        prompt, completion = examples[step % len(examples)]
        ids = torch.tensor([prompt + completion])
        labels = ids.clone()
        labels[:, : len(prompt)] = -100
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
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
