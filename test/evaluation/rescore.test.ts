import { describe, expect, it } from "vitest";
import { environmentGrader } from "../../cli/environment-grader.ts";
import { textOf } from "../../src/contract/message.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../src/core/rollout/environment-pool.ts";
import { rubric } from "../../src/core/rubric/rubric.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { readEntries, readEpisode, readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { type Grader, rescore } from "../../src/evaluation/rescore.ts";
import { type RecordedAnswer, rubricGrader } from "../../src/evaluation/rubric-grader.ts";
import { timeless } from "../cli/eval-folder.ts";
import { temporaryFolder } from "./answer-environment.ts";

/** Two agents say two numbers each. `worth` returns the reward of the final sum. */
const sums = (worth: (sum: number) => number, turns = 2) =>
  defineParallelEnvironment<"left" | "right", { readonly n: number }>({
    id: "sums",
    agents: ["left", "right"],
    maxTurns: 3,
    rewardRange: [0, 10],
    tasks: [{ n: 1 }, { n: 2 }, { n: 1 }],
    reset: ({ task }) => ({ left: `left ${task.n}`, right: `right ${task.n}` }),
    step: ({ texts, turn }) => {
      if (turn + 1 < turns) return { replies: { left: `right said ${texts.right}`, right: `left said ${texts.left}` } };
      if (texts.left === "9") throw Object.assign(new Error("nine"), { code: "ECONNRESET" });
      return { components: { sum: worth(Number(texts.left) + Number(texts.right)) } };
    },
  });

const policies = {
  left: scriptedPolicy(({ episode, seed }) =>
    episode!.task.index === 1 && episode!.turn === 1 ? "9" : String(seed % 5),
  ),
  right: scriptedPolicy(({ seed }) => String(seed % 3)),
};

async function play(worth: (sum: number) => number): Promise<string> {
  const folder = await temporaryFolder();
  await Array.fromAsync(evaluate({ environment: sums(worth), policies, samples: 3, seed: 2, folder }));
  return folder;
}

async function regrade(from: string, grade: Grader): Promise<string> {
  const folder = await temporaryFolder();
  const manifest = { ...(await readManifest(from)), rescoredFrom: from };
  await Array.fromAsync(rescore({ from, folder, manifest, grade, concurrency: 2 }));
  return folder;
}

describe("rescoring", () => {
  it("in the same environment gives the same result, also for several agents and repeated tasks", async () => {
    const from = await play((sum) => sum);
    await using pool = new EnvironmentPool(sums((sum) => sum));
    const folder = await regrade(from, environmentGrader(pool));
    expect(timeless(await readSummary(folder))).toEqual(timeless(await readSummary(from)));
    const [before, after] = [await readEntries(from), await readEntries(folder)];
    for (const [id, entry] of before) {
      expect(await readEpisode(folder, after.get(id)!)).toEqual(await readEpisode(from, entry));
    }
  });

  it("in another environment gives the result of a run in it", async () => {
    const from = await play((sum) => sum);
    const wanted = await play((sum) => 10 - sum);
    await using pool = new EnvironmentPool(sums((sum) => 10 - sum));
    const folder = await regrade(from, environmentGrader(pool));
    expect(timeless(await readSummary(folder))).toEqual(timeless(await readSummary(wanted)));
  });

  it("leaves an episode unscored if it continues after the end of the recording", async () => {
    const from = await play((sum) => sum);
    await using pool = new EnvironmentPool(sums((sum) => sum, 3));
    const { counts } = await readSummary(await regrade(from, environmentGrader(pool)));
    expect(counts).toMatchObject({ played: 9, scored: 0, failed: 9 });
  });

  it("by a rubric gives each agent the reward of its answer", async () => {
    const from = await play((sum) => sum);
    const graded = rubric<RecordedAnswer>([
      { name: "even", score: ({ text }) => (Number(text) % 2 === 0 ? 1 : 0) },
      { name: "knows-task", weight: 2, score: ({ task }) => ((task as { n: number }).n === 1 ? 1 : 0) },
    ]);
    const folder = await regrade(from, rubricGrader(graded));
    const entries = [...(await readEntries(folder)).values()];
    // An episode that failed in the environment has no answer to score.
    expect(entries.filter(({ status }) => status === "failed")).toHaveLength(3);
    for (const entry of entries) {
      if (entry.status === "failed") continue;
      const episode = await readEpisode(folder, entry);
      for (const [agent, { nodes, turns, reward }] of Object.entries(episode.agents)) {
        const even = Number(textOf(nodes[turns.at(-1)!.node]!.message)) % 2 === 0 ? 1 : 0;
        expect(reward).toEqual({ status: "scored", value: even + 2, components: { even, "knows-task": 2 } });
        expect(entry.agents[agent]!.reward).toBe(even + 2);
        expect(turns[0]!.reward).toBeUndefined();
      }
    }
  });

  it("by a rubric that fails leaves answers unscored", async () => {
    const from = await play((sum) => sum);
    const failing = rubric<RecordedAnswer>([
      {
        name: "judge",
        score: () => {
          throw Object.assign(new Error("no judge"), { code: "ECONNREFUSED" });
        },
      },
    ]);
    const { counts, metrics } = await readSummary(await regrade(from, rubricGrader(failing)));
    expect(counts).toMatchObject({ played: 9, scored: 0, unscored: 9, failed: 3 });
    expect(metrics).toEqual({});
  });

  it("rejects a folder with a run", async () => {
    const from = await play((sum) => sum);
    const manifest = await readManifest(from);
    const events = rescore({ from, folder: from, manifest, grade: async (episodes) => episodes });
    await expect(events.next()).rejects.toMatchObject({ code: "config.invalid" });
  });
});
