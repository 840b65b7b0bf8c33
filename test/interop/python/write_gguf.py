"""Write tiny checkpoints as GGUF files, as llama.cpp's converter does, and decode blocks by `gguf`.

Request: {"files": [{"checkpoint": folder, "file", "pre": name or null for SentencePiece}], "blocks": [{"type",
"bytes": base64}]}. Tensors keep their types.
Response: {"blocks": [base64 of float32 values], "smollm2": the path of the GGUF file of SmolLM2}.
"""

import base64
import json
import math
from pathlib import Path

import gguf
import numpy as np
import torch
from contract import answer
from convert_gguf import find_gguf
from transformers import AutoConfig, AutoModelForCausalLM

NAMES = {
    "model.embed_tokens": "token_embd", "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
    "model.norm": "output_norm", "transformer.ln_f": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "ln_1": "attn_norm", "post_attention_layernorm": "ffn_norm", "ln_2": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up",
    "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}  # fmt: skip


def gguf_name(name: str) -> str:
    module, part = name.rsplit(".", 1)
    if module in NAMES:
        return f"{NAMES[module]}.{part}"
    _, _, layer, rest = module.split(".", 3)
    return f"blk.{layer}.{NAMES[rest]}.{part}"


def pairs_together(weight: torch.Tensor, heads: int) -> torch.Tensor:
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, 2, half, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def rope_factors(rope: dict, head_dim: int) -> np.ndarray:
    context = rope["original_max_position_embeddings"]
    factors = []
    for i in range(0, head_dim, 2):
        turns = context / (2 * math.pi * rope["rope_theta"] ** (i / head_dim))
        smooth = (turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
        smooth = min(1.0, max(0.0, smooth))
        factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, dtype=np.float32)


def add_tokenizer(writer: gguf.GGUFWriter, folder: Path, *, pre: str | None, size: int) -> None:
    definition = json.loads((folder / "tokenizer.json").read_text())
    roles = json.loads((folder / "tokenizer_config.json").read_text())
    tokens = [f"[PAD{i}]" for i in range(size)]
    types = [gguf.TokenType.UNUSED] * size
    ids = dict(definition["model"]["vocab"])
    for token, index in ids.items():
        tokens[index] = token
        is_byte = pre is None and len(token) == 6 and token.startswith("<0x")
        types[index] = gguf.TokenType.BYTE if is_byte else gguf.TokenType.NORMAL
    for token in definition["added_tokens"]:
        ids[token["content"]] = token["id"]
        tokens[token["id"]] = token["content"]
        types[token["id"]] = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
    merges = definition["model"]["merges"]
    writer.add_tokenizer_model("llama" if pre is None else "gpt2")
    writer.add_tokenizer_pre(pre or "default")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if pre is None:
        ranks = {"".join(merge): rank for rank, merge in reversed(list(enumerate(merges)))}
        writer.add_token_scores([float(-ranks.get(token, 10_000 + i)) for i, token in enumerate(tokens)])
    else:
        writer.add_token_merges([" ".join(merge) for merge in merges])
    for role, add in [("bos", writer.add_bos_token_id), ("eos", writer.add_eos_token_id), ("unk", writer.add_unk_token_id)]:
        if roles.get(f"{role}_token") is not None:
            add(ids[roles[f"{role}_token"]])
    template = folder / "chat_template.jinja"
    if template.exists():
        writer.add_chat_template(template.read_text())


def write(checkpoint: Path, file: str, pre: str | None) -> None:
    config = AutoConfig.from_pretrained(checkpoint)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype="auto")
    # A file of Mistral names the architecture llama.
    family = "llama" if config.model_type == "mistral" else config.model_type
    writer = gguf.GGUFWriter(file, family)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    inner = config.n_inner or 4 * config.n_embd if family == "gpt2" else config.intermediate_size
    writer.add_feed_forward_length(inner)
    writer.add_head_count(config.num_attention_heads)
    rope = getattr(config, "rope_parameters", None)
    if family == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
    elif family == "starcoder2":
        writer.add_layer_norm_eps(config.norm_epsilon)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    key_value_heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if rope is not None:
        writer.add_head_count_kv(key_value_heads)
        writer.add_rope_freq_base(rope["rope_theta"])
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
        writer.add_rope_dimension_count(head_dim)
        if rope["rope_type"] == "llama3":
            writer.add_tensor("rope_freqs.weight", rope_factors(rope, head_dim))
    if family in ("starcoder2", "phi3") and config.sliding_window is not None:
        writer.add_sliding_window(config.sliding_window)
    add_tokenizer(writer, checkpoint, pre=pre, size=config.vocab_size)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if family in ("llama", "smollm3") and ".q_proj." in name:
            weight = pairs_together(weight, config.num_attention_heads)
        if family in ("llama", "smollm3") and ".k_proj." in name:
            weight = pairs_together(weight, key_value_heads)
        if family == "gpt2" and ".c_" in name and name.endswith("weight"):
            weight = weight.T
        weight = weight.contiguous()
        if weight.dtype == torch.bfloat16:
            raw = weight.view(torch.uint8).numpy()
            writer.add_tensor(gguf_name(name), raw, raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(gguf_name(name), weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def decode(kind: str, text: str) -> str:
    quantization = gguf.GGMLQuantizationType[kind]
    _, size = gguf.GGML_QUANT_SIZES[quantization]
    data = np.frombuffer(base64.b64decode(text), dtype=np.uint8).reshape(-1, size)
    if kind in ("F32", "F16"):
        data = data.view(np.float32 if kind == "F32" else np.float16)
    with np.errstate(all="ignore"):
        values = gguf.dequantize(data, quantization).astype("<f4")
    return base64.b64encode(values.tobytes()).decode()


def run(request: dict) -> dict:
    for wanted in request["files"]:
        write(Path(wanted["checkpoint"]), wanted["file"], wanted["pre"])
    return {
        "blocks": [decode(blocks["type"], blocks["bytes"]) for blocks in request["blocks"]],
        "smollm2": str(find_gguf()),
    }


if __name__ == "__main__":
    answer(run)
