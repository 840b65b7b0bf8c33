import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { environments } from "../../environments/index.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { type Episode, rolloutEpisode, scriptedPolicy } from "../../src/index.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { boxClass } from "./box-class.ts";
import { pythonSandbox } from "./python-sandbox.ts";

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const problem = {
  task_id: "Own/0",
  prompt: 'def twice(x):\n    """Twice x."""\n',
  entry_point: "twice",
  test: "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n    assert candidate(-3) == -6\n",
  canonical_solution: "    return 2 * x\n",
};
const twice = {
  right: block("def twice(x):\n    return 2 * x"),
  "right with aux": block("def twice(x):\n    return aux(x) + x"),
  "right, a wrapper": block("def twice(x):\n    return aux(x) * 2 if False else aux(2 * x)"),
  half: block("def twice(x):\n    return 4"),
  raising: block("def twice(x):\n    raise ValueError(x)"),
  "not Python": block("def twice(x:\n    return 2 * x"),
  empty: "",
};
const aux = { same: block("def aux(x):\n    return x"), "not Python": block("def aux(x:"), empty: "" };
const methods = {
  right: "def put(self, item):\n    self.items.append(item)\n    return len(self.items)\n",
  wrong: "def put(self, item):\n    return 0\n",
};
const total = "def total(self):\n    return sum(self.items)\n";

/** An environment with its possible answers. `isRight` decides if the answers of one turn are right. */
interface Case {
  readonly id: string;
  readonly row?: object;
  readonly options: object;
  /** Options that change only rewards. */
  readonly rewards: readonly object[];
  /** The possible answers of each agent, by name. */
  readonly answers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly isRight: (names: Readonly<Record<string, string>>) => boolean;
  /** Right answers whose rewards depend on the options. */
  readonly right: Readonly<Record<string, string>>;
  readonly runs: number;
}

const presets = ["correctness", "comlrl", "mrlm"].map((reward) => ({ reward }));
const math = {
  row: { question: "What is 2 + 2?", answer: "2 + 2 = 4\n#### 4" },
  options: { maxTurns: 2 },
  rewards: [{ formatReward: 0 }, { formatReward: 0.3 }, { formatReward: 1 }],
  answers: { agent: { marked: "2 + 2 = 4\n#### 4", plain: "The answer is 4", wrong: "#### 5", empty: "" } },
  isRight: ({ agent }: Readonly<Record<string, string>>) => agent === "marked" || agent === "plain",
  right: { agent: "marked" },
  runs: 30,
};
const cases: readonly Case[] = [
  {
    id: "code",
    row: problem,
    options: { dataset: "humaneval", maxTurns: 2, sandbox: pythonSandbox },
    rewards: presets,
    answers: { agent: twice },
    isRight: ({ agent }) => agent === "right",
    right: { agent: "right" },
    runs: 4,
  },
  {
    id: "code",
    row: problem,
    options: { dataset: "coop-humaneval", agents: 2, maxTurns: 2, sandbox: pythonSandbox },
    rewards: presets,
    answers: { aux, main: twice },
    isRight: ({ aux, main }) =>
      aux !== "not Python" && (main === "right" || (main!.startsWith("right") && aux === "same")),
    right: { aux: "same", main: "right with aux" },
    runs: 4,
  },
  {
    id: "class-completion",
    row: boxClass,
    options: { maxTurns: 2, sandbox: pythonSandbox },
    rewards: [{ reward: "correctness" }, { reward: "comlrl" }],
    answers: {
      agent: {
        right: block(methods.right + total),
        wrong: block(methods.wrong + total),
        half: block(methods.right),
        empty: "",
      },
    },
    isRight: ({ agent }) => agent === "right",
    right: { agent: "right" },
    runs: 3,
  },
  { id: "gsm8k", ...math },
];

async function open({ id, row, options }: Case, rewards: object): Promise<EnvironmentDefinition> {
  const folder = temporaryFolder();
  const path = join(folder, "own.jsonl");
  await writeFile(path, JSON.stringify(row));
  return environments.create(id, { path, ...options, ...rewards });
}

async function play(
  environment: EnvironmentDefinition,
  turns: readonly Readonly<Record<string, string>>[],
): Promise<Episode> {
  const task = await (await environment.tasks(environment.splits[0]!)).get(0);
  const policies = scriptedPolicy(({ agent, episode }) => turns[episode!.turn]![agent]!);
  return rolloutEpisode({ environment, task, policies, seed: 1 });
}

describe.each(cases)("correctness of an answer in $id $options", (given) => {
  const { rewards, answers, isRight, right, runs } = given;
  const turn = fc.record(
    Object.fromEntries(Object.entries(answers).map(([agent, own]) => [agent, fc.constantFrom(...Object.keys(own))])),
  );

  it("depends on the answers and not on rewards", async () => {
    const opened = await Promise.all(rewards.map((reward) => open(given, reward)));
    const values = new Set<string>();
    await fc.assert(
      fc.asyncProperty(turn, turn, async (...names) => {
        const texts = names.map((one) =>
          Object.fromEntries(Object.entries(one).map(([agent, name]) => [agent, answers[agent]![name]!])),
        );
        for (const environment of opened) {
          expect(environment.spec.statesCorrect).toBe(true);
          const episode = await play(environment, texts);
          expect(episode.status).toBe("completed");
          expect(episode.correct).toBe(isRight(names[episode.turns - 1]!));
          values.add(JSON.stringify(Object.values(episode.agents)[0]!.reward));
        }
      }),
      { numRuns: runs, examples: [[right, right]] },
    );
    expect(values.size).toBeGreaterThan(1);
  });
});

it("is stated by the environments that have right answers, and by no others", () => {
  const states = ({ id, options }: ReturnType<typeof environments.get>): boolean => {
    const parsed = options.safeParse({});
    return parsed.success && environments.create(id).spec.statesCorrect === true;
  };
  const stating = environments
    .list()
    .filter(states)
    .map(({ id }) => id);
  expect(stating).toEqual([
    "math",
    "gsm8k",
    "math-problems",
    "code",
    "bug-fix",
    "class-completion",
    "countdown",
    "tools",
  ]);
});
