import { describe, expect, test } from "vitest";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { ActResult, Policy } from "../../../src/contract/policy.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EpisodeWarnings } from "../../../src/core/rollout/episode-warnings.ts";
import { jointRollout } from "../../../src/core/rollout/joint-rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { frozenAgentPolicy } from "../../../trainers/run/frozen-agents.ts";
import { callingPolicy } from "./calling-policy.ts";
import { characterRenderer } from "./character-renderer.ts";
import { seededSampler } from "./seeded-sampler.ts";

const sampling = { temperature: 1, maxTokens: 5 };

/** Two agents write once. Each earns 2. */
const pair = defineParallelEnvironment<"a" | "b", { question: string }>({
  id: "pair",
  agents: ["a", "b"],
  tasks: [{ question: "?" }],
  rewardRange: [-1, 2],
  maxTurns: 1,
  deterministic: true,
  reset: () => ({ a: "?", b: "?" }),
  step: () => ({ rewards: { a: 2, b: 2 } }),
});

const failure = (cause?: string): ErrorData => ({
  name: "LyceumError",
  code: "program.failed",
  message: "The program ended with code 1.",
  ...(cause === undefined ? {} : { data: { failureCause: cause } }),
});

/** A program that makes one model call and fails on its answer. */
function failing(cause: ErrorData = failure()): Policy {
  const model = samplerPolicy({ name: "model", sampler: seededSampler, renderer: characterRenderer() });
  const calling = callingPolicy(model, () => [{ continues: null, text: "go" }]);
  const action = { message: textMessage("assistant", ""), finish: "error" as const };
  return {
    ...calling,
    act: async (request): Promise<ActResult> => ({ ...(await calling.act(request)), action, failure: cause }),
  };
}

async function play(policies: Readonly<Record<"a" | "b", Policy>>) {
  const task = await (await pair.tasks("train")).get(0);
  return rolloutEpisode({ environment: pair, task, policies, seed: 1, sampling });
}

describe("a program that fails because of its model's answers", () => {
  test("earns the lowest reward, and its model calls are trained on", async () => {
    const episode = await play({ a: failing(), b: scriptedPolicy(["fine"]) });
    expect(episode).toMatchObject({ status: "failed", error: { code: "program.failed" } });
    expect(episode.agents.a!.reward).toMatchObject({
      status: "scored",
      value: -1,
      failure: { code: "program.failed" },
    });
    expect(episode.agents.b!.reward).toMatchObject({ status: "scored", value: 0 });
    const [sequence] = tokenSequences(episode, "a");
    expect(sequence!.mask.filter((mask) => mask === 1).length).toBeGreaterThan(0);
    expect(new EpisodeWarnings(pair).of([episode])).toEqual([
      expect.stringMatching(/^Task "0": The program ended with code 1\. .*Catch the error in the program, and let/),
    ]);
  });

  test("is warned of as its own fault if empty answers make it fail too", async () => {
    const episode = await play({ a: failing(failure("policy?")), b: scriptedPolicy(["fine"]) });
    expect(episode.agents.a!.reward).toMatchObject({
      status: "scored",
      failure: { data: { failureCause: "policy?" } },
    });
    expect(new EpisodeWarnings(pair).of([episode])[0]).toContain("the program itself may be at fault");
  });

  test("is unscored as a frozen agent", async () => {
    const { agents, error } = await play({ a: frozenAgentPolicy(failing(), sampling), b: scriptedPolicy(["fine"]) });
    expect(error?.code).toBe("program.failed");
    expect([agents.a!.reward.status, agents.b!.reward.status]).toEqual(["unscored", "unscored"]);
  });

  test("is unscored if another policy fails for another reason", async () => {
    const broken: Policy = {
      ...scriptedPolicy([""]),
      act: async () => ({ action: { message: textMessage("assistant", ""), finish: "error" } }),
    };
    const { agents, error } = await play({ a: failing(), b: broken });
    expect(error?.code).toBe("policy.failed");
    expect([agents.a!.reward.status, agents.b!.reward.status]).toEqual(["unscored", "unscored"]);
  });

  test("earns the lowest reward in a tree of joint actions", async () => {
    const policies = { a: failing(), b: scriptedPolicy(["fine"]) };
    const shape = { groupSize: 2, mode: "align", turns: "tree" } as const;
    const [tree] = await Array.fromAsync(
      jointRollout({ environment: pair, tasks: await pair.tasks("train"), policies, shape, seed: 1, sampling }),
    );
    for (const { rewards, episode } of tree!.root!.jointActions) {
      expect(rewards).toMatchObject({ a: { status: "scored", value: -1 }, b: { status: "scored", value: 0 } });
      expect(episode!.agents.a!.reward).toMatchObject({ status: "scored", value: -1 });
    }
    for (const { sequences, error } of tree!.root!.agents.a!) {
      expect(error?.code).toBe("program.failed");
      expect(sequences).toHaveLength(1);
    }
  });

  test("must return the data of an error", async () => {
    const { error } = await play({
      a: failing("no data" as unknown as ErrorData),
      b: scriptedPolicy(["fine"]),
    });
    expect(error).toMatchObject({ code: "policy.failed", message: expect.stringContaining("a failure that is not") });
  });
});
