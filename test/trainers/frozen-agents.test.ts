import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import { scriptedPolicy } from "../../src/policy/scripted-policy.ts";
import type { Episode } from "../../src/rollout/episode.ts";
import { readTrace } from "../../src/trace/read-trace.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { eventsOf, letterConfig, runTraining, temporaryFolder } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

const team = (turns = 1): EnvironmentDefinition => teamEnvironment({ turns }) as EnvironmentDefinition;

/** Always right: of the class that the letter of its prompt says. */
const expertRight = scriptedPolicy(
  ({ messages }) => {
    const prompt = messages
      .at(-1)!
      .content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      .join("");
    return String.fromCharCode(64 + ((prompt.charCodeAt(prompt.length - 1) - 97 + 1) % 2));
  },
  { name: "the right one" },
);

const magrpo = (changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput =>
  letterConfig({
    algorithm: { id: "magrpo", groupSize: 8 },
    evaluation: { split: "test", temperature: 1, limit: 32 },
    ...changes,
    training: { steps: 20, batchSize: 8, learningRate: 0.6, epsilon: 1e-3, sampleEvery: 1, ...changes.training },
  });

async function episodesOf(output: string): Promise<Episode[]> {
  return Array.fromAsync(readTrace(join(output, "trace.jsonl")));
}

describe("a frozen agent", () => {
  it("plays by its policy while the other learns", async () => {
    const output = await temporaryFolder();
    const record = await runTraining({
      output,
      environment: team(),
      policies: { right: expertRight },
      config: magrpo({ rollout: { trace: true } }),
    });
    expect(record.error).toBeUndefined();
    const evaluations = eventsOf(record, "evaluation").map(({ metrics }) => metrics["reward/mean"]!);
    expect(evaluations.at(-1)! - evaluations[0]!).toBeGreaterThan(0.4);
    for (const { agents } of await episodesOf(output)) {
      expect(agents.right).toMatchObject({ policy: "the right one" });
      expect(agents.left!.policy).toMatch(/^weights \d+$/);
      expect(agents.right!.nodes.some(({ tokens }) => tokens !== undefined)).toBe(false);
    }
    expect(eventsOf(record, "run-start")[0]!.agents).toEqual({
      left: { policy: "llama from scratch" },
      right: { policy: "the right one", frozen: true },
    });
    const manifest = JSON.parse(
      await readFile(join(output, "checkpoints", "step-000020", "manifest.json"), "utf8"),
    ) as { readonly models: object; readonly config: { readonly agents: object } };
    expect(Object.keys(manifest.models)).toEqual(["model/left"]);
    expect(manifest.config.agents).toMatchObject({ policies: { right: "the right one" } });
  });
});
