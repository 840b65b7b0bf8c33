import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { pythonSandbox } from "../environments/python-sandbox.ts";
import { sampleOf } from "../tier.ts";
import { tinyModel } from "../tiny-model.ts";
import { repository } from "./run-program.ts";
import { createTinyHub, type TinyHub } from "./tiny-hub.ts";
import { trainOneStep } from "./train-one-step.ts";

const folder = join(repository, "examples/results");
const files = globSync("*.yaml", { cwd: folder }).toSorted();

let hub: TinyHub;
beforeAll(async () => {
  hub = await createTinyHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

/** The settings that must be smaller for one step of a tiny model. */
async function tiny(file: string): Promise<string[]> {
  const { stages, algorithm, environment } = parse(await readFile(join(folder, file), "utf8"));
  const groups = (place: string, of: { readonly groupSize?: number }): string[] =>
    of.groupSize === undefined ? [] : [`${place}algorithm.groupSize=2`];
  const steps = (stages ?? []).flatMap((stage: { readonly algorithm: object }, place: number) => [
    ...[`stages.${place}.training.steps=1`, `stages.${place}.training.batchSize=1`],
    ...groups(`stages.${place}.`, stage.algorithm),
  ]);
  return [
    ...[`model=${JSON.stringify(tinyModel(8192))}`, `backend={"type":"onnx"}`, `rewards=[{"type":"random"}]`],
    ...["training.batchSize=1", "evaluation.limit=1", "export.format=none", ...steps],
    ...(stages === undefined ? groups("", algorithm) : []),
    ...(environment.id === "code" ? [`environment.sandbox=${pythonSandbox}`] : []),
  ];
}

it.each(sampleOf(files, 3))("%s trains a step with random rewards", async (file) => {
  await using run = await trainOneStep({ config: join(folder, file), hub, set: await tiny(file) });
  expect(run.output).toMatch(/\nstep 1\/1 /);
});
