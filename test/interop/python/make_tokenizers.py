"""Train small tokenizers of the kinds that the supported model families use.

Request: {"folder", "corpus": [text], "vocabularySize"}. Each kind becomes a folder of its name, written by
transformers' save_pretrained. The split patterns are read from transformers, so that they are those of real models.
Response: {kind: folder}.
"""

import inspect
import json
from pathlib import Path

from contract import answer
from templates import TEMPLATES
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX as QWEN_PATTERN

LLAMA3_PATTERN = inspect.signature(TikTokenConverter.__init__).parameters["pattern"].default


def split_then_bytes(pattern: str):
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def byte_level(corpus, vocabulary_size, *, pre_tokenizer, normalizer=None, special, ignore_merges=False, bos=None):
    """Byte-level BPE, as in GPT-2 and everything after it; the special tokens come last, as in Llama 3 and Qwen."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size - len(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    if bos is not None:
        tokenizer.post_processor = processors.Sequence(
            [
                processors.ByteLevel(trim_offsets=False),
                processors.TemplateProcessing(
                    single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, tokenizer.token_to_id(bos))]
                ),
            ]
        )
    return tokenizer


def smollm(corpus, vocabulary_size):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<file_sep>"]
    tokenizer = byte_level(
        corpus,
        vocabulary_size,
        pre_tokenizer=pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        special=special,
    )
    roles = {"bos_token": special[1], "eos_token": special[2], "unk_token": special[0], "pad_token": special[2]}
    return tokenizer, roles, TEMPLATES["chatml"]


def llama3(corpus, vocabulary_size):
    special = [
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
        "<|reserved_special_token_0|>",
    ]
    tokenizer = byte_level(
        corpus,
        vocabulary_size,
        pre_tokenizer=split_then_bytes(LLAMA3_PATTERN),
        special=special,
        ignore_merges=True,
        bos=special[0],
    )
    return tokenizer, {"bos_token": special[0], "eos_token": special[4]}, TEMPLATES["headers"]


def qwen(corpus, vocabulary_size):
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    # Qwen3's thinking and tool-call marks are added tokens that are not special.
    marks = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
    tokenizer = byte_level(
        corpus,
        vocabulary_size - len(marks),
        pre_tokenizer=split_then_bytes(QWEN_PATTERN),
        normalizer=normalizers.NFC(),
        special=special,
    )
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in marks])
    return tokenizer, {"eos_token": special[2], "pad_token": special[0]}, TEMPLATES["thinking"]


def sentencepiece(corpus, vocabulary_size, *, metaspace: bool):
    """BPE over characters with bytes to fall back on, as in Llama 2, TinyLlama and Mistral."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=True)
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    # Rare characters are left out of the vocabulary, so that the fallback is used.
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        limit_alphabet=120,
        special_tokens=["<unk>", "<s>", "</s>", *bytes_],
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    result = Tokenizer(
        models.BPE(
            vocab=tokenizer.get_vocab(),
            merges=merges_of(tokenizer),
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    if metaspace:
        result.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    else:
        result.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    result.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    result.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in ["<unk>", "<s>", "</s>"]]
    )
    result.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", result.token_to_id("<s>"))]
    )
    return result, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, TEMPLATES["instructions"]


def merges_of(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    return [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


KINDS = {
    "smollm": smollm,
    "llama3": llama3,
    "qwen": qwen,
    "sentencepiece": lambda corpus, size: sentencepiece(corpus, size, metaspace=False),
    "metaspace": lambda corpus, size: sentencepiece(corpus, size, metaspace=True),
}


def make(request: dict) -> dict:
    folders = {}
    for kind, build in KINDS.items():
        tokenizer, roles, template = build(request["corpus"], request["vocabularySize"])
        folder = str(Path(request["folder"], kind))
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, chat_template=template, clean_up_tokenization_spaces=False, **roles
        ).save_pretrained(folder)
        folders[kind] = folder
    return folders


if __name__ == "__main__":
    answer(make)
