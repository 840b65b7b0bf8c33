import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import { mrlmDistributedKeys } from "../../cli/migrate/mrlm-distributed-keys.ts";
import { mrlmKeys } from "../../cli/migrate/mrlm-keys.ts";
import { migrateConfig } from "../../cli/migrate-config.ts";
import type { Json } from "../../src/contract/json.ts";
import { execute } from "./execute.ts";
import { runPython } from "./python.ts";
import { newestPython, providePythonEnvironment } from "./python-environment.ts";

/** The commands that Lyceum prints and documents for SkyRL, read by SkyRL 0.3.0's own classes. */

const repository = join(import.meta.dirname, "../..");
const catalog = await openCatalog();

interface Answer {
  readonly read: readonly {
    readonly backend: string;
    readonly model: string;
    readonly config: Readonly<Record<string, Json>>;
  }[];
  readonly refused: readonly string[];
}

let environment: string;
beforeAll(async () => {
  const python = await newestPython([3, 12]);
  if (python === undefined) throw new Error("Python 3.12 was not found. Install it, because SkyRL needs it.");
  environment = await providePythonEnvironment({
    ...{ name: "skyrl-config", requirements: "skyrl-config-requirements.txt", download: "60 MB", python },
  });
});

/** Splits a command as a shell does, and returns the words after the name of the server's module. */
async function optionsOf(command: string): Promise<string[]> {
  const written = await execute("sh", ["-c", `printf '%s\\n' ${command.replace(/^.*-m skyrl\.tinker\.api/s, "")}`], {
    timeoutMs: 20_000,
  });
  // A JSON text on several lines is one word.
  const lines = written.trimEnd().split("\n");
  const words: string[] = [];
  for (const line of lines) {
    if (words.length > 0 && words.at(-1)!.startsWith("{") && !words.at(-1)!.endsWith("}"))
      words.push(words.pop()! + line);
    else words.push(line);
  }
  return words;
}

async function readBySkyrl(commands: readonly string[], wrong: readonly (readonly [string, Json])[] = []) {
  const request = { commands: await Promise.all(commands.map(optionsOf)), wrong };
  const source = process.env.LYCEUM_SKYRL_SOURCE;
  return await runPython<Answer>({
    ...{ environment, script: "skyrl_config", request: request as unknown as Json },
    ...(source === undefined ? {} : { packages: source }),
  });
}

/** The command of the server for a GRPO config of MRLM with these distributed keys. */
async function commandOf(distributed: object) {
  const old = {
    training: { algorithm: "grpo", use_bf16: true },
    model: {
      model_name_or_path: "Qwen/Qwen2.5-1.5B-Instruct",
      use_flash_attention: true,
      gradient_checkpointing: true,
    },
    eval_envs: [{ env_type: "math" }],
    distributed: { enabled: true, num_gpus: 4, ...distributed } as Json,
  };
  const { converted } = await migrateConfig({
    text: stringify(old),
    name: "old.yaml",
    to: "new.yaml",
    cluster: "skyrl",
    catalog,
  });
  return { command: converted.commands.at(-1)!, server: converted.server };
}

const isConfig = (key: string): boolean => /^(trainer|generator)\./.test(key);

describe("SkyRL's own classes", () => {
  test("read the commands of lyceum migrate, with the values that they have", async () => {
    const converted = await Promise.all(
      [
        { strategy: "ddp" },
        { strategy: "fsdp", num_nodes: 2, fsdp_sharding_strategy: "shard_grad_op", fsdp_cpu_offload: true },
        { strategy: "fsdp", fsdp_sharding_strategy: "hybrid_shard", num_nodes: 4 },
        { strategy: "deepspeed", zero_stage: 3 },
        { strategy: "megatron" },
      ].map(commandOf),
    );
    const { read } = await readBySkyrl(converted.map(({ command }) => command));
    expect(read.map(({ backend }) => backend)).toEqual(["fsdp", "fsdp", "fsdp", "fsdp", "megatron"]);
    for (const [place, { model, config }] of read.entries()) {
      const expected = [...converted[place]!.server].filter(([key]) => isConfig(key));
      expect(expected.length).toBeGreaterThan(6);
      expect(config).toEqual(Object.fromEntries(expected));
      expect(model).toBe("Qwen/Qwen2.5-1.5B-Instruct");
    }
    // Every key of SkyRL in the table is in one of them.
    const named = [...mrlmKeys, ...mrlmDistributedKeys].flatMap(({ server = "" }) =>
      server.split(", ").filter(isConfig),
    );
    const used = new Set(read.flatMap(({ config }) => Object.keys(config)));
    expect(named.filter((key) => !used.has(key))).toEqual([]);
  });

  test("read the commands of docs/clusters.md and of the examples", async () => {
    const files = ["docs/clusters.md", ...globSync("examples/configs/**/*.yaml", { cwd: repository })];
    const texts = await Promise.all(files.map((file) => readFile(join(repository, file), "utf8")));
    const commands = texts.flatMap((text) =>
      [...text.replaceAll(/^# ?/gm, "").matchAll(/^ *uv run .*-m skyrl\.tinker\.api(?:.|\n)*?--port \d+$/gm)].map(
        ([command]) => command,
      ),
    );
    const gpus = commands.filter((command) => !command.includes("--backend jax"));
    expect(gpus.length).toBeGreaterThanOrEqual(3);
    const { read } = await readBySkyrl(gpus);
    for (const { config } of read) expect(Object.keys(config).length).toBeGreaterThan(2);
  });

  test("name every key in the tables of docs/clusters.md, and refuse others", async () => {
    const page = await readFile(join(repository, "docs/clusters.md"), "utf8");
    const keys = [...new Set([...page.matchAll(/`"?((?:trainer|generator)\.[\w.]+)"?[`:]/g)].map(([, key]) => key!))];
    expect(keys.length).toBeGreaterThan(10);
    const wrong = [
      ["trainer.placement.policy_num_gpu_per_node", 4],
      ["trainer.policy.fsdp_config.shard_size", 4],
    ] as const;
    const { refused } = await readBySkyrl([], wrong);
    expect(refused).toHaveLength(2);
    const accepted = await readBySkyrl(
      [],
      keys.map((key) => [key, null] as const),
    );
    expect(accepted.refused).toEqual([]);
  });
});
