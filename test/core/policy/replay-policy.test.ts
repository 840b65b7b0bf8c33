import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Episode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { replayPolicy } from "../../../src/core/policy/replay-policy.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { createRandom } from "../../../src/core/random/random.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { readTrace } from "../../../src/core/trace/read-trace.ts";
import { createTraceWriter } from "../../../src/core/trace/trace-writer.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { characterRenderer } from "../rollout/character-renderer.ts";
import { seededSampler } from "../rollout/seeded-sampler.ts";

/** The reward of an answer is its length. Repeats the answer, and has as many turns as the task says. */
const echo = defineEnvironment<number, { left: number }>({
  id: "echo",
  tasks: [1, 2, 3],
  maxTurns: 5,
  reset: ({ task, random }) => ({ prompt: `Say something (${random.integer(0, 99)}).`, state: { left: task } }),
  step: ({ state, text }) => {
    state.left -= 1;
    return state.left > 0 ? { reward: text.length / 100, reply: `You said ${text}.` } : { reward: text.length / 100 };
  },
});

async function play(policies: Policy, options: { readonly seed?: number; readonly groupSize?: number } = {}) {
  const tasks = await echo.tasks("train");
  const events = rollout({ environment: echo, tasks, policies, seed: 7, groupSize: 2, ...options });
  const groups = await collectGroups(events);
  return groups
    .flatMap(({ episodes }) => episodes)
    .sort((first, second) => first.task.index - second.task.index || first.sampleIndex - second.sampleIndex);
}

/** The episodes without their durations and the names of their policies. */
function outcome(episodes: readonly Episode[]): unknown {
  return episodes.map(({ durationMs: _, ...rest }) => ({
    ...rest,
    agents: Object.entries(rest.agents).map(([agent, { policy: __, ...record }]) => [agent, record]),
  }));
}

/** Answers at random, returns every optional result, and sometimes has parse errors. */
const chatty = scriptedPolicy(({ seed }) => {
  const random = createRandom(seed);
  const message = textMessage("assistant", String(random.next()));
  const parseErrors = [{ message: "no JSON", text: "{" }];
  return random.next() < 0.5 ? { message, finish: "stop" } : { message, finish: "length", parseErrors };
});

describe("a replayed run", () => {
  test("repeats the recorded episodes, from a file too", async () => {
    const folder = temporaryFolder();
    const recorded = await play(chatty);
    const path = join(folder, "episodes.jsonl");
    await using trace = await createTraceWriter({ path });
    for (const episode of recorded) await trace.write(episode);
    await trace.flush();
    const replayed = await play(await replayPolicy(readTrace(path)));
    expect(outcome(replayed)).toStrictEqual(outcome(recorded));
    expect(
      recorded.some(({ agents }) => agents.agent!.turns.some(({ parseErrors }) => parseErrors !== undefined)),
    ).toBe(true);
  });

  test("has the recorded tokens", async () => {
    const sampler = seededSampler(3);
    const policy = samplerPolicy({ name: "random", sampler: () => sampler, renderer: characterRenderer() });
    const recorded = await play(policy);
    expect(recorded[0]!.agents.agent!.nodes.some(({ tokens }) => tokens?.mask === 1)).toBe(true);
    const replayed = await play(await replayPolicy(recorded));
    expect(outcome(replayed)).toStrictEqual(outcome(recorded));
  });

  test("has the recorded usage and log-probabilities, but no latency", async () => {
    const usage = { promptTokens: 12, completionTokens: 3 };
    const logprobs = [{ text: "hm", logprob: -0.5, id: 4 }];
    const served: Policy = {
      ...chatty,
      act: async (request) => ({ ...(await chatty.act(request)), usage, logprobs, latencyMs: 5, retries: 1 }),
    };
    const recorded = await play(served);
    expect(recorded[0]!.agents.agent!.turns[0]).toMatchObject({ usage, logprobs, latencyMs: 5, retries: 1 });
    const [turn] = (await play(await replayPolicy(recorded)))[0]!.agents.agent!.turns;
    expect(turn).toMatchObject({ usage, logprobs });
    expect(turn).not.toHaveProperty("latencyMs");
    expect(turn).not.toHaveProperty("retries");
  });

  test("fails and says why for an unrecorded seed, sample, turn or task", async () => {
    const recorded = await play(chatty);
    const errors = async (policy: Policy, options: Parameters<typeof play>[1] = {}): Promise<readonly string[]> =>
      (await play(policy, options)).flatMap(({ error }) =>
        error === undefined ? [] : [`${error.code}: ${error.message}`],
      );
    const replay = await replayPolicy(recorded);
    expect(await errors(replay, { seed: 8 })).toHaveLength(6);
    expect(await errors(replay, { groupSize: 3 })).toEqual(
      [1, 2, 3].map(() => expect.stringMatching(`^policy.failed: .*"agent" in turn 0 of task ".*" \\(sample 2\\)`)),
    );
    const short = recorded.map((episode) => {
      const agent = episode.agents.agent!;
      return { ...episode, agents: { agent: { ...agent, turns: agent.turns.slice(0, 2) } } };
    });
    expect(await errors(await replayPolicy(short))).toEqual(
      [0, 1].map((sampleIndex) => expect.stringMatching(`in turn 2 of task ".*" \\(sample ${sampleIndex}\\)`)),
    );
    const [other] = await play(await replayPolicy(recorded.slice(2)));
    expect(other).toMatchObject({ error: { code: "policy.failed", hint: "Use the recorded tasks." } });
    expect(other!.agents.agent!.reward.status).toBe("unscored");
  });

  test("uses the later record of an episode that was retried", async () => {
    const recorded = await play(chatty);
    const failed = recorded.map((episode) => ({
      ...episode,
      agents: { agent: { ...episode.agents.agent!, turns: [] } },
    }));
    expect(outcome(await play(await replayPolicy([...failed, ...recorded])))).toStrictEqual(outcome(recorded));
  });

  test("works for every seed and group size", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: 4 }), async (seed, groupSize) => {
        const recorded = await play(chatty, { seed, groupSize });
        expect(outcome(await play(await replayPolicy(recorded), { seed, groupSize }))).toStrictEqual(outcome(recorded));
      }),
      { numRuns: 20 },
    );
  });
});
