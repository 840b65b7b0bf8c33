import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readVerdict } from "../../../environments/win-rate/pair-judge.ts";
import { winRateEnvironment } from "../../../environments/win-rate/win-rate.ts";
import { textOf } from "../../../src/contract/message.ts";
import { type ScriptedAnswer, scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const question = { question_id: 81, category: "writing", turns: ["Write a poem.", "Shorter."], reference: ["ref"] };

/** Plays the question with the answers "good" and "bad". `judge` returns the verdict for a prompt. */
async function play(judge: (prompt: string) => ScriptedAnswer) {
  const folder = temporaryFolder();
  const path = join(folder, "questions.jsonl");
  await writeFile(path, `${JSON.stringify(question)}\n`);
  const prompts: string[] = [];
  const judging = scriptedPolicy(({ messages }) => {
    prompts.push(textOf(messages[0]!));
    return judge(prompts.at(-1)!);
  });
  const environment = winRateEnvironment({ path }, { policies: { judge: judging } });
  const task = await (await environment.tasks("train")).get(0);
  const policies = {
    model: scriptedPolicy(["good one", "good two"]),
    reference: scriptedPolicy(["bad one", "bad two"]),
  };
  const episode = await rolloutEpisode({ environment, policies, task, seed: 3 });
  return { episode, prompts, rewards: [episode.agents.model!.reward, episode.agents.reference!.reward] };
}

const goodIsFirst = (prompt: string): boolean => prompt.indexOf("good one") < prompt.indexOf("bad one");

describe("the win rate", () => {
  it("goes to the model that is better in both orders, over all turns", async () => {
    const { episode, prompts, rewards } = await play((prompt) => `Well. [[${goodIsFirst(prompt) ? "A" : "B"}]]`);
    expect(rewards).toMatchObject([{ value: 1 }, { value: 0 }]);
    expect(prompts.map(goodIsFirst).sort()).toEqual([false, true]);
    for (const text of ["Write a poem.", "Shorter.", "good two", "bad two", "ref"]) expect(prompts[0]).toContain(text);
    expect(episode.turns).toBe(2);
  });

  it.each([
    ["a judge that prefers the first", () => "[[A]]"],
    ["a judge that sees them alike", () => "[[C]]"],
    ["a win and a tie", (prompt: string) => (goodIsFirst(prompt) ? "[[A]]" : "[[C]]")],
  ])("is a tie for %s", async (_, judge) => {
    expect((await play(judge)).rewards).toMatchObject([{ value: 0.5 }, { value: 0.5 }]);
  });

  it("is unscored if the judge gives no verdict", async () => {
    expect((await play(() => "Both are fine.")).rewards).toMatchObject([
      { status: "unscored", error: { code: "policy.failed" } },
      { status: "unscored" },
    ]);
  });

  it("uses the verdict at the end of an answer", () => {
    expect(readVerdict("At first [[A]], but then [[B]]")).toBe("second");
    expect(readVerdict("[[D]] [A]")).toBeUndefined();
    expect(readVerdict('Assistant B wrote "[[B]]" itself, which is cheating.')).toBeUndefined();
  });
});
