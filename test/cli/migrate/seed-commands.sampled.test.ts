import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../../cli/catalog.ts";
import { createProgram, type TrainArguments } from "../../../cli/create-program.ts";
import { loadStages } from "../../../cli/load-stages.ts";
import { translateOverrides } from "../../../cli/migrate/translate-overrides.ts";
import { migrateConfig } from "../../../cli/migrate-config.ts";
import { configKeys } from "../../../cli/run-config.ts";
import type { Json } from "../../../src/contract/json.ts";
import { pythonSandbox } from "../../environments/python-sandbox.ts";
import { createTinyHub, type TinyHub } from "../../examples/tiny-hub.ts";
import { trainOneStep } from "../../examples/train-one-step.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf } from "../../tier.ts";
import { runInProcess } from "../run-in-process.ts";

let hub: TinyHub;
let folder: string;
beforeAll(async () => {
  hub = await createTinyHub();
  folder = temporaryFolder();
  for (const name of models) {
    const repository = join(hub.environment.HF_HUB_CACHE!, `models--${name.replace("/", "--")}`);
    await cp(hub.model, join(repository, "snapshots", "0".repeat(40)), { recursive: true });
    await mkdir(join(repository, "refs"));
    await writeFile(join(repository, "refs", "main"), "0".repeat(40));
  }
  await cp(hub.model, join(folder, "outputs/ppo/final"), { recursive: true });
  for (const [path, config] of Object.entries(configs)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), stringify(config));
  }
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
});

beforeEach(() => {
  for (const [name, value] of Object.entries(hub.environment)) vi.stubEnv(name, value);
});

const models = ["Qwen/Qwen2.5-1.5B", "Qwen/Qwen2.5-Coder-3B", "Qwen/Qwen2.5-Coder-7B", "bigcode/starcoder2-3b"];

/** A summary of the config files that the command lines name. */
function collaboration(section: string, data: string, more: Readonly<Record<string, Json>>): Json {
  const [name, train_split, eval_split] =
    data === "humaneval"
      ? ["openai/openai_humaneval", "test[33:163]", "test[:32]"]
      : ["CoMLRL/CoopHumanEval", "test[16:]", "test[:16]"];
  return {
    model: { name: "Qwen/Qwen2.5-Coder-3B", type: "qwen", temperature: 0.7, top_p: 0.9 },
    dataset: { name, type: data, train_split, eval_split },
    external: { mode: "level_feedback", sandbox_slice: 1, original_prompt: true, previous_response: true },
    [section]: { num_train_epochs: 6, learning_rate: 2e-5, num_generations: 4, max_new_tokens: 256, ...more },
  };
}

const twoTurns = { num_turns: 2, turn_gradient_weights: [1.2, 0.8], early_termination_threshold: 4 };
const their = "LLM_Collaboration_with_MARL";
const configs: Readonly<Record<string, Json>> = {
  "configs/code_generation_ppo.yaml": { training: { algorithm: "ppo" }, eval_envs: [{ env_type: "code" }] },
  "configs/my_experiment.yaml": { training: { algorithm: "ppo" }, eval_envs: [{ env_type: "code", max_turns: 3 }] },
  [`${their}/configs/grpo_he_config.yaml`]: collaboration("grpo", "humaneval", {}),
  [`${their}/configs/grpo_che_config.yaml`]: collaboration("grpo", "coophumaneval", {}),
  [`${their}/configs/magrpo_he_config.yaml`]: collaboration("magrpo", "humaneval", { num_agents: 2 }),
  [`${their}/configs/magrpo_che_config.yaml`]: collaboration("magrpo", "coophumaneval", { num_agents: 2 }),
  [`${their}/configs/mt_magrpo_he_config.yaml`]: collaboration("magrpo", "humaneval", twoTurns),
  [`${their}/configs/mt_magrpo_che_config.yaml`]: collaboration("magrpo", "coophumaneval", twoTurns),
};

