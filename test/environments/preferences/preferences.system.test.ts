import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PreferencesOptions } from "../../../environments/index.ts";
import { preferencesEnvironment } from "../../../environments/preferences/preferences.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { textOf } from "../../../src/contract/message.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { collectGroups } from "../../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { letterEnvironment } from "../../trainers/letter-environment.ts";
import { eventsOf, letterConfig, runTraining } from "../../trainers/run-training.ts";

const row = { prompt: "Is it raining?", chosen: "Yes.", rejected: "No." };
const said = (role: string, content: string): object => ({ role, content });

async function environmentOf(
  lines: readonly (object | string)[],
  options: Partial<PreferencesOptions> = {},
): Promise<EnvironmentDefinition> {
  const path = join(temporaryFolder(), "pairs.jsonl");
  await writeFile(path, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return preferencesEnvironment({ path, ...options }) as EnvironmentDefinition;
}

describe("the preferences environment", () => {
  it("passes the conformance suite", async () => {
    expect((await checkEnvironment(await environmentOf([row]), { tasks: 1, episodes: 5 })).problems).toEqual([]);
  });

  it("tells answers apart that differ in their reasoning alone", async () => {
    const answer = (reasoning_content: string): object[] => [{ role: "assistant", content: "Yes.", reasoning_content }];
    const environment = await environmentOf([
      { prompt: "Rain?", chosen: answer("It is wet."), rejected: answer("No idea.") },
    ]);
    const tasks = [await (await environment.tasks("train")).get(0)];
    const policies = demonstrationPolicy({ environment });
    const [group] = await collectGroups(rollout({ environment, tasks, policies, groupSize: 2, seed: 0 }));
    expect(group!.episodes.map(({ agents }) => agents.agent?.reward)).toMatchObject([{ value: 1 }, { value: 0 }]);
    const same = await environmentOf([
      { prompt: "Rain?", chosen: answer("It is wet."), rejected: answer("It is wet. ") },
    ]);
    await expect(same.tasks("train")).rejects.toThrow(/says the same/);
    const unlearnt = { role: "assistant", content: "No.", weight: 0 };
    const excluded = await environmentOf([{ prompt: "Rain?", chosen: "Yes.", rejected: [unlearnt] }]);
    await expect(excluded.tasks("train")).rejects.toThrow(/both answers are learnt/);
  });

  const prompt = [said("user", row.prompt)];
  const [chosen, rejected] = [said("assistant", row.chosen), said("assistant", row.rejected)];
  it.each<[string, object]>([
    ["texts", row],
    ["lists of messages", { prompt, chosen: [chosen], rejected: [rejected] }],
    ["messages instead of prompt", { messages: prompt, chosen: row.chosen, rejected: [rejected] }],
    ["answers that repeat the prompt", { prompt, chosen: [...prompt, chosen], rejected: [...prompt, rejected] }],
    ["answers that have the prompt alone", { chosen: [...prompt, chosen], rejected: [...prompt, rejected] }],
    ["a prompt next to whole conversations", { ...row, chosen: [...prompt, chosen], rejected: [...prompt, rejected] }],
    ["further keys", { ...row, metadata: { source: "x" }, score_chosen: 1 }],
  ])("reads rows of %s", async (_, given) => {
    const environment = await environmentOf([given]);
    const { task } = await (await environment.tasks("train")).get(0);
    const text = (content: string) => [{ type: "text", text: content }];
    expect(task).toEqual({
      messages: [{ role: "user", content: text(row.prompt) }],
      chosen: { role: "assistant", content: text(row.chosen) },
      rejected: { role: "assistant", content: text(row.rejected) },
    });
  });

  it("demonstrates the chosen answer in the even samples of a group, the rejected one in the odd ones", async () => {
    const environment = await environmentOf([row]);
    const groups = await collectGroups(
      rollout({
        environment,
        tasks: await environment.tasks("train"),
        policies: demonstrationPolicy({ environment }),
        groupSize: 4,
        seed: 0,
      }),
    );
    const episodes = groups[0]!.episodes.map(({ agents }) => agents.agent!);
    expect(episodes.map(({ nodes }) => textOf(nodes.at(-1)!.message))).toEqual(["Yes.", "No.", "Yes.", "No."]);
    expect(episodes.map(({ reward }) => reward.status === "scored" && reward.value)).toEqual([1, 0, 1, 0]);
  });

  it.each<[string, (object | string)[], RegExp]>([
    ["no rejected answer", [row, { prompt: "x", chosen: "y" }], /pairs\.jsonl:2: rejected/],
    ["equal answers", [{ ...row, rejected: " Yes." }], /:1: rejected: says the same/],
    ["no prompt", [{ chosen: "a", rejected: "b" }], /no prompt/],
    [
      "a prompt that ends with the assistant",
      [{ ...row, prompt: [chosen] }],
      /the last message must not be the assistant's/,
    ],
    ["an answer of the user", [{ ...row, chosen: prompt }], /chosen: must be one message of the assistant/],
    ["an answer of two messages", [{ ...row, chosen: [chosen, said("user", "?"), chosen] }], /chosen: must be one/],
    ["no JSON", ["{"], /pairs\.jsonl:1/],
  ])("rejects %s with the line", async (_, lines, message) => {
    await expect((await environmentOf(lines)).tasks("train")).rejects.toMatchObject({
      code: "data.malformed",
      message: expect.stringMatching(message),
    });
  });

  it("gives a hint for an empty file", async () => {
    await expect((await environmentOf(["", "  "])).tasks("train")).rejects.toMatchObject({
      code: "data.out-of-range",
      message: expect.stringContaining("There are no preferences"),
      hint: expect.stringContaining('{"prompt": "...", "chosen": "...", "rejected": "..."}'),
    });
  });

  it("makes offline DPO prefer the file's chosen answers, or the rejected ones with swapped", async () => {
    const letters = letterEnvironment();
    const tasks = await letters.tasks("train");
    const right = (task: typeof tasks extends { get(index: number): Promise<{ task: infer T }> } ? T : never): string =>
      letters.demonstrate!(task)![0]!.agent as string;
    const lines = await Promise.all(
      Array.from({ length: Number(tasks.length) }, async (_, index) => {
        const { task } = await tasks.get(index);
        const chosen = right(task);
        return { prompt: task.prompt, chosen, rejected: String.fromCharCode(chosen.charCodeAt(0) + 1) };
      }),
    );
    const accuracy = async (swapped: boolean): Promise<{ before: number; after: number; margin: number }> => {
      const environment = await environmentOf(lines, { swapped });
      const output = temporaryFolder();
      const record = await runTraining({
        output,
        environment,
        config: letterConfig({
          algorithm: { id: "dpo", source: "demonstrations", beta: 0.5 },
          training: { steps: 16, batchSize: 16 },
        }),
      });
      expect(record.error).toBeUndefined();
      const steps = eventsOf(record, "step");
      const evaluated = await runTraining({
        output: temporaryFolder(),
        config: letterConfig({
          model: { path: join(output, "model") },
          training: { steps: 1, learningRate: 1e-9 },
          evaluation: { split: "test", limit: 64, temperature: 1, episodesPerTask: 4 },
        }),
      });
      return {
        before: steps[0]!.metrics["loss/total"]!,
        after: steps.at(-1)!.metrics["loss/total"]!,
        margin: eventsOf(evaluated, "evaluation")[0]!.metrics.accuracy!,
      };
    };
    const learnt = await accuracy(false);
    const opposite = await accuracy(true);
    expect(learnt.before).toBeCloseTo(Math.log(2), 5);
    expect(learnt.after).toBeLessThan(0.3);
    expect(opposite.after).toBeLessThan(0.3);
    // A uniform model is right in about one of eight cases.
    expect(learnt.margin).toBeGreaterThan(0.25);
    expect(opposite.margin).toBeLessThan(0.1);
  });
});
