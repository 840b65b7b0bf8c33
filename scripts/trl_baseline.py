"""What `compare-trl.ts` compares with: GRPO steps by TRL's GRPOTrainer. A line of stdin starts each step."""

import json
import os
import resource
import sys
import time

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

request = json.loads(sys.argv[1])
device, precision = request["device"], request["precision"]
if request.get("threads"):
    torch.set_num_threads(request["threads"])
lengths: list[int] = []


def reward(completions, completion_ids, **_) -> list[float]:
    """The share of vowels."""
    lengths.extend(len(ids) for ids in completion_ids)
    texts = [completion[0]["content"] for completion in completions]
    return [sum(text.count(vowel) for vowel in "aeiou") / max(1, len(text)) for text in texts]


def peak_bytes() -> int:
    """The greatest memory so far: of the card, or of this process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Turns(TrainerCallback):
    """Waits for a line before each step, and reports the step."""

    def on_step_begin(self, args, state, control, **_) -> None:
        if not sys.stdin.readline():
            os._exit(0)
        lengths.clear()
        self.started, self.spent = time.perf_counter(), time.process_time()

    def on_step_end(self, args, state, control, **_) -> None:
        if device == "cuda":
            torch.cuda.synchronize()
        step = {
            "seconds": time.perf_counter() - self.started,
            "processorSeconds": time.process_time() - self.spent,
            "tokens": sum(lengths),
            "peakBytes": peak_bytes(),
        }
        print(json.dumps(step), file=answers)


per_device = request["microBatch"]
completions = len(request["prompts"]) * request["groupSize"]
trainer = GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(request["model"], dtype=getattr(torch, precision)),
    processing_class=AutoTokenizer.from_pretrained(request["model"], padding_side="left"),
    train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": text}]} for text in request["prompts"]]),
    reward_funcs=reward,
    peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"),
    callbacks=[Turns()],
    args=GRPOConfig(
        output_dir=request["folder"],
        max_steps=request["steps"],
        num_generations=request["groupSize"],
        per_device_train_batch_size=per_device,
        gradient_accumulation_steps=completions // per_device,
        max_completion_length=request["tokens"],
        temperature=1.0,
        top_k=0,
        beta=0.0,
        learning_rate=1e-5,
        # As Lyceum's default: activations are kept.
        gradient_checkpointing=False,
        use_cpu=device == "cpu",
        bf16=precision == "bfloat16",
        fp16=precision == "float16",
        logging_steps=1,
        report_to=[],
        save_strategy="no",
        seed=1,
    ),
)
trainer.train()
