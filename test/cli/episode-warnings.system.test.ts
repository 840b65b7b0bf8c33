import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyModel } from "../tiny-model.ts";
import { runInProcess } from "./run-in-process.ts";

const source = JSON.stringify(join(import.meta.dirname, "../../src/core/environment/define-environment.ts"));
/** Its reward is 7, but it declares the default range of 0 to 1. */
const environment = `
import { defineEnvironment } from ${source};
export const environment = defineEnvironment({
  id: "generous", splits: ["train", "test"],
  tasks: (split) => (split === "test" ? ["one"] : ["two", "three"]),
  reset: ({ task }) => task,
  step: () => ({ reward: 7 }),
  demonstrate: () => "s",
});
`;
/** An environment whose tool throws. Its demonstration calls that tool and has a reward of 0. */
const broken = `
import { callMessage } from ${JSON.stringify(join(import.meta.dirname, "../../src/core/tools/call-message.ts"))};
import { defineEnvironment } from ${source};
export const environment = defineEnvironment({
  id: "broken", splits: ["train", "test"],
  tasks: (split) => (split === "test" ? ["one"] : ["two", "three"]),
  reset: ({ task }) => ({ prompt: task, state: { cart: [] } }),
  tools: { add: { execute: (_, { state }) => state.basket.push("tea") } },
  step: ({ state }) => ({ reward: state.cart.length }),
  demonstrate: () => [callMessage(["add"]), "done"],
});
`;
const config = `
environment: ENVIRONMENT
algorithm: ALGORITHM
model: ${JSON.stringify(tinyModel(256))}
sampling: { maxTokens: 2 }
training: { steps: 3, batchSize: 2 }
evaluation: { split: test, every: 1 }
probe: { groups: 0 }
`;

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "generous.ts"), environment);
  await writeFile(join(folder, "broken.ts"), broken);
});

const warnings = (text: string): string[] => text.match(/^warning.*outside of its rewardRange \[0, 1\].*$/gm) ?? [];

it.each([
  ["sft", "step 0"], // only its evaluations are played
  ["reinforce", "step 0"],
])("a training by %s warns once of a reward outside of the range", async (algorithm, at) => {
  await writeFile(
    join(folder, "train.yaml"),
    config.replace("ALGORITHM", algorithm).replace("ENVIRONMENT", "./generous.ts"),
  );
  const { code, stdout, stderr } = await runInProcess(["train", "--output", algorithm], { folder });
  expect(code, stderr).toBe(0);
  expect(warnings(stdout)).toHaveLength(1);
  expect(warnings(stdout)[0]).toContain(`at ${at}: Environment "generous" gave agent "agent" 7 in task `);
});

it("so does a collection", async () => {
  const words = ["collect", "--env", "./generous.ts", "--policy", "demonstration", "--output", "rows.jsonl"];
  const { code, stdout, stderr } = await runInProcess(words, { folder });
  expect(code, stderr).toBe(0);
  expect(warnings(stdout)).toHaveLength(1);
});

const tool =
  /^warning.*Task "\d", turn 0: the tool "add" threw TypeError: .*'push'.* \(broken\.ts:\d+\)\. The model reads it .*$/gm;

it("a training on demonstrations with a broken tool warns about the tool and the demonstrations", async () => {
  await writeFile(join(folder, "train.yaml"), config.replace("ALGORITHM", "sft").replace("ENVIRONMENT", "./broken.ts"));
  const { code, stdout, stderr } = await runInProcess(["train", "--output", "broken"], { folder });
  expect(code, stderr).toBe(0);
  expect(stdout.match(tool)).toHaveLength(1);
  expect(
    stdout.match(/^warning.*None of the 2 demonstrations of this step earns more than 0\. .*lyceum check.*$/gm),
  ).toHaveLength(1);
});

it.each([
  [
    "an evaluation",
    ["eval", "--env", "./broken.ts", "--model", "demonstration", "--split", "train", "--output", "evaluated"],
  ],
  ["a collection", ["collect", "--env", "./broken.ts", "--policy", "demonstration", "--output", "broken.jsonl"]],
])("%s warns of a broken tool once", async (_, words) => {
  const { code, stdout, stderr } = await runInProcess(words, { folder });
  expect(code, stderr).toBe(0);
  expect(`${stdout}${stderr}`.match(tool)).toHaveLength(1);
});

it("an evaluation whose episodes all fail shows the stack of the environment's code with --debug", async () => {
  const failing = broken.replace("state.cart.length", "state.missing.length");
  await writeFile(join(folder, "failing.ts"), failing);
  await writeFile(join(folder, "answers.json"), '["yes"]');
  const { code, stderr } = await runInProcess(
    ["eval", "--env", "./failing.ts", "--model", "scripted:answers.json", "--output", "failing", "--debug"],
    { folder },
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(/\ncaused by: TypeError: .*\n\s+at step \(.*failing\.ts/);
});
