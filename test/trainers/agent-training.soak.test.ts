import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { trainShopAgent } from "./agent-training.ts";
import { eventsOf } from "./run-training.ts";

test("an AI SDK agent is trained on exactly the ids that its model sampled", async () => {
  const output = temporaryFolder();
  const { events, seen } = await trainShopAgent({
    seed: 1,
    output,
    steps: { sft: 24, grpo: 2 },
    changes: { preflight: false, rollout: { trace: true }, evaluation: {} },
  });
  const steps = eventsOf({ events, error: undefined }, "step");
  expect(steps).toHaveLength(2);
  for (const { metrics } of steps) {
    expect(metrics["tokens/trained"]).toBe(metrics["tokens/sampled"]);
    expect(metrics["episodes/unscored"]).toBe(0);
  }
  expect(seen.trained).toBe(seen.sampled);
  // The agent calls its tools: several model calls for one action, in one conversation.
  const episodes = await Array.fromAsync(readTrace(join(output, "grpo", "trace.jsonl")));
  const calls = episodes.map(({ agents }) => agents.agent!.turns[0]!.calls!);
  expect(Math.max(...calls.map(({ length }) => length))).toBeGreaterThan(1);
  expect(calls.flat().some(({ continues, prompt }) => continues !== undefined && !prompt!.startsSequence)).toBe(true);
  expect(await readFile(join(output, "grpo", "trace.jsonl"), "utf8")).toContain('"calls":');
});
