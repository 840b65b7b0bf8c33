import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gsm8kEnvironment } from "../../../environments/gsm8k/gsm8k.ts";
import { mathEnvironment } from "../../../environments/math/math.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { TaskEntry } from "../../../src/contract/taskset.ts";
import { demonstrationPolicy, rolloutEpisode, textOf } from "../../../src/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf } from "../../tier.ts";
import { climb, sampledEpisodes } from "../hill-climber.ts";

const pieces = "0 1 2 3 4 5 6 7 8 9 + - * / = . , #### \\boxed{ } $ % the answer is so and or x".split(" ");

/** What a task shows to the agent, and its expert's answer. */
async function saidOf<Task>(environment: EnvironmentDefinition<Task>, task: TaskEntry<Task>) {
  const policies = demonstrationPolicy({ environment });
  const { agents } = await rolloutEpisode({ environment, task, policies, seed: 0 });
  const messages = agents.agent!.nodes.map(({ message }) => textOf(message));
  return { prompt: messages.at(-2)!, expert: messages.at(-1)! };
}

/** Climbs with the words of the prompt. Only the answer has a higher reward than the format. */
async function expectLow<Task>(environment: EnvironmentDefinition<Task>, split: string): Promise<void> {
  const tasks = await environment.tasks(split);
  let climbed = 0;
  for (let index = 0; climbed < 3; index++) {
    const task = await tasks.get(index);
    const { prompt, expert } = await saidOf(environment, task);
    // A single digit, or a number of the question, is found by chance.
    const [, answer = ""] = expert.split("####");
    if (!(answer.match(/\d\d+/g) ?? []).some((number) => !prompt.includes(number))) continue;
    climbed += 1;
    const starts = ["####", prompt];
    const words = [...pieces, ...prompt.split(/\s+/)];
    const { best, text } = await climb({ environment, task, words, starts, episodes: sampledEpisodes });
    expect(best, `${text} for ${answer}`).toBeLessThanOrEqual(0.1);
    // The answer itself gets the maximum.
    const known = await climb({ environment, task, words, starts: [...starts, expert], episodes: 10 });
    expect(known.best).toBe(1.1);
  }
}

const kinds = ["arithmetic", "equations", "word-problems", "multi-step"] as const;
test.each(sampleOf(kinds, 2))("a blind climb gets no more than the format reward: %s", async (tasks) => {
  await expectLow(mathEnvironment({ tasks, digits: 3, formatReward: 0.1 }), "test");
});

test("a blind climb gets no more than the format reward: gsm8k", async () => {
  const folder = temporaryFolder();
  const rows = [
    ["A shop sells 12 boxes of 15 pens. How many pens is that?", 180],
    ["Ann reads 23 pages a day. How many does she read in 14 days?", 322],
    ["A train has 8 cars with 96 seats each, of which 99 are broken. How many can be sat on?", 669],
  ].map(([question, answer]) => JSON.stringify({ question, answer: `It is ${answer}.\n#### ${answer}` }));
  const path = join(folder, "test.jsonl");
  await writeFile(path, rows.join("\n"));
  const environment = gsm8kEnvironment({ path, formatReward: 0.1 });
  await expectLow(environment, environment.splits[0]!);
});
