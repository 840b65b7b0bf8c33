import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { runEnvironment } from "../../cli/run-environment.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const rest = "algorithm: grpo\nmodel: { scratch: {} }\n";

async function load(text: string, overrides: readonly string[] = []) {
  const folder = temporaryFolder();
  await writeFile(join(folder, "train.yaml"), text + rest);
  const [run] = await loadStages({ path: join(folder, "train.yaml"), overrides, catalog: await openCatalog() });
  const { config, environments } = run!;
  const open = (): never => {
    throw new Error("No policy is named here.");
  };
  return { config, ...(await runEnvironment(config, { registry: environments, open })) };
}

it("mixes the environments that a config lists, with their options, weights and names", async () => {
  const list = "environments:\n  - { id: math, weight: 3, maxTurns: 2 }\n  - number-guessing\n";
  const { environment, options } = await load(list, ["environments.1.name=games"]);
  expect(environment.spec).toMatchObject({ id: "math+number-guessing" });
  // The options of each are checked and complete, as those of a single environment are.
  expect(options).toMatchObject({
    environments: [
      { id: "math", weight: 3, maxTurns: 2, answerOnly: false },
      { id: "number-guessing", weight: 1, name: "games" },
    ],
  });
  const tasks = await environment.tasks("train");
  const ids = await Promise.all([0, 1, 2, 3].map(async (index) => (await tasks.get(index)).id.split("/")[0]));
  expect(ids.toSorted()).toEqual(["games", "math", "math", "math"]);
});

it("creates a single environment if there is only one", async () => {
  const { environment, options } = await load("environment: { id: math, maxTurns: 2 }\n");
  expect(environment.environmentOf).toBeUndefined();
  expect(options).toMatchObject({ maxTurns: 2 });
});

it.each<[string, string, object]>([
  [
    "both forms",
    "environment: math\nenvironments: [math]\n",
    { code: "config.invalid", message: expect.stringContaining("either environment") },
  ],
  ["neither", "", { code: "config.invalid", message: expect.stringContaining("either environment") }],
  ["an unknown one", "environments: [matg]\n", { code: "config.invalid", hint: expect.stringContaining("math") }],
  [
    "a weight of 0",
    "environments:\n  - { id: math, weight: 0 }\n",
    { code: "config.invalid", message: expect.stringMatching(/train\.yaml:2:\d+/) },
  ],
  [
    "an option of another",
    "environments: [{ id: math, minReward: 1 }]\n",
    {
      code: "config.invalid",
      message: expect.stringMatching(/train\.yaml:1:\d+: unknown key "minReward" in environments\.0/),
      hint: expect.stringContaining("maxTurns"),
    },
  ],
  [
    "games of other agents",
    "environments: [math, kuhn-poker]\n",
    { code: "config.invalid", message: expect.stringContaining("different agents") },
  ],
])("refuses %s", async (_, text, error) => {
  await expect(load(text)).rejects.toMatchObject(error);
});
