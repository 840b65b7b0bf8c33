import { describe, expect, it } from "vitest";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { readEntries, readSummary } from "../../src/evaluation/log/read-log.ts";
import { runFolder } from "../../src/evaluation/log/run-folder.ts";
import { timeless } from "../cli/eval-folder.ts";
import { answers, evaluated, temporaryFolder } from "./answer-environment.ts";

/** Tasks, the sixth of which equals the fourth. */
const tasks = [0, 1, 2, 3, 4, 3, 6, 7, 8, 9].map((n) => ({ n }));
const policies = scriptedPolicy(async ({ seed, episode }) => {
  await new Promise((resolve) => setTimeout(resolve, 2));
  return episode!.task.index % 4 === 1 ? "throw" : String(seed % 2);
});
const options = { environment: answers(tasks), policies, samples: 3, concurrency: 2, seed: 5 };

describe("a resumed run", () => {
  it("gives the result of an uninterrupted run, wherever it was stopped, and plays no episode twice", async () => {
    const straight = await temporaryFolder();
    await Array.fromAsync(evaluate({ ...options, folder: straight }));
    const expected = timeless(await readSummary(straight));
    for (const stop of [1, 4, 11, 20]) {
      const folder = await temporaryFolder();
      const controller = new AbortController();
      let logged = 0;
      const interrupted = async (): Promise<void> => {
        for await (const event of evaluate({ ...options, folder, signal: controller.signal })) {
          if (event.type === "episode" && ++logged === stop) controller.abort();
        }
      };
      await expect(interrupted()).rejects.toMatchObject({ code: "aborted" });
      expect(await readSummary(folder)).toMatchObject({ status: "interrupted" });
      const events = await Array.fromAsync(evaluate({ ...options, folder, existing: "resume" }));
      expect(timeless(await readSummary(folder))).toEqual(expected);
      const { episodes, failures } = runFolder(folder);
      const all = [...(await Array.fromAsync(readTrace(episodes))), ...(await Array.fromAsync(readTrace(failures)))];
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
      expect(all).toHaveLength(30);
      const start = events[0];
      const before = start?.type === "start" ? start.played.length : 0;
      expect(before).toBeGreaterThanOrEqual(stop);
      expect(before + events.filter(({ type }) => type === "episode").length).toBe(30);
    }
  });

  it("stops if a server rejects the key, and continues with a correct key", async () => {
    const folder = await temporaryFolder();
    let asked = 0;
    const refused = scriptedPolicy(() => {
      if (++asked > 5) throw new LyceumError({ code: "policy.unauthorized", message: "No such key." });
      return "1";
    });
    const run = Array.fromAsync(evaluate({ ...options, policies: refused, folder }));
    await expect(run).rejects.toMatchObject({
      code: "policy.unauthorized",
      hint: expect.stringMatching(/retry-failed/),
    });
    expect(asked).toBeLessThanOrEqual(5 + options.concurrency);
    expect((await readSummary(folder)).counts).toMatchObject({ scored: 5 });
    const mended = scriptedPolicy(() => "1");
    await Array.fromAsync(evaluate({ ...options, policies: mended, folder, existing: "retry-failed" }));
    expect((await readSummary(folder)).counts).toMatchObject({ played: 30, scored: 30, failed: 0 });
  });

  it("can have more tasks and samples, and keeps its episodes", async () => {
    const folder = await temporaryFolder();
    await Array.fromAsync(evaluate({ ...options, folder, limit: 4, samples: 2 }));
    const before = [...(await readEntries(folder)).keys()];
    await Array.fromAsync(evaluate({ ...options, folder, existing: "resume" }));
    expect([...(await readEntries(folder)).keys()].slice(0, 8)).toEqual(before);
    const straight = await temporaryFolder();
    await Array.fromAsync(evaluate({ ...options, folder: straight }));
    expect(timeless(await readSummary(folder))).toEqual(timeless(await readSummary(straight)));
  });

  it("plays failures again only with retry-failed, and then the last result counts", async () => {
    const folder = await temporaryFolder();
    const bad = [["1"], ["throw"], ["unscored"], ["0"]];
    const good = [["0"], ["1"], ["1"], ["0"]];
    expect((await evaluated(bad, { folder })).counts).toMatchObject({ scored: 2, failed: 1, correct: 1 });
    expect((await evaluated(good, { folder, existing: "resume" })).counts).toMatchObject({ scored: 2, correct: 1 });
    const retried = await evaluated(good, { folder, existing: "retry-failed" });
    // Task 0 was scored and is not played again.
    expect(retried.counts).toMatchObject({ scored: 4, failed: 0, unscored: 0, correct: 3 });
    expect((await Array.fromAsync(readTrace(runFolder(folder).failures))).length).toBe(2);
  });

  it("plays whole groups if their episodes are scored together", async () => {
    const environment = {
      ...answers([{ n: 0 }, { n: 1 }]),
      scoreGroup: async (group: readonly { readonly id: string }[]) =>
        Object.fromEntries(
          group.map(({ id }) => [
            id,
            { agent: { status: "scored" as const, value: group.length, components: { size: group.length } } },
          ]),
        ),
    };
    const folder = await temporaryFolder();
    const play = { environment, policies: scriptedPolicy(["0"]), folder };
    await Array.fromAsync(evaluate({ ...play, samples: 2 }));
    await Array.fromAsync(evaluate({ ...play, samples: 3, existing: "resume" }));
    const entries = [...(await readEntries(folder)).values()];
    expect(entries.map(({ agents }) => agents.agent!.reward)).toEqual([3, 3, 3, 3, 3, 3]);
  });

  it("is rejected if settings differ, and the error names them", async () => {
    const folder = await temporaryFolder();
    await evaluated([["1"]], { folder });
    await expect(evaluated([["1"]], { folder })).rejects.toMatchObject({ hint: expect.stringContaining("--resume") });
    await expect(evaluated([["1"]], { folder, existing: "resume", seed: 1 })).rejects.toThrow("seed was 0, and is 1");
    const sampling = { temperature: 0.5, maxTokens: 9 };
    await expect(evaluated([["1"]], { folder, existing: "resume", sampling })).rejects.toMatchObject({
      code: "config.invalid",
      data: { changed: ["sampling"] },
    });
    await expect(evaluated([["1"]], { folder, existing: "resume", models: { agent: "another" } })).rejects.toThrow(
      "models was",
    );
  });

  it("is not resumed from an unbounded split", async () => {
    const unbounded = {
      ...answers([]),
      tasks: async () => ({
        specificationVersion: "v1" as const,
        name: "endless",
        length: "unbounded" as const,
        get: async () => {
          throw new Error("never");
        },
      }),
    };
    await expect(
      Array.fromAsync(evaluate({ environment: unbounded, policies, folder: await temporaryFolder() })),
    ).rejects.toMatchObject({ hint: expect.stringContaining("--limit") });
  });
});
