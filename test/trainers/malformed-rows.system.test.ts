import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { conversationsEnvironment } from "../../environments/conversations/conversations.ts";
import { gsm8kEnvironment } from "../../environments/gsm8k/gsm8k.ts";
import { mathProblemsEnvironment } from "../../environments/math-problems/math-problems.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { eventsOf, letterConfig, runTraining } from "./run-training.ts";

const said = (content: string): object => ({
  messages: [
    { role: "user", content: "a" },
    { role: "assistant", content },
  ],
});
type Open = (options: { readonly path: string }) => unknown;

describe.each<[string, Open, object, readonly object[]]>([
  [
    "a chat file",
    conversationsEnvironment,
    said("b"),
    [{ messages: [] }, { messages: [{ role: "user", content: null }] }, { ...said("b"), prompt: "c" }],
  ],
  ["GSM8K", gsm8kEnvironment, { question: "a", answer: "b\n#### 1" }, [{ question: "a", answer: "b 1" }]],
  [
    "MATH",
    mathProblemsEnvironment,
    { problem: "a", solution: "\\boxed{1}", level: "Level 1", type: "Algebra" },
    [{ problem: "a", solution: "none", level: "Level 1", type: "Algebra" }],
  ],
])("malformed rows of %s", (_, open, right, wrong) => {
  const run = async (rows: readonly object[], data: object) => {
    const path = join(temporaryFolder(), "rows.jsonl");
    await writeFile(path, rows.map((row) => JSON.stringify(row)).join("\n"));
    const record = await runTraining({
      output: temporaryFolder(),
      environment: open({ path }) as EnvironmentDefinition,
      config: letterConfig({ algorithm: { id: "sft" }, training: { steps: 1, batchSize: 1 }, data }),
    });
    const warnings = eventsOf(record, "warning").map(({ message }) => message);
    return {
      error: record.error,
      steps: eventsOf(record, "step").length,
      warnings: warnings.filter((text) => /malformed/.test(text)),
    };
  };
  // The first step takes only one of these rows.
  const rows = [...Array.from({ length: 12 }, () => right), ...wrong];

  it("end the run before step 1", async () => {
    expect(await run(rows, {})).toMatchObject({ error: { code: "data.malformed" }, steps: 0 });
  });

  it("are left out with drop, counted, and the first is named", async () => {
    const { error, steps, warnings } = await run(rows, { invalid: "drop" });
    expect(error).toBeUndefined();
    expect(steps).toBe(1);
    expect(warnings).toEqual([expect.stringMatching(new RegExp(`^${wrong.length} malformed rows? .*first: \\S`))]);
    expect((await run([right], { invalid: "drop" })).warnings).toEqual([]);
    expect(await run(wrong, { invalid: "drop" })).toMatchObject({ error: { code: "data.out-of-range" }, steps: 0 });
  });
});
