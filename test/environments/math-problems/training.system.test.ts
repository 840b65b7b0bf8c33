import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTinyHub } from "../../examples/tiny-hub.ts";
import { trainOneStep } from "../../examples/train-one-step.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

test("one step of GRPO trains on math problems", async () => {
  const folder = temporaryFolder();
  try {
    const rows = [
      { problem: "Simplify $\\sqrt{12}$.", answer: "2\\sqrt{3}", level: "Level 1", type: "Algebra" },
      { problem: "Solve $x^2 = 4$.", answer: "\\pm 2", level: "Level 2", type: "Algebra" },
      { problem: "How many sides has a cube?", answer: "6", level: "Level 5", type: "Geometry" },
    ];
    const held = { problem: "Factor $x^2 - 4$.", answer: "(x-2)(x+2)", level: "Level 1", type: "Algebra" };
    await writeFile(join(folder, "train.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
    await writeFile(join(folder, "test.jsonl"), JSON.stringify(held));
    await using hub = await createTinyHub();
    const config = {
      seed: 1,
      environment: { id: "math-problems", path: folder, level: [1, 2], types: ["algebra"], formatReward: 0.1 },
      algorithm: { id: "grpo", groupSize: 2, advantage: "group-mean" },
      model: { path: hub.model },
      evaluation: { split: "test" },
    };
    await using run = await trainOneStep({ config, hub });
    expect(run.output).toMatch(/\nstep 1\/1 /);
    expect(run.output).toMatch(/\nmodel: /);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