/** The words of a command line, as a shell splits them. */
function words(line: string): string[] {
  return [...line.matchAll(/(?:[^\s']+|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ""));
}

describe("command lines of MRLM, with lyceum instead of mrlm", () => {
  // The command line, the exit code, and the output.
  it.each([
    ["mrlm train --config configs/code_generation_ppo.yaml", 2, "lyceum migrate configs/code_generation_ppo.yaml"],
    ["mrlm train --config configs/my_experiment.yaml", 2, "lyceum migrate configs/my_experiment.yaml"],
    ["mrlm eval --model outputs/ppo/final --environment math --num-episodes 20", 0, "20 tasks, 20 episodes"],
    [
      "mrlm collect --model Qwen/Qwen2.5-1.5B --environment code -n 100 -o data/trajectories.json",
      0,
      "40 episodes, 40 conversations written",
    ],
    ["mrlm info", 0, "Algorithms"],
    // The flags are read, and there is no train.yaml.
    ["torchrun --nproc_per_node=4 train.py --strategy fsdp", 2, "There is no config file train.yaml"],
    [
      "torchrun --nproc_per_node=4 --nnodes=2 --node_rank=0 --master_addr=10.0.0.1 --master_port=12355 train.py",
      2,
      "There is no config file train.yaml",
    ],
    [
      "torchrun --nproc_per_node=4 --nnodes=2 --node_rank=1 --master_addr=10.0.0.1 --master_port=12355 train.py",
      2,
      "Run lyceum torch-node --node 1 --nodes 2 --processes 4 --rendezvous 10.0.0.1:12355 on this one",
    ],
    [
      "torchrun --nproc_per_node=4 --nnodes=2 --node_rank=0 --master_addr=<node0_ip> --master_port=12355 train.py",
      2,
      "--master_addr <node0_ip> is not a host",
    ],
    // The lines of its reference, with and without the optional parts in brackets.
    ["mrlm serve --environments math,debate --port 50051 --host 0.0.0.0", 2, "the server needs a token"],
    ["mrlm eval --model outputs/ppo/final --environment math --num-episodes 2 --output out/FILE", 0, "2 episodes"],
    ["mrlm collect --model outputs/ppo/final --environment math --num-episodes 2 --output out/a", 0, "2 conversations"],
    [
      "mrlm collect --model outputs/ppo/final --environment math --num-episodes 2 --output out/b --filter-reward 0.5",
      0,
      "2 below 0.5",
    ],
    ["mrlm train --config configs/my_experiment.yaml --output out/run --resume out/CHECKPOINT", 2, "lyceum migrate"],
  ])("%s", async (line, exit, said) => {
    const command = line.startsWith("torchrun") ? line.replace("torchrun", "train").replace(" train.py", "") : line;
    const args = words(command.replace(/^mrlm /, ""));
    const { code, stdout, stderr } = await runInProcess(args, { folder });
    expect([code, stdout + stderr]).toEqual([exit, expect.stringContaining(said)]);
  });
});

/** The arguments that `lyceum train` receives from a command line. */
async function parsed(args: readonly string[]): Promise<TrainArguments> {
  let given: TrainArguments | undefined;
  const never = () => Promise.reject(new Error("another command"));
  const train = async (read: TrainArguments): Promise<void> => {
    given = read;
  };
  const others = { report: never, init: never, play: never, collect: never, migrate: never, info: never };
  const evaluation = { eval: never, compare: never, rescore: never, view: never };
  const program = createProgram({ train, ...others, ...evaluation } as never, { version: "0" });
  await program.parseAsync(["train", ...args], { from: "user" });
  return given!;
}

/** The settings that must be smaller for one step of a tiny model. */
const small = [
  ...["tasks.split=test[:1]", "evaluation={}", `environment.sandbox=${pythonSandbox}`, "trackers=[]"],
  ...["algorithm.groupSize=2", "export.format=none", "training.batchSize=1"],
];

describe("command lines of LLM_Collaboration_with_MARL, with lyceum train instead of python and the script", () => {
  // The command line, the resulting config, and the number of steps per task.
  const lines: readonly [string, Json, number?][] = [
    [`train_grpo.py --config ${their}/configs/grpo_he_config.yaml`, { algorithm: { id: "grpo" } }],
    [
      `train_magrpo.py --config ${their}/configs/magrpo_che_config.yaml`,
      { environment: { dataset: "coop-humaneval" } },
    ],
    [`train_magrpo.py --config ${their}/configs/mt_magrpo_he_config.yaml`, { environment: { maxTurns: 2 } }],
    [
      `train_magrpo.py --config ${their}/configs/magrpo_he_config.yaml --override model_name='bigcode/starcoder2-3b'`,
      { model: { path: "bigcode/starcoder2-3b" } },
    ],
    [
      `train_grpo.py --config ${their}/configs/grpo_che_config.yaml --override grpo.num_train_epochs=20 grpo.learning_rate=3e-5`,
      { training: { learningRate: 3e-5 } },
      20,
    ],
    [
      `train_magrpo.py --config ${their}/configs/mt_magrpo_che_config.yaml --override dataset.train_split='test[16:]' dataset.eval_split='test[:16]' magrpo.num_turns=2 magrpo.turn_gradient_weights=[1.5,0.5]`,
      {
        tasks: { split: "test[16:]" },
        evaluation: { split: "test[:16]" },
        environment: { maxTurns: 2 },
        algorithm: { turnWeights: [1.5, 0.5] },
      },
    ],
    [
      `train_magrpo.py --config ${their}/configs/magrpo_he_config.yaml --model_name Qwen/Qwen2.5-Coder-7B`,
      { model: { path: "Qwen/Qwen2.5-Coder-7B" } },
    ],
    [
      `train_magrpo.py --config ${their}/configs/mt_magrpo_he_config.yaml --num_epochs 10 --num_turns 2 --turn_gradient_weights 1.2 0.8`,
      { environment: { maxTurns: 2 }, algorithm: { turnWeights: [1.2, 0.8] } },
      10,
    ],
    [
      `train_magrpo.py --config ${their}/configs/mt_magrpo_he_config.yaml --override magrpo.external_original_prompt=True magrpo.external_previous_response=True`,
      { environment: { originalPrompt: true, previousResponse: true } },
    ],
    [
      `train_magrpo.py --config ${their}/configs/mt_magrpo_he_config.yaml --override external.mode='level_feedback'`,
      { environment: { mode: "level_feedback" } },
    ],
    [
      `train_magrpo.py --config ${their}/configs/mt_magrpo_che_config.yaml --override external.mode='level_feedback' external.sandbox_slice=-2`,
      { environment: { mode: "level_feedback", sandboxSlice: -2 } },
    ],
    [
      `train_magrpo.py --config ${their}/configs/mt_magrpo_he_config.yaml --override external.mode='plain' magrpo.handoff='best'`,
      { environment: { mode: "plain" }, algorithm: { handoff: "best" } },
    ],
  ];

  /** Migrates the config of a command line. Returns its path, and the arguments. */
  async function migrated(line: string) {
    const [, ...args] = words(line);
    const config = args[1]!;
    const path = join(folder, config.replace(".yaml", "-lyceum.yaml"));
    const text = await readFile(join(folder, config), "utf8");
    await writeFile(path, (await migrateConfig({ text, name: config, to: path, catalog: await openCatalog() })).yaml);
    return { args, config, path };
  }

  it.each(lines)("python .../%s is refused with the way to migrate its config", async (line, expected) => {
    const { args, config, path } = await migrated(line);
    const refused = await runInProcess(["train", ...args], { folder });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`lyceum migrate ${config} --output ${config.replace(".yaml", "-lyceum.yaml")}`);

    const catalog = await openCatalog();
    const { set } = await parsed(args);
    const { set: overrides } = translateOverrides(set, { keys: () => configKeys(catalog) });
    expect((await loadStages({ path, overrides, catalog }))[0]!.config).toMatchObject(expected as object);
  });

  it.each(sampleOf(lines, 8))("python .../%s trains with the migrated config", async (line, _, steps = 1) => {
    const { args, path } = await migrated(line);
    const { set, numEpochs } = await parsed(args);
    const epochs = numEpochs === undefined ? [] : [`magrpo.num_train_epochs=${numEpochs}`];
    await using run = await trainOneStep({ config: path, hub, set: [...small, ...set, ...epochs] });
    expect(run.output).toMatch(new RegExp(`\ncompleted at step ${steps} after`));
  });
});
