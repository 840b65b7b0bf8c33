import { describe, expect, it } from "vitest";
import { openCatalog } from "../../../cli/catalog.ts";
import { nestedConfig } from "../../../cli/migrate/convert-config.ts";
import { migrateConfig } from "../../../cli/migrate-config.ts";

const catalog = await openCatalog();

async function migrated(text: string, system?: "mrlm" | "llm-collab") {
  const { converted, yaml } = await migrateConfig({ text, name: "old.yaml", to: "new.yaml", system, catalog });
  return { ...converted, yaml, config: nestedConfig(converted.set), lost: lostOf(converted.lost) };
}

const lostOf = (lost: readonly { readonly key: string; readonly reason: string }[]): Record<string, string> =>
  Object.fromEntries(lost.map(({ key, reason }) => [key, reason]));

const team = `
model: { name: a/model, temperature: 0.65, top_p: 0.85 }
dataset: { name: openai/openai_humaneval, type: humaneval, train_split: "test[33:163]" }
magrpo: { num_train_epochs: 8, learning_rate: 1e-5 }
`;
const unknown = "no known version of the program reads it";

describe("a file of an old system", () => {
  it.each([
    ["Windows line ends", team.replaceAll("\n", "\r\n")],
    ["a byte order mark", `\uFEFF${team}`],
    ["no line end at the end", team.trimEnd()],
    [
      "Python's words and numbers in quotes",
      team
        .replaceAll("0.65", "'0.65'")
        .replace("1e-5", '"1E-5"')
        .replace("epochs: 8", "epochs: '8'")
        .replace("top_p:", "top_k: None, top_p:"),
    ],
    [
      "anchors, aliases and merges",
      `shared: &shared { temperature: 0.65, top_p: 0.85 }\n${team.replace("temperature: 0.65, top_p: 0.85", "<<: *shared")}`,
    ],
    ["tags of Python", team.replace("{ num_train", "!!python/dict { num_train")],
    ["a key given twice, of which the last counts", team.replace("{ num_train", "{ learning_rate: 3, num_train")],
  ])("with %s says the same", async (_, text) => {
    expect((await migrated(text)).config).toEqual((await migrated(team)).config);
  });

  it("lists every key that no version has, at any place and in any spelling", async () => {
    const text = `${team}flux: 1
nested: { a: { b: 2, c: [1, { d: 3 }] } }
"magrpo.num_turns": 2
output: { keep_tmp: true, flux: null }
1: one
__proto__: { x: 1 }
constructor: 3
"\\e[31mred": 4
`;
    const { lost, idle, yaml } = await migrated(text);
    const keys = ["flux", "nested.a.b", "nested.a.c", '"magrpo.num_turns"', "1", "__proto__.x", "constructor"];
    for (const key of [...keys, "\u001b[31mred"]) expect(lost).toHaveProperty([key], unknown);
    expect(idle).toEqual(expect.arrayContaining(["output.keep_tmp", "output.flux"]));
    expect(yaml).toContain("\\u001b[31mred: 4");
    expect(yaml).not.toContain("\u001b");
  });

  it("explains keys of another system and sections of another trainer", async () => {
    const both = `${team}grpo: { learning_rate: 3e-5 }\ntraining: { learning_rate: 1 }\n`;
    const { lost } = await migrated(both);
    expect(lost["grpo.learning_rate"]).toBe(
      "it belongs to another trainer: the file is converted as a config of magrpo",
    );
    expect(lost["training.learning_rate"]).toBe("a key of MRLM: use --from mrlm to convert the file as such");
    const mixed = `${both}eval_envs: [{ env_type: math }]\n`;
    const { system, lost: others } = await migrated(mixed, "mrlm");
    expect(system).toBe("mrlm");
    expect(others["magrpo.num_train_epochs"]).toContain("use --from llm-collab to convert the file as such");
  });

  it("lists values of the wrong type, and keeps the rest", async () => {
    const text = `${team
      .replace(
        "1e-5",
        "fast, num_generations: 1.5, turn_gradient_weights: heavy, max_grad_norm: .inf, num_turns: 2, joint_mode: 3, rollout_buffer_size: lots, num_agents: 9",
      )
      .replace("33:163", "a:b")
      .replace("epochs: 8", "epochs: many")}
external: { sandbox_slice: half, mode: telepathy }
`;
    const { config, lost } = await migrated(text);
    expect(config).toMatchObject({
      model: { path: "a/model" },
      environment: { maxTurns: 2 },
      sampling: { topP: 0.85 },
    });
    const wrong = ["learning_rate", "num_generations", "turn_gradient_weights", "max_grad_norm", "joint_mode"];
    for (const key of [...wrong, "rollout_buffer_size", "num_agents"])
      expect(lost[`magrpo.${key}`]).toMatch(/expected/);
    expect(lost["magrpo.num_train_epochs"]).toContain("a whole number above 0");
    expect(lost["dataset.train_split"]).toContain("Cannot read the split");
    expect(lost["external.mode"]).toContain("the supported modes are");
  });

  it("with 50,000 unknown keys is converted, and lists each of them", async () => {
    const keys = Array.from({ length: 50_000 }, (_, place) => `  k${place}: "${"x".repeat(80)}"\n`);
    const { lost } = await migrated(`${team}big:\n${keys.join("")}`);
    expect(Object.keys(lost)).toHaveLength(50_000);
  });

  it.each([
    ["", "old.yaml is empty"],
    ["# nothing\n", "old.yaml is empty"],
    ["- a: 1\n", "is not a training config"],
    ["text", "is not a training config"],
    ["5", "is not a training config"],
    ["environment: math\nalgorithm: grpo\n", "is already a config of Lyceum"],
    [`${team}---\na: 1\n`, "contains several documents"],
    ["model:\n\tname: a\n", "is not YAML: Tabs are not allowed"],
    [`a: &a { b: *a }\n${team}`, "has a value that contains itself"],
    [`a: &a [*a]\n${team}`, "has a value that contains itself"],
    [`${team}deep: ${"{ a: ".repeat(100)}1${" }".repeat(100)}`, "nested more than 64 deep"],
    [`${team}deep: ${"{ a: ".repeat(9000)}1${" }".repeat(9000)}`, "nested too deep"],
    [
      `a: &a [x, x, x, x, x, x, x, x, x]\n${"bcdefgh".replaceAll(/./g, (name) => `${name}: &${name} [${Array(9).fill(`*${String.fromCharCode(name.charCodeAt(0) - 1)}`)}]\n`)}${team}`,
      "is not YAML",
    ],
    ["model: { name: [1, 2] }\ndataset: { type: humaneval }\nmagrpo: {}\n", "model.name"],
    ["eval_envs: { env_type: math }\ntraining: { algorithm: ppo }\n", "eval_envs: .* must be a list"],
    ["eval_envs: [{ env_type: spooky }]\ntraining: { algorithm: ppo }\n", '"spooky" is not built in'],
  ])("%j is refused in words", async (text, message) => {
    const refused = migrated(text);
    await expect(refused).rejects.toMatchObject({ code: "config.invalid", hint: expect.stringMatching(/./) });
    await expect(refused).rejects.toThrow(new RegExp(message));
  });
});

