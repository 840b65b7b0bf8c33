import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest } from "../../../src/contract/policy.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { replayPolicy } from "../../../src/core/policy/replay-policy.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { deriveSeed } from "../../../src/core/random/random.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { policyConformance } from "../../../src/entry-points/testing.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { characterRenderer } from "../rollout/character-renderer.ts";
import { seededSampler } from "../rollout/seeded-sampler.ts";

const doubling = defineEnvironment({
  id: "doubling",
  tasks: [2],
  maxTurns: 1,
  reset: ({ task }) => ({ prompt: `Twice ${task}?`, state: {} }),
  step: () => ({ reward: 1 }),
  demonstrate: (task) => [String(2 * task)],
});

/** The first request of an episode of {@link doubling}. */
async function firstRequest(): Promise<ActRequest> {
  const task = await (await doubling.tasks("train")).get(0);
  return {
    agent: "agent",
    messages: [textMessage("user", "Twice 2?")],
    sampling: defaultSampling,
    seed: deriveSeed(1, task.hash, 0, "agent", 0),
    episode: { task, sampleIndex: 0, turn: 0, seed: 1 },
  };
}

describeCases(
  "a script",
  policyConformance(async () => ({ policy: scriptedPolicy(["4"]), request: await firstRequest() })),
);

describeCases(
  "demonstrations",
  policyConformance(async () => ({
    policy: demonstrationPolicy({ environment: doubling, renderer: characterRenderer() }),
    request: await firstRequest(),
  })),
);

describeCases(
  "a recorded run",
  policyConformance(async () => {
    const request = await firstRequest();
    const { task } = request.episode!;
    const episode = await rolloutEpisode({ environment: doubling, task, policies: scriptedPolicy(["4"]), seed: 1 });
    return { policy: await replayPolicy([episode]), request };
  }),
);

describeCases(
  "a model whose tokens are seen",
  policyConformance(async () => {
    const sampler = seededSampler();
    const policy = samplerPolicy({ name: "random", sampler: () => sampler, renderer: characterRenderer() });
    return { policy, request: await firstRequest() };
  }),
);
