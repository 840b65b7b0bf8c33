import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const definition = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
export const algorithm = {
  id: "mine",
  description: "An algorithm of one's own.",
  settings: z.strictObject({ weight: z.number().default(2).describe("A weight.") }),
  create: () => ({}),
};
`;

async function load(files: Readonly<Record<string, string>>, overrides: readonly string[] = []) {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const [run] = await loadStages({ path: join(folder, "train.yaml"), overrides, catalog: await openCatalog() });
  return run!;
}

const rest = "environment: math\nmodel: { scratch: {} }\n";

it("an algorithm of a file is named by its path, relative to the config", async () => {
  const { config, algorithms } = await load({ "train.yaml": `algorithm: ./mine.ts\n${rest}`, "mine.ts": definition });
  expect(config.algorithm).toEqual({ id: "./mine.ts", weight: 2 });
  expect(algorithms.at(-1)).toMatchObject({ id: "./mine.ts", description: "An algorithm of one's own." });
});

it("its settings are checked like those of other algorithms", async () => {
  const files = { "train.yaml": `algorithm: { id: ./mine.ts, wieght: 3 }\n${rest}`, "mine.ts": definition };
  await expect(load(files)).rejects.toMatchObject({ code: "config.invalid", hint: expect.stringContaining("weight") });
});

it("a name alone stands for a mapping, in the file and in overrides, which add keys to it", async () => {
  const { config } = await load({ "train.yaml": `algorithm: grpo\n${rest}` }, ["algorithm.groupSize=3"]);
  expect(config.algorithm).toMatchObject({ id: "grpo", groupSize: 3 });
  expect(config.environment).toMatchObject({ id: "math" });
  const other = await load({ "train.yaml": `algorithm: grpo\n${rest}` }, ["algorithm=rloo", "algorithm.groupSize=5"]);
  expect(other.config.algorithm).toMatchObject({ id: "rloo", groupSize: 5 });
});

it("reports a file that is missing, cannot be loaded, or exports no algorithm", async () => {
  await expect(load({ "train.yaml": `algorithm: ./mine.ts\n${rest}` })).rejects.toMatchObject({
    code: "data.not-found",
    message: expect.stringContaining("mine.ts"),
  });
  for (const text of ["throw new Error('no')", "export const other = 1"]) {
    const files = { "train.yaml": `algorithm: ./mine.ts\n${rest}`, "mine.ts": text };
    await expect(load(files)).rejects.toMatchObject({ code: "config.invalid", hint: expect.any(String) });
  }
  await expect(load({ "train.yaml": `algorithm: grop\n${rest}` })).rejects.toMatchObject({
    hint: expect.stringContaining('"grpo"'),
  });
});
