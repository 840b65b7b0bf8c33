import type { Json } from "../../src/contract/json.ts";
import type { OldConfig } from "./old-config.ts";
import type { OldKey } from "./old-key.ts";

/** The keys of one environment in MRLM's `eval_envs`. Every environment in this list is trained in. */
export const mrlmEnvironmentKeys: readonly OldKey[] = [
  {
    old: "env_type",
    now: "environment.id",
    note: "code, math and debate keep their names (code with shareTests and sandboxSlice: all, as there), tool becomes tools; custom becomes a module: environment.id: ./my-env.ts",
    convert: (value, config) => {
      const id = environmentId(config);
      const address = remoteAddress(config);
      if (address !== undefined) {
        return { set: { "environment.url": id === undefined ? address : `${address}/${id}` } };
      }
      if (id === undefined)
        return { lost: `"${String(value)}" is not built in: write its module and set environment.id: ./my-env.ts` };
      // The feedback there shows every failing test of the reward.
      const tests = { "environment.shareTests": true, "environment.sandboxSlice": "all" };
      const code =
        id === "code" ? { "environment.dataset": codeDataset(config), "environment.reward": "mrlm", ...tests } : {};
      return { set: { "environment.id": id, ...code } };
    },
  },
  { old: "mode", idle: ["client", "server"], note: "only the model is trained, never an environment" },
  {
    old: "dataset",
    now: "environment.id, environment.dataset",
    note: "gsm8k and math (as math-problems) are environments; humaneval and mbpp are data sets of code",
    convert: (value, config) =>
      environmentId({ ...config, get: (path) => (path === "dataset" ? undefined : config.get(path)) }) === undefined ||
      ["gsm8k", "math", "humaneval", "mbpp"].includes(String(value))
        ? {}
        : { lost: `"${String(value)}" is not built in: give its file by environment.path` },
  },
  { old: "problems", note: "problems are in a JSONL file: environment.path with dataset: jsonl (docs/code.md)" },
  {
    old: "max_attempts",
    now: "environment.maxTurns",
    note: "rounds in debate",
    missing: (config) => (config.has("max_turns") ? undefined : defaultTurns[config.text("env_type") ?? ""]),
    convert: turns,
  },
  { old: "max_turns", now: "environment.maxTurns", note: "rounds in debate", convert: turns },
  {
    old: "timeout",
    now: "environment.cpuSeconds",
    note: "for all tests of a problem; only code has it",
    missing: (config) => (config.text("env_type") === "code" ? 5 : undefined),
    convert: (value, config) =>
      environmentId(config) === "code"
        ? { set: { "environment.cpuSeconds": value } }
        : { lost: "this environment runs no code" },
  },
  {
    old: "difficulty_range",
    now: "environment.difficulty",
    convert: (value, config) =>
      environmentId(config) === "math" ? { set: { "environment.difficulty": value } } : { lost: "only math has it" },
  },
  {
    old: "reward_scale",
    now: "rewards",
    idle: [1],
    convert: (factor) => ({ set: { rewards: [{ type: "scale", factor }] } }),
  },
  { old: "reward_bias", now: "rewards", idle: [0], convert: (by) => ({ set: { rewards: [{ type: "shift", by }] } }) },
  {
    old: "reward_clip",
    now: "rewards",
    convert: (value) => ({ set: { rewards: [{ type: "clamp", minimum: -Number(value), maximum: Number(value) }] } }),
  },
  {
    old: "remote",
    now: "environment.url",
    note: "with server_address; the other keys are then options of the server",
    idle: [false],
    convert: (_, config) =>
      remoteAddress(config) === undefined ? { lost: "without server_address, set environment.url" } : {},
  },
  {
    old: "server_address",
    now: "environment.url",
    note: "HOST:PORT becomes grpc://HOST:PORT/NAME, with remote: true; serve the environment by lyceum serve --grpc-port",
    partOf: "remote",
  },
  {
    old: "custom_class",
    note: "a Python class cannot be loaded: write the environment in TypeScript (docs/environments.md)",
  },
  {
    old: "custom_kwargs",
    idle: [{} as Json],
    note: "options of a Python class; environments of Lyceum declare their own options",
  },
];

/** The comment at an environment on a server. */
export const remoteNote =
  "first serve it, by lyceum serve --environments NAME --grpc-port PORT; a server of MRLM has another protocol";

/** The default number of turns of MRLM's environments. */
const defaultTurns: Readonly<Record<string, number>> = { code: 3, math: 2, debate: 6, tool: 5 };

/** Returns the environment that an entry stands for, if there is one. */
function environmentId(config: OldConfig): string | undefined {
  const [type, dataset] = [config.text("env_type") ?? "", config.text("dataset") ?? ""];
  if (type === "math" && dataset === "gsm8k") return "gsm8k";
  if (type === "math" && dataset === "math") return "math-problems";
  return new Map([
    ["code", "code"],
    ["math", "math"],
    ["debate", "debate"],
    ["tool", "tools"],
    ["tools", "tools"],
  ]).get(type);
}

/** Returns the address of the server that an entry uses, if it uses one. */
function remoteAddress(config: OldConfig): string | undefined {
  const address = config.text("server_address");
  if (config.get("remote") !== true || address === undefined) return undefined;
  return /^\w+:\/\//.test(address) ? address.replace(/\/+$/, "") : `grpc://${address}`;
}

function codeDataset(config: OldConfig): string {
  return config.text("dataset") === "mbpp" ? "mbpp" : "humaneval";
}

function turns(value: Json, config: OldConfig): { set: Record<string, Json> } {
  return { set: { [environmentId(config) === "debate" ? "environment.rounds" : "environment.maxTurns"]: value } };
}
