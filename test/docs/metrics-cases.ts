import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventMetrics } from "../../reports/trackers/event-metrics.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { mixedEnvironment } from "../../src/core/environment/mixed-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { catalogue } from "../trainers/catalogue.ts";
import { letterEnvironment } from "../trainers/letter-environment.ts";
import { letterConfig, runTraining } from "../trainers/run-training.ts";
import { teamEnvironment } from "../trainers/team-environment.ts";

/** A short training whose metrics are collected. */
interface MetricsCase {
  readonly name: string;
  readonly environment?: EnvironmentDefinition;
  readonly config?: Parameters<typeof letterConfig>[0];
  /** True if a script plays the agent `left`. */
  readonly frozen?: boolean;
}

const letters = letterEnvironment() as EnvironmentDefinition;
const prompts = (split: string): string[] => [..."abcd"].map((letter) => `${split} ${letter}`);

/** Two turns, two reward components, and a custom metric in each turn. */
const components = defineEnvironment<string>({
  id: "components",
  tasks: prompts,
  maxTurns: 2,
  rewardRange: [0, 2.2],
  reset: ({ task }) => task,
  step: ({ text, turn }) => ({
    components: { correct: text < "P" ? 1 : 0, form: text < "~" ? 0.1 : 0 },
    info: { turn, metrics: { level: turn } },
    ...(turn === 0 ? { reply: "again" } : {}),
  }),
}) as EnvironmentDefinition;

/** Tasks of two groups. */
const grouped: EnvironmentDefinition = { ...components, groupOf: (task) => String(task).slice(-1) };

/** Two agents that do not share a reward. */
const rivals = defineParallelEnvironment<"left" | "right", string>({
  id: "rivals",
  agents: ["left", "right"],
  tasks: prompts,
  reset: ({ task }) => ({ left: task, right: task }),
  step: ({ texts }) => ({
    rewards: { left: texts.left > texts.right ? 1 : 0, right: texts.right > texts.left ? 1 : 0 },
  }),
}) as EnvironmentDefinition;

/** An algorithm with a second loss term, so that each term is a metric. */
const withKl = (name: string, settings: object = {}): MetricsCase => ({
  name: `${name} ${JSON.stringify(settings)} with a KL term`,
  config: { algorithm: { id: name, klWeight: 0.1, ...settings } },
});

/** Every algorithm, and the settings and environments that add metrics of their own. */
export const metricsCases: readonly MetricsCase[] = [
  ...catalogue.map(({ id, form = id, settings, environment }) => ({
    name: form,
    environment: environment(),
    config: { algorithm: { id, ...settings } },
  })),
  withKl("grpo"),
  withKl("grpo", { surrogate: "ratio" }),
  withKl("gspo"),
  withKl("cispo"),
  withKl("grpo", { klIn: "reward" }),
  { name: "masked truncation", config: { algorithm: { id: "grpo", maskTruncated: true } } },
  { name: "reward components", environment: components },
  { name: "groups of tasks", environment: grouped },
  { name: "play while learning", config: { rollout: { maxStaleness: 1 } } },
  { name: "a curriculum", config: { tasks: { split: "train", curriculum: { by: "prompt", steps: 4 } } } },
  {
    name: "several environments",
    environment: mixedEnvironment([{ environment: letters }, { environment: grouped }]),
  },
  { name: "rivals", environment: rivals },
  { name: "a frozen agent", environment: teamEnvironment() as EnvironmentDefinition, frozen: true },
];

/** The metrics of the steps, the probe and the evaluations of one training. */
export async function writtenMetrics({ environment = letters, config, frozen }: MetricsCase): Promise<Set<string>> {
  await using output = await mkdtempDisposable(join(tmpdir(), "lyceum-metrics-"));
  const record = await runTraining({
    output: output.path,
    environment,
    ...(frozen === true ? { policies: { left: scriptedPolicy(() => "@", { name: "script" }) } } : {}),
    config: letterConfig({
      ...config,
      evaluation: { split: "test[:4]", temperature: 1 },
      checkpoint: { every: 0 },
      training: { steps: 2 },
    }),
  });
  if (record.error !== undefined) throw record.error;
  return new Set(
    record.events.flatMap((event) => {
      if (event.type === "probe") return Object.keys(event.metrics);
      return event.type === "step" || event.type === "evaluation" ? Object.keys(eventMetrics(event)) : [];
    }),
  );
}
