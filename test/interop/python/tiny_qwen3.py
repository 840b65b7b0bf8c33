"""A tiny model of random weights that TRL trains, and how it first learns the form of a tool call from examples.

A random model practically never writes a valid tool call.
"""

from pathlib import Path


def tokenizer(text: str):
    """Returns a tokenizer for texts like this one, with the marks of tool calls and a chat template that TRL knows."""
    import trl
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    marks = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"]
    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    plain.train_from_iterator([text], trainer)
    plain.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in marks])
    fast = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    return fast


def model(tokens):
    """Returns a model with two layers of width 64."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    return Qwen3ForCausalLM(
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


def learn(learner, examples: list[tuple[list[int], list[int]]], steps: int) -> None:
    """Trains on all pairs of the ids of a prompt and its answer, in each step."""
    import torch

    width = max(len(prompt) + len(completion) for prompt, completion in examples)
    ids = torch.zeros((len(examples), width), dtype=torch.long)
    labels = torch.full_like(ids, -100)
    mask = torch.zeros_like(ids)
    for row, (prompt, completion) in enumerate(examples):
        length = len(prompt) + len(completion)
        ids[row, :length] = torch.tensor(prompt + completion)
        labels[row, len(prompt) : length] = torch.tensor(completion)
        mask[row, :length] = 1
    optimizer = torch.optim.Adam(learner.parameters(), 3e-3)
    for _ in range(steps):
        learner(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
