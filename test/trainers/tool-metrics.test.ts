import { expect, test } from "vitest";
import { mathEnvironment, toolsEnvironment } from "../../environments/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { mixedEnvironment } from "../../src/core/environment/mixed-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { rolloutMetrics } from "../../trainers/metrics/rollout-metrics.ts";

const call = '<tool_call>{"name": "calculator", "arguments": {"expression": "1 + 1"}}</tool_call>';
const broken = '<tool_call>{"name": "calculator", </tool_call>';
const environment = toolsEnvironment({ tools: ["calculator"] });

async function metricsOf(...scripts: readonly (readonly string[])[]): Promise<Record<string, number>> {
  const task = await (await environment.tasks("train")).get(0);
  const episodes = await Promise.all(
    scripts.map((script, seed) => rolloutEpisode({ environment, task, policies: scriptedPolicy([...script]), seed })),
  );
  return rolloutMetrics([{ task: episodes[0]!.task, episodes }]);
}

test("the calls of an episode are counted, and those that cannot be parsed", async () => {
  const metrics = await metricsOf([call + call, broken, "<answer>2</answer>"], ["<answer>2</answer>"]);
  expect(metrics["tools/calls-mean"]).toBe(1.5);
  expect(metrics["tools/malformed"]).toBeCloseTo(1 / 3, 12);
});

test("episodes without calls count, and have no share of malformed ones", async () => {
  const metrics = await metricsOf(["<answer>2</answer>"]);
  expect(metrics["tools/calls-mean"]).toBe(0);
  expect(metrics).not.toHaveProperty("tools/malformed");
});

test("text that looks like a call is none if there are no tools", async () => {
  const without = mathEnvironment({ tasks: "arithmetic" });
  const task = await (await without.tasks("train")).get(0);
  const episode = await rolloutEpisode({ environment: without, task, policies: scriptedPolicy([broken]), seed: 1 });
  const names = Object.keys(rolloutMetrics([{ task: episode.task, episodes: [episode] }]));
  expect(names.filter((name) => name.startsWith("tools/"))).toEqual([]);
});

test("episodes without calls count if the environment gives tools that the prompt does not describe", async () => {
  const native = toolsEnvironment({ tools: ["calculator"], protocol: "native" });
  const arithmetic = mathEnvironment({ tasks: "arithmetic" });
  const mixture = mixedEnvironment([{ environment: native }, { environment: arithmetic }]);
  const calls = async <Task>(played: EnvironmentDefinition<Task>, index: number) => {
    const task = await (await played.tasks("train")).get(index);
    const episode = await rolloutEpisode({ environment: played, task, policies: scriptedPolicy(["2"]), seed: 1 });
    const { spec, environmentOf } = played;
    return rolloutMetrics([{ task: episode.task, episodes: [episode] }], { tools: spec.tools, environmentOf })[
      "tools/calls-mean"
    ];
  };
  expect(await calls(native, 0)).toBe(0);
  expect(await calls(arithmetic, 0)).toBeUndefined();
  const ofMixture = await Promise.all([0, 1, 2, 3].map((index) => calls(mixture, index)));
  expect(ofMixture).toContain(0);
  expect(ofMixture).toContain(undefined);
});
