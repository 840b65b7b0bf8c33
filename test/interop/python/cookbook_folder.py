"""Writes the folder in which recipes of the Tinker cookbook run without a hub: a tiny model and two data sets.

The folders have the names of the hub's repositories, so that the recipes find them as relative paths. The model first
learns the form of the answers that the recipes reward, because a random model practically never writes one.
"""

import json
import random
from pathlib import Path

from contract import answer

MODEL = "Qwen/Qwen3-8B"
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKS = ["<think>", "</think>"]
ANSWERS = ["2", "3", "4", "5"]
SUFFIX = " Provide a numerical answer without units, written inside \\boxed{}."


def short_problems(path: str) -> list[dict]:
    """Returns the problems with short questions and one of a few answers, so that a guess is often right."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    fits = [row for row in rows if row["answer"].rsplit("#### ", 1)[1] in ANSWERS and len(row["question"]) < 160]
    return [{"question": row["question"], "answer": row["answer"]} for row in fits]


def write_lines(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_data(folder: Path, problems: list[dict]) -> None:
    conversations = [
        {
            "messages": [
                {"role": "user", "content": problem["question"]},
                {"role": "assistant", "content": problem["answer"]},
            ]
        }
        for problem in problems
    ]
    for split in ["train", "test"]:
        write_lines(folder / "HuggingFaceH4/no_robots" / f"{split}.jsonl", conversations)
        write_lines(folder / "openai/gsm8k/main" / f"{split}.jsonl", problems)
    (folder / "openai/gsm8k/README.md").write_text(
        "---\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train.jsonl\n"
        "  - split: test\n    path: main/test.jsonl\n---\n"
    )


def make_tokenizer(texts: list[str]):
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    plain.train_from_iterator(texts, trainer)
    plain.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in MARKS])
    return PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<|im_end|>", pad_token="<|endoftext|>")


def examples(tokens, problems: list[dict]) -> list[tuple[list[int], list[int]]]:
    """Returns prompts as the recipes render them, with answers in the rewarded form."""
    from tinker_cookbook import renderers
    from tinker_cookbook.recipes.multiplayer_rl.guess_number.env import GuessNumberEnv

    pick = random.Random(0)
    pairs = []

    def add(prompt, text: str) -> None:
        pairs.append((prompt.to_ints(), tokens.encode(text + "<|im_end|>", add_special_tokens=False)))

    thinking = renderers.get_renderer("qwen3", tokens)
    # Every answer to each problem, so that none is learned by heart and the samples of a group differ.
    for problem in problems[:8]:
        conversation = [
            {"role": "user", "content": "How many r's are in strawberry?" + SUFFIX},
            {"role": "assistant", "content": "\\boxed{3}"},
            {"role": "user", "content": problem["question"] + SUFFIX},
        ]
        for guess in ANSWERS:
            add(thinking.build_generation_prompt(conversation), f"\\boxed{{{guess}}}")
    plain = renderers.get_renderer("qwen3_disable_thinking", tokens)
    for _ in range(24):
        env = GuessNumberEnv(pick.randrange(1024), plain)
        for _ in range(pick.randrange(3)):
            guess = pick.randrange(1024)
            env.turns.append({"role": "player", "content": f"Guess: {guess}"})
            env.turns.append({"role": "user", "content": "Too low" if guess < env.gold_answer else "Too high"})
        form = "Guess: {}" if pick.random() < 0.6 else "I say {}"
        add(env._obs, form.format(pick.randrange(1024)))
    return pairs


def run(request: dict) -> dict:
    from tiny_qwen3 import learn, model
    from tinker_cookbook import renderers
    from tinker_cookbook.recipes.multiplayer_rl.guess_number.env import GuessNumberEnv

    folder = Path(request["folder"])
    problems = short_problems(request["problems"])
    write_data(folder, problems)
    texts = [f"{row['question']}{SUFFIX}\n{row['answer']}\nGuess: 512 \\boxed{{3}}" for row in problems]
    tokens = make_tokenizer(texts)
    policy = model(tokens)
    learn(policy, examples(tokens, problems), request["steps"])
    policy.save_pretrained(folder / MODEL)
    tokens.save_pretrained(folder / MODEL)
    game = GuessNumberEnv(500, renderers.get_renderer("qwen3_disable_thinking", tokens))._obs
    guess = tokens.encode("Guess: 500", add_special_tokens=False)
    return {"model": MODEL, "problems": len(problems), "prompt": game.to_ints(), "guess": guess[0]}


if __name__ == "__main__":
    answer(run)
