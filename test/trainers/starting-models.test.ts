import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { ModelConfig } from "../../trainers/config/model-config.ts";
import { startingModels } from "../../trainers/models/team-models.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const base: ModelConfig = {
  adapter: { type: "lora", start: "continue", dropout: 0 },
  device: "cpu",
  precision: "float32",
};
const both = { all: ["aux", "main"], trained: ["aux", "main"] };

/** Creates a folder with an adapter for each of these agents. */
async function teamFolder(...agents: readonly string[]): Promise<string> {
  const folder = temporaryFolder();
  for (const agent of agents) {
    await mkdir(join(folder, agent));
    await writeFile(join(folder, agent, "adapter_config.json"), "{}");
  }
  return folder;
}

function starting(
  path: string,
  agents: Parameters<typeof startingModels>[1]["agents"],
  more: {
    readonly weights?: "separate" | "shared";
    readonly models?: Readonly<Record<string, ModelConfig>>;
    readonly exported?: string;
  } = {},
) {
  const { weights = "separate", models = {}, exported = "nowhere" } = more;
  const config = { model: { ...base, path }, agents: { weights, models } };
  return startingModels(config, { agents, exported: async () => exported });
}

it("each agent starts from its own model of a team", async () => {
  const team = await teamFolder("aux", "main");
  const { agents } = await starting(team, both);
  expect(agents.models).toEqual({
    aux: { ...base, path: join(team, "aux") },
    main: { ...base, path: join(team, "main") },
  });
});

it("an agent with its own model in the config keeps it, and a frozen one needs none", async () => {
  const team = await teamFolder("main");
  const own: ModelConfig = { ...base, path: "owner/name" };
  expect((await starting(team, both, { models: { aux: own } })).agents.models.aux).toEqual(own);
  const { model, agents } = await starting(team, { all: both.all, trained: ["main"] });
  expect(agents.models).toEqual({ main: { ...base, path: join(team, "main") } });
  expect(model.path).toBe(join(team, "main"));
});

it("a run's folder refers to its model, also for one agent", async () => {
  const run = temporaryFolder();
  await writeFile(join(run, "metrics.jsonl"), "");
  await mkdir(join(run, "model"));
  await writeFile(join(run, "model", "config.json"), "{}");
  expect((await starting(run, { all: ["agent"], trained: ["agent"] })).model.path).toBe(join(run, "model"));
});

it.each([
  ["lacks an agent", ["aux"], both, {}, "config.invalid", /no model for the agent "main"/],
  ["has an agent too many", ["aux", "judge", "main"], both, {}, "config.unknown-name", /judge/],
  ["is used with shared weights", ["aux", "main"], both, { weights: "shared" }, "config.invalid", /one set of weights/],
  ["is used for a single agent", ["agent"], { all: ["agent"], trained: ["agent"] }, {}, "config.invalid", /one set/],
] as const)("a team that %s is refused", async (_, agents, trained, more, code, message) => {
  const team = await teamFolder(...agents);
  await expect(starting(team, trained, more)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
});

it("agents start from the exported models of a checkpoint", async () => {
  const checkpoint = temporaryFolder();
  await writeFile(join(checkpoint, "manifest.json"), "{}");
  const exported = await teamFolder("aux", "main");
  const { agents } = await starting(checkpoint, both, { exported });
  expect(agents.models).toMatchObject({ aux: { path: join(exported, "aux") }, main: { path: join(exported, "main") } });
});

it("an agent whose model path is a team gets its own model of the team", async () => {
  const team = await teamFolder("aux", "main");
  const own: ModelConfig = { ...base, path: team };
  const { agents } = await starting("owner/name", both, { models: { aux: own } });
  expect(agents.models).toEqual({ aux: { ...own, path: join(team, "aux") } });
  await expect(starting("owner/name", both, { models: { third: own } })).rejects.toMatchObject({
    code: "config.invalid",
  });
});
