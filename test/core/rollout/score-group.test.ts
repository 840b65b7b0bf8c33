import { describe, expect, test } from "vitest";
import type { EnvironmentFactory } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { scored, unscored } from "../../../src/contract/reward.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { rolloutGroup } from "../../../src/core/rollout/rollout-group.ts";
import { agentStep, forever, numbers, observe, oneTask, scriptedEnvironment } from "./scripted-environment.ts";

const yes = scriptedPolicy(() => "yes");
type ScoreGroup = NonNullable<EnvironmentFactory<number>["scoreGroup"]>;

function scoringWorld(scoreGroup: ScoreGroup): ReturnType<typeof scriptedEnvironment<number>> {
  return scriptedEnvironment<number>({
    reset: () => observe("hello"),
    step: ({ turn, task }) => {
      if (task === 13) throw Object.assign(new Error("unlucky"), { code: "ECONNRESET" });
      return { observations: turn === 1 ? {} : observe("on"), agents: { agent: agentStep(1, turn === 1) } };
    },
    scoreGroup,
  });
}

const byRank: ScoreGroup = async (group) =>
  Object.fromEntries(
    group.map(({ id, sampleIndex }) => [id, { agent: scored(sampleIndex / 10, { rank: sampleIndex / 10 }) }]),
  );

function values(episodes: readonly Episode[]): unknown[] {
  return episodes.map(({ agents }) =>
    agents.agent!.reward.status === "scored" ? agents.agent!.reward.value : "unscored",
  );
}

describe("scoring a group", () => {
  test("adds rewards to the last action and to the sum", async () => {
    const group = await rolloutGroup({
      environment: scoringWorld(byRank),
      task: await oneTask(),
      policies: yes,
      groupSize: 3,
      seed: 0,
    });
    expect(values(group.episodes)).toEqual([2, 2.1, 2.2]);
    const agent = group.episodes[2]!.agents.agent!;
    expect(agent.turns.map(({ reward }) => reward)).toEqual([scored(1), scored(1.2, { reward: 1, rank: 0.2 })]);
    expect(agent.reward).toEqual(scored(2.2, { reward: 2, rank: 0.2 }));
  });

  test("happens for a single episode, and before the trace", async () => {
    const written: Episode[] = [];
    const trace = { write: async (episode: Episode) => void written.push(episode) };
    const environment = scoringWorld(async ([episode]) => ({ [episode!.id]: { agent: scored(5) } }));
    const episode = await rolloutEpisode({ environment, task: await oneTask(), policies: yes, seed: 0, trace });
    expect(values([episode])).toEqual([7]);
    expect(written).toEqual([episode]);
    await collectGroups(
      rollout({ environment: scoringWorld(byRank), tasks: numbers(2), policies: yes, groupSize: 2, seed: 0, trace }),
    );
    expect(values(written.slice(1)).sort()).toEqual([2, 2, 2.1, 2.1]);
  });

  test.each<[string, string, ScoreGroup]>([
    ["throws", "environment.failed", () => Promise.reject(new Error("no judge"))],
    [
      "throws at once",
      "environment.failed",
      () => {
        throw new Error("no judge");
      },
    ],
    ["hangs", "timeout", forever],
    ["scores a stranger", "environment.contract", async () => ({ stranger: { agent: scored(1) } })],
    ["scores an unknown agent", "environment.contract", async ([episode]) => ({ [episode!.id]: { ghost: scored(1) } })],
    ["gives NaN", "environment.contract", async ([episode]) => ({ [episode!.id]: { agent: scored(Number.NaN) } })],
    ["gives nothing", "environment.contract", async () => undefined as never],
  ])("that %s makes the group unscored (%s) and never 0", async (_, code, score) => {
    const environment = scoringWorld(score);
    const groups = await collectGroups(
      rollout({ environment, tasks: numbers(2), policies: yes, groupSize: 2, seed: 0, limits: { environmentMs: 30 } }),
    );
    expect(groups).toHaveLength(2);
    for (const { episodes } of groups) {
      for (const { status, agents } of episodes) {
        expect(status).toBe("completed");
        expect(agents.agent!.reward).toMatchObject({ status: "unscored", error: { code } });
      }
    }
  });

  test("leaves failed episodes unscored, and is not called if all failed", async () => {
    let asked = 0;
    const environment = scoringWorld((group, options) => {
      asked += 1;
      return byRank(group, options);
    });
    const groups = await collectGroups(
      rollout({
        environment,
        tasks: [await numbers(14).get(12), await numbers(14).get(13)],
        policies: yes,
        groupSize: 2,
        seed: 0,
      }),
    );
    expect(groups.map(({ episodes }) => values(episodes))).toEqual([
      [2, 2.1],
      ["unscored", "unscored"],
    ]);
    expect(asked).toBe(1);
  });

  test("can leave a single agent unscored", async () => {
    const environment = scoringWorld(async ([first]) => ({ [first!.id]: { agent: unscored("silent") } }));
    const group = await rolloutGroup({ environment, task: await oneTask(), policies: yes, groupSize: 2, seed: 0 });
    expect(values(group.episodes)).toEqual(["unscored", 2]);
  });

  test("ends at an abort, and unscored episodes are still traced", async () => {
    const controller = new AbortController();
    const written: Episode[] = [];
    const environment = scoringWorld(() => {
      controller.abort();
      return forever();
    });
    const events = rollout({
      environment,
      tasks: numbers(3),
      policies: yes,
      groupSize: 2,
      concurrency: 3,
      seed: 0,
      signal: controller.signal,
      trace: { write: async (episode) => void written.push(episode) },
    });
    const started = new Set<number>();
    const consume = async (): Promise<void> => {
      for await (const event of events)
        if (event.type === "episode-start") started.add(event.group * 2 + event.sampleIndex);
    };
    await expect(consume()).rejects.toMatchObject({ code: "aborted" });
    expect(written).toHaveLength(started.size);
    expect(values(written)).toEqual(written.map(() => "unscored"));
  });
});
