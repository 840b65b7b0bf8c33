import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mathProblemsEnvironment } from "../../../environments/math-problems/math-problems.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { sampleOf } from "../../tier.ts";
import { type Climb, climb, sampledEpisodes } from "../hill-climber.ts";

const raw = String.raw;
const rows = [
  { problem: raw`Simplify $\sqrt{12}$.`, answer: raw`2\sqrt{3}`, asked: raw`\sqrt{12}` },
  { problem: raw`Factor $x^2 - 9$.`, answer: "(x-3)(x+3)", asked: "x^2 - 9" },
  { problem: raw`Solve $x^2 < 4$ and give an interval.`, answer: "(-2,2)", asked: "x^2 < 4" },
  { problem: raw`Which numbers have the square $7$?`, answer: raw`\pm\sqrt{7}`, asked: "7" },
  { problem: "How many apples are 318 and 579 apples?", answer: "897", asked: "318 and 579 apples" },
];
/** Pieces of mathematical notation, enough for each answer. */
const pieces = raw`0 1 2 3 4 5 6 7 8 9 x y + - = < ( ) [ ] { } , . / ^ \sqrt \frac \pi \cdot \pm \infty \boxed{ #### $ the answer is so or`;

/** Contains its own value and requests no form. */
const open = { problem: raw`Rewrite $\sqrt{12}$ differently.`, answer: raw`2\sqrt{3}`, asked: raw`\sqrt{12}` };

let path = "";
beforeAll(async () => {
  path = join(temporaryFolder(), "train.jsonl");
  await writeFile(path, [...rows, open].map(({ asked: _, ...row }) => JSON.stringify(row)).join("\n"));
});
afterAll(() => rm(join(path, ".."), { recursive: true, force: true }));

async function climbed(row: (typeof rows)[number], episodes?: number): Promise<Climb> {
  const environment = mathProblemsEnvironment({ path, formatReward: 0.1 });
  const task = await (await environment.tasks("train")).get([...rows, open].indexOf(row));
  const words = [...pieces.split(" "), ...row.problem.split(" ")];
  const starts = [`#### ${row.asked}`, row.asked];
  return climb({ environment, task, words, starts, episodes });
}

test.each(
  sampleOf([...rows.entries()], 3),
)("a blind climb from the question gets no more than the format reward: task %i", async (_, row) => {
  const { best, text } = await climbed(row, sampledEpisodes);
  expect({ best, text }).toEqual({ best: 0.1, text: expect.stringContaining("####") });
});

test("and accepts a rewritten expression if no form is requested", async () => {
  expect((await climbed(open)).best).toBe(1.1);
});
