"""What Lyceum is compared with: plain PyTorch with peft for a LoRA step, and `generate` of transformers.

Reads requests as JSON lines and answers each with a line, so that both sides can take turns on one machine.
"""

import json
import os
import resource
import sys
import time

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

request = json.loads(sys.argv[1])
device, dtype = request["device"], getattr(torch, request["precision"])
if request.get("threads"):
    torch.set_num_threads(request["threads"])
torch.manual_seed(1)
with torch.device(device):
    if "model" in request:
        base = AutoModelForCausalLM.from_pretrained(request["model"], dtype=dtype)
    else:
        shape = dict(request["config"])
        base = AutoModelForCausalLM.from_config(AutoConfig.for_model(shape.pop("model_type"), **shape), dtype=dtype)
if request.get("trains", True):
    model = get_peft_model(base, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
else:
    model = base


def peak_bytes() -> int:
    """The greatest memory so far: of the card, or of this process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def synchronize() -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def train_step(sequences: int, length: int, micro: int) -> None:
    """Cross-entropy on every token, in micro-batches, then a step."""
    model.train()
    ids = torch.randint(33, 126, (sequences, length + 1), device=device)
    for start in range(0, sequences, micro):
        part = ids[start : start + micro]
        with torch.autocast(device, dtype, enabled=dtype != torch.float32):
            logits = model(input_ids=part[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), part[:, 1:].flatten(), reduction="sum")
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@torch.inference_mode()
def sample(rows: int, prompt: int, tokens: int) -> None:
    """Samples exactly this many tokens for each row."""
    model.eval()
    ids = torch.randint(33, 126, (rows, prompt), device=device)
    with torch.autocast(device, dtype, enabled=dtype != torch.float32):
        model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=True, top_k=0,
            max_new_tokens=tokens, min_new_tokens=tokens, pad_token_id=0,
        )


print(json.dumps({"ready": True}), file=answers)
for line in sys.stdin:
    call = json.loads(line)
    kind = call.pop("call")
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    try:
        synchronize()
        started = time.perf_counter()
        {"train": train_step, "sample": sample}[kind](**call)
        synchronize()
        seconds = time.perf_counter() - started
        print(json.dumps({"seconds": seconds, "peakBytes": peak_bytes()}), file=answers)
    except torch.OutOfMemoryError as error:
        print(json.dumps({"error": str(error).splitlines()[0]}), file=answers)
