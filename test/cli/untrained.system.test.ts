import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runInProcess } from "./run-in-process.ts";
import { tinyRunFolder } from "./run-lyceum.ts";

const config = (algorithm: string): string => `
environment: { id: preferences, path: pairs.jsonl }
algorithm: ${algorithm}
model: { scratch: { hiddenSize: 16, layers: 1, heads: 2, intermediateSize: 32, maxLength: 64 } }
training: { steps: 1, batchSize: 2 }
sampling: { maxTokens: 4 }
probe: { groups: 0 }
preflight: false
`;

it("a training that changes nothing is refused with its key, or ends with a warning", async () => {
  const folder = await tinyRunFolder();
  const rows = ["a", "b", "c"].map((prompt) => ({ prompt, chosen: `yes ${prompt}`, rejected: "no" }));
  await writeFile(join(folder, "pairs.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
  const train = async (algorithm: string, output: string) => {
    await writeFile(join(folder, "config.yaml"), config(algorithm));
    return runInProcess(["train", "--config", "config.yaml", "--output", output], { folder });
  };

  const refused = await train("{ id: dpo }", "refused");
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("algorithm.source: demonstrations") });
  expect(existsSync(join(folder, "refused"))).toBe(false);

  const nothing = await train("{ id: grpo, groupSize: 2 }", "nothing");
  expect(nothing).toMatchObject({ code: 0, stderr: "" });
  expect(nothing.stdout).toContain("Nothing was trained");
  expect(existsSync(join(folder, "nothing/report.html"))).toBe(true);

  const trained = await train("{ id: dpo, source: demonstrations }", "trained");
  expect(trained).toMatchObject({ code: 0, stderr: "" });
});

it("a stage that cannot work is refused before the first one trains, and by the plan", async () => {
  const folder = await tinyRunFolder();
  const stage = (name: string, more: string): string => `
  - { name: ${name}, algorithm: sft, ${more.includes("training:") ? "" : "training: { steps: 1 }, "}${more} }`;
  const stages = (more: string): string => `
environment: { id: math, difficulty: 1 }
model: { scratch: { hiddenSize: 16, layers: 1, heads: 2, intermediateSize: 32, maxLength: 512 } }
preflight: false
stages:${stage("one", "export: { format: none }")}${stage("two", more)}
`;
  const definition = `import { defineEnvironment } from ${JSON.stringify(join(import.meta.dirname, "../../src/index.ts"))};
export const environment = defineEnvironment({
  id: "nd", tasks: ["a", "b"], reset: ({ task }) => task, step: () => ({ reward: 1 }),
});`;
  await writeFile(join(folder, "nd.ts"), definition);
  for (const [more, message] of [
    ["export: { from: best }", "no best checkpoint is kept"],
    ["evaluation: { split: tset }", "tset"],
    ["tasks: { split: tset }", "tset"],
    ["evaluation: { split: test, episodesPerTask: 100000000 }", "An evaluation"],
    ["environment: ./nd.ts, agents: { programs: { agent: { command: [program] } } }", "no demonstrations"],
    ["agents: { models: { bob: { path: x } } }", 'Unknown agent "bob"'],
    ["agents: { programs: { bob: { command: [program] } } }", 'Unknown agent "bob"'],
    ["agents: { programs: { agent: { module: ./none.ts } } }", "none.ts"],
    ["environment: kuhn-poker, agents: { policies: { first: ./none.ts } }", "none.ts"],
    ["environment: kuhn-poker, agents: { policies: { first: { model: random, wrong: 1 } } }", "wrong"],
    ["environment: kuhn-poker, evaluation: { split: test, opponent: ./none.yaml }", "none.yaml"],
    ['tasks: { split: "test[:4]" }, evaluation: { split: "test[3:]" }', "1 tasks of"],
    [
      "backend: { type: onnx, quantize: 8 }",
      "backend.quantize: is for weights from files that are frozen under an adapter: set model.adapter, or",
    ],
    ["environment: { id: math, tasks: arithmetic }, training: { epochs: 1 }", "is unbounded"],
    ['tasks: { split: "train[:9]", curriculum: { by: nosuch, steps: 5 } }', "nosuch"],
    ["model: { adapter: { type: lora, targets: [nosuch] } }", 'Unknown adapter target "nosuch"'],
  ] as const) {
    await writeFile(join(folder, "config.yaml"), stages(more));
    const code = /tset|test\[|curriculum/.test(more) ? 1 : 2;
    const stderr = expect.stringContaining(message);
    // A plan needs a model that exists, as the one from scratch does.
    for (const words of [
      ["train", "--config", "config.yaml", "--output", "run"],
      ["plan", "config.yaml"],
    ]) {
      expect(await runInProcess(words, { folder }), `${words[0]}: ${more}`).toMatchObject({ code, stderr });
    }
    expect(existsSync(join(folder, "run")), more).toBe(false);
  }
});

it("a later stage on a quantized base continues from the weights of files, although the model began from scratch", async () => {
  const folder = await tinyRunFolder();
  const text = `
environment: { id: math, difficulty: 1 }
algorithm: sft
model: { scratch: { hiddenSize: 32, layers: 1, heads: 2, intermediateSize: 64, maxLength: 512 } }
training: { steps: 1, batchSize: 2 }
preflight: false
stages:
  - { name: whole }
  - { name: adapter, model: { adapter: { type: lora } }, backend: { type: onnx, quantize: 8 } }
`;
  await writeFile(join(folder, "config.yaml"), text);
  await writeFile(join(folder, "one.yaml"), text.slice(0, text.indexOf("stages")));
  const train = (...more: readonly string[]) =>
    runInProcess(["train", "--config", "config.yaml", "--output", "run", ...more], { folder });
  expect(await train()).toMatchObject({ code: 0, stderr: "" });

  // The first stage is complete, so that its tasks are not needed again.
  await rm(join(folder, "run", "adapter"), { recursive: true });
  const gone = ["--set", "stages.0.tasks.split=none"];
  expect(await train("--resume", ...gone)).toMatchObject({ code: 0, stderr: "" });

  const checkpoint = join("run", "whole", "checkpoints", "step-000001");
  const plan = await runInProcess(["plan", "one.yaml", "--set", `model={path: ${checkpoint}}`], { folder });
  expect(plan).toMatchObject({ code: 1, stderr: expect.stringContaining(`lyceum export ${checkpoint}`) });
});
