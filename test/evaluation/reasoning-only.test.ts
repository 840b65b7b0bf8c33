import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { evalText } from "../../cli/eval-text.ts";
import { checkThresholds } from "../../cli/eval-thresholds.ts";
import { folderSource } from "../../reports/viewer/folder-source.ts";
import type { EvaluationView } from "../../reports/viewer/view-source.ts";
import type { Action } from "../../src/contract/action.ts";
import type { Part } from "../../src/contract/message.ts";
import type { ActResult, Policy } from "../../src/contract/policy.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import type { EvaluationSummary } from "../../src/evaluation/log/summary.ts";
import { temporaryFolder } from "./answer-environment.ts";

type Answer = Partial<Action["message"]> & Partial<Pick<ActResult, "usage">> & { readonly finish?: Action["finish"] };

const text = (value: string): Part => ({ type: "text", text: value });
const reasoning = (value: string): Part => ({ type: "reasoning", text: value });
const usage = (reasoningTokens: number) => ({ promptTokens: 1, completionTokens: 9, reasoningTokens });
const image: Part = { type: "image", mediaType: "image/png", data: "AA==" };
const call = { id: "1", name: "look", arguments: {} };

/** Answers, and whether they are reasoning alone. */
const answers: readonly (readonly [Answer, boolean])[] = [
  [{ content: [reasoning("42?")] }, true],
  [{ content: [reasoning("42?"), text(" \n")] }, true],
  [{ content: [text("<think>42"), text("...")], finish: "length" }, true],
  [{ content: [text("<think>42</think>\n")] }, true],
  [{ content: [text("")], usage: usage(9), finish: "length" }, true],
  [{ content: [], usage: usage(9) }, true],
  [{ content: [reasoning("42?"), text("42")] }, false],
  [{ content: [text("<think>41</think>42")] }, false],
  [{ content: [text("")] }, false],
  [{ content: [], usage: usage(0) }, false],
  [{ content: [reasoning(" \n"), text("")] }, false],
  [{ content: [text("42")], usage: usage(9) }, false],
  [{ content: [reasoning("look"), image] }, false],
  [{ content: [reasoning("look")], toolCalls: [call] }, false],
  [{ content: [], toolCalls: [call], usage: usage(9) }, false],
];

const environmentOf = (played: readonly (readonly number[])[]) =>
  defineEnvironment<number, { left: number }>({
    id: "answers",
    tasks: played.map((_, index) => index),
    maxTurns: 5,
    reset: ({ task }) => ({ prompt: `${task}`, state: { left: played[task]!.length } }),
    step: ({ state }) => {
      state.left -= 1;
      return state.left === 0 ? { reward: 0 } : { reward: 0, reply: "Go on.", state };
    },
  });

/** Evaluates episodes, each a list of indices of {@link answers}. */
async function evaluated(played: readonly (readonly number[])[], folder: string): Promise<EvaluationSummary> {
  const policies: Policy = {
    specificationVersion: "v1",
    name: "thinker",
    accepts: ["text", "reasoning", "image"],
    act: async ({ episode }) => {
      const [{ usage: counted, finish = "stop", ...message }] = answers[played[episode!.task.index]![episode!.turn]!]!;
      return {
        action: { message: { role: "assistant", content: [], ...message }, finish },
        ...(counted === undefined ? {} : { usage: counted }),
      };
    },
  };
  const events = await Array.fromAsync(evaluate({ environment: environmentOf(played), policies, folder }));
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("There is no summary.");
  return end.summary;
}

describe("answers that are reasoning alone", () => {
  it.each(
    answers.map(([answer, isAlone], index) => [JSON.stringify(answer), index, isAlone] as const),
  )("%s", async (_, index, isAlone) => {
    const { reasoningOnly } = await evaluated([[index]], await temporaryFolder());
    expect(reasoningOnly).toEqual(isAlone ? { answers: 1, ofAnswers: 1, episodes: 1 } : undefined);
  });

  it("are counted over all episodes, in the summary, its text and the viewer", async () => {
    const episode = fc.array(fc.nat({ max: answers.length - 1 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(episode, { minLength: 1, maxLength: 5 }), async (played) => {
        const folder = await temporaryFolder();
        const summary = await evaluated(played, folder);
        const counts = played.map((indices) => indices.filter((index) => answers[index]![1]).length);
        const [silent, all] = [counts.reduce((sum, count) => sum + count, 0), played.flat().length];
        const episodes = counts.filter((count) => count > 0).length;
        expect(summary.reasoningOnly ?? { answers: 0, ofAnswers: all, episodes: 0 }).toEqual({
          ...{ answers: silent, ofAnswers: all, episodes },
        });
        expect(evalText(summary, folder).includes(`reasoning alone: ${silent} of ${all} answers`)).toBe(silent > 0);
        const source = folderSource(folder);
        expect(((await source.run(".")) as EvaluationView).counts.reasoningOnly).toBe(episodes);
        const { matched } = await source.episodes(".", { filter: { outcome: "reasoning-only" }, offset: 0, limit: 9 });
        expect(matched).toBe(episodes);
        const bound = (value: number) => [{ bound: "max", metric: "reasoningOnly", value }] as const;
        checkThresholds(summary, bound(silent / all));
        if (silent > 0) expect(() => checkThresholds(summary, bound(silent / all - 0.01))).toThrow("reasoningOnly");
      }),
      { numRuns: 25 },
    );
  });
});
