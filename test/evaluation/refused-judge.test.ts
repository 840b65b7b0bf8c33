import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { debateEnvironment } from "../../environments/debate/debate.ts";
import { winRateEnvironment } from "../../environments/win-rate/win-rate.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { defaultSampling } from "../../src/contract/sampler.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rubric } from "../../src/core/rubric/rubric.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { readManifest, readSummary } from "../../src/evaluation/log/read-log.ts";
import { rescore } from "../../src/evaluation/rescore.ts";
import { type RecordedAnswer, rubricGrader } from "../../src/evaluation/rubric-grader.ts";
import { answers, temporaryFolder } from "./answer-environment.ts";

const refusal = new LyceumError({ code: "policy.unauthorized", message: "No such key." });

/** A judge whose server rejects its key until the key is corrected. */
function keylessJudge(answer: string) {
  const state = { asked: 0, mended: false };
  const policy = scriptedPolicy(() => {
    state.asked += 1;
    if (!state.mended) throw refusal;
    return answer;
  });
  return { state, policy };
}

const debateVerdict = JSON.stringify({
  speakers: [7, 4].map((points) => ({ evidence: points, reasoning: points, consistency: points, answering: points })),
});

test.each([
  [
    "a debate",
    debateVerdict,
    async (judge: ReturnType<typeof keylessJudge>["policy"]): Promise<EnvironmentDefinition> =>
      debateEnvironment({ judge: "model" }, { policies: { judge } }) as EnvironmentDefinition,
  ],
  [
    "a win rate",
    "[[A]]",
    async (judge: ReturnType<typeof keylessJudge>["policy"]): Promise<EnvironmentDefinition> => {
      const path = join(await temporaryFolder(), "questions.jsonl");
      await writeFile(path, Array.from({ length: 30 }, (_, n) => JSON.stringify({ turns: [`${n}?`] })).join("\n"));
      return winRateEnvironment({ path }, { policies: { judge } }) as EnvironmentDefinition;
    },
  ],
  [
    "a rubric of groups",
    "1",
    async (judge: ReturnType<typeof keylessJudge>["policy"]): Promise<EnvironmentDefinition> => {
      const judged = rubric<object>([
        {
          name: "together",
          scoreGroup: async (group, { signal }) => {
            await judge.act({ agent: "judge", messages: [], sampling: defaultSampling, seed: 0, signal });
            return group.map(() => 1);
          },
        },
      ]);
      const environment = answers(Array.from({ length: 30 }, (_, n) => ({ n })));
      return { ...environment, splits: ["train"], scoreGroup: judged.scoreGroup! } as EnvironmentDefinition;
    },
  ],
])("a rejected key of a judge ends %s early, and the run continues with a correct key", async (_, verdict, open) => {
  const { state, policy } = keylessJudge(verdict);
  const environment = await open(policy);
  const split = environment.splits.includes("test") ? "test" : "train";
  const folder = await temporaryFolder();
  const policies = scriptedPolicy(() => (environment.spec.id === "answers" ? "1" : "Because."), { name: "speaker" });
  const options = { environment, policies, split, limit: 9, concurrency: 2, folder };
  await expect(Array.fromAsync(evaluate(options))).rejects.toMatchObject({
    code: "policy.unauthorized",
    message: expect.stringContaining("No such key."),
    hint: expect.stringContaining("--retry-failed"),
  });
  // Two concurrent episodes, and one that begins when the first ends. Each asks the judge in both orders.
  expect(state.asked).toBeLessThanOrEqual(6);
  expect((await readSummary(folder)).counts).toMatchObject({ scored: 0, correct: 0 });
  state.mended = true;
  await Array.fromAsync(evaluate({ ...options, existing: "retry-failed" }));
  expect((await readSummary(folder)).counts).toMatchObject({ played: 9, scored: 9 });
});

test("a judge that fails in another way does not end the run: its episodes are unscored", async () => {
  const { policy } = keylessJudge("");
  const busy = new LyceumError({ code: "policy.unavailable", message: "Busy." });
  const judge = { ...policy, act: () => Promise.reject(busy) };
  const environment = debateEnvironment({ judge: "model" }, { policies: { judge } });
  const folder = await temporaryFolder();
  const policies = scriptedPolicy(() => "Because.", { name: "speaker" });
  await Array.fromAsync(evaluate({ environment, policies, split: "test", limit: 3, folder }));
  expect((await readSummary(folder)).counts).toMatchObject({ played: 3, scored: 0, unscored: 3, failed: 0 });
});

test("rescoring also ends at a rejected key, but not for one that was rejected in the recording", async () => {
  const from = await temporaryFolder();
  const environment = answers(Array.from({ length: 40 }, (_, n) => ({ n })));
  await Array.fromAsync(evaluate({ environment, policies: scriptedPolicy(["1"]), folder: from }));
  const manifest = await readManifest(from);
  let asked = 0;
  const judged = rubric<RecordedAnswer>([
    {
      name: "good",
      score: () => {
        asked += 1;
        throw refusal;
      },
    },
  ]);
  const folder = await temporaryFolder();
  const grading = rescore({ from, folder, manifest, grade: rubricGrader(judged), concurrency: 2 });
  await expect(Array.fromAsync(grading)).rejects.toMatchObject({ code: "policy.unauthorized" });
  expect(asked).toBeLessThan(10);

  const refused = await temporaryFolder();
  const keyless = scriptedPolicy(() => Promise.reject(refusal));
  await expect(Array.fromAsync(evaluate({ environment, policies: keyless, folder: refused }))).rejects.toThrow();
  const again = await temporaryFolder();
  const kept = { from: refused, folder: again, manifest: await readManifest(refused) };
  const nothing = rubric<RecordedAnswer>([{ name: "good", score: () => 1 }]);
  await Array.fromAsync(rescore({ ...kept, grade: rubricGrader(nothing) }));
  expect((await readSummary(again)).counts.failed).toBeGreaterThan(0);
});