it("agents with their own models keep the adapter, the precision and the chat template of each", async () => {
  const { config, lost } = await migrated(`${team.replace("model:", "agent_model:")}
agents: [a/one, { name: bigcode/starcoder2-3b, temperature: 0.1, type: gpt }]
lora: { enabled: true, r: 8, lora_alpha: 32, target_modules: [q_proj] }
`);
  const adapter = { type: "lora", rank: 8, alpha: 32, targets: ["q_proj"] };
  expect(config).toMatchObject({ model: { path: "a/one", adapter } });
  expect(config.agents).toEqual({
    models: { main: { path: "bigcode/starcoder2-3b", chatTemplate: "none", adapter } },
  });
  expect(Object.keys(lost)).toEqual(["agents[1].temperature"]);
});

it("MRLM environments that cannot be merged are kept apart", async () => {
  const { config, lost } = await migrated(`
training: { algorithm: PPO }
model: { model_name_or_path: gpt2 }
eval_envs:
  - { env_type: math, reward_scale: 2 }
  - { env_type: debate, reward_bias: 1, flux: 2 }
  - { env_type: tool }
  - 7
  - { env_type: spooky, custom_class: a.B }
`);
  expect(config).toMatchObject({
    algorithm: { id: "ppo" },
    environments: [
      { id: "math", maxTurns: 2 },
      { id: "debate", rounds: 6 },
      { id: "tools", maxTurns: 5 },
    ],
    rewards: [{ type: "scale", factor: 2 }],
  });
  expect(Object.keys(lost).filter((key) => key.startsWith("eval_envs"))).toEqual(
    expect.arrayContaining(["eval_envs[1].flux", "eval_envs[3]", "eval_envs[4].env_type", "eval_envs[4].custom_class"]),
  );
  expect(lost["eval_envs[1].reward_scale, reward_bias and reward_clip"]).toContain("as in the first entry");
});
