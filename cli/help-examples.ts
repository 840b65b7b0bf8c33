import type { Command } from "commander";

/** The example command lines in the help, by command. Those of the empty name belong to `lyceum --help`. */
const examples: Readonly<Record<string, readonly string[]>> = {
  "": ["lyceum init my-env", "lyceum train --help", "lyceum info grpo"],
  train: [
    "lyceum train",
    "lyceum train --config grpo.yaml --output runs/second --set seed=2",
    "lyceum train --config grpo.yaml --output runs/second --resume",
  ],
  plan: [
    "lyceum plan grpo.yaml",
    "lyceum plan grpo.yaml --device h100 --gpus 8 --price 2.5",
    "lyceum plan grpo.yaml --set model.adapter.type=lora --json",
  ],
  preflight: ["lyceum preflight --config grpo.yaml"],
  report: ["lyceum report runs/train"],
  init: ["lyceum init my-env", "lyceum init @me/my-env"],
  check: ["lyceum check ./environment.ts", "lyceum check math --set digits=3 --split test"],
  play: [
    "lyceum play ./environment.ts",
    "lyceum play math --set digits=2 --task 3",
    "lyceum play tic-tac-toe --agent x --model runs/train",
  ],
  collect: [
    "lyceum collect --env ./environment.ts --output demonstrations.jsonl",
    "lyceum collect --env gsm8k -m openai:gpt-5-mini --min-reward 1 -o good.jsonl",
  ],
  eval: [
    "lyceum eval --env ./environment.ts --split test --model runs/train",
    "lyceum eval gsm8k --limit 100 --model HuggingFaceTB/SmolLM2-135M-Instruct",
    "lyceum eval humaneval --samples 10 --temperature 0.8 --model openai:gpt-5-mini",
  ],
  compare: ["lyceum compare runs/eval/before runs/eval/after"],
  rescore: ["lyceum rescore runs/eval/before --env ./environment.ts --output runs/again"],
  view: ["lyceum view", "lyceum view runs/train --export train.html"],
  capture: ["lyceum capture --model runs/train", "lyceum capture --model http://127.0.0.1:8000/v1 -M tokenIds=true"],
  serve: [
    "lyceum serve --environments math,./environment.ts --port 8000",
    "lyceum serve --model runs/train --grpc-port 50051",
  ],
  "serve-model": [
    "lyceum serve-model HuggingFaceTB/SmolLM2-135M-Instruct --port 8000",
    "lyceum serve-model ./model --name Qwen/Qwen3-8B --port 8000",
  ],
  migrate: ["lyceum migrate old.yaml --output train.yaml"],
  export: ["lyceum export runs/train --output my-model", "lyceum export runs/lora --merged --output my-model"],
  "export-python": [
    "lyceum export-python number-guessing --output guessing-python",
    "lyceum export-python ./environment.ts --space --output my-space",
  ],
  "export-harbor": [
    "lyceum export-harbor code --split 'test[:20]' --output tasks",
    "lyceum export-harbor harbor --set path=mine --output tasks",
  ],
  "torch-node": ["lyceum torch-node --node 1 --nodes 2 --processes 4 --rendezvous 10.0.0.1:29500"],
  setup: ["lyceum setup torch", "lyceum setup torch --cuda cpu"],
  info: ["lyceum info", "lyceum info math", "lyceum info grpo", "lyceum info openai"],
};

/** Adds the examples to the help of the program and of its commands. */
export function addHelpExamples(program: Command): void {
  for (const [name, lines] of Object.entries(examples)) {
    const command = name === "" ? program : program.commands.find((one) => one.name() === name);
    command?.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  }
}
