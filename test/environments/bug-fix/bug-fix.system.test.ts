import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bugFixEnvironment } from "../../../environments/bug-fix/bug-fix.ts";
import type { BugFixOptions } from "../../../environments/bug-fix/bug-fix-options.ts";
import { environments } from "../../../environments/index.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import type { Episode } from "../../../src/index.ts";
import { demonstrationPolicy, rolloutEpisode, scriptedPolicy, textOf } from "../../../src/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const header = 'import math\n\n\ndef half_up(x: float) -> int:\n    """Round half up."""\n';
const tests = [
  [0.5, 1],
  [1.5, 2],
  [2.4, 2],
  [-0.5, 0],
  [7123.0, 7123],
  [7124.5, 7125],
];
const test = `def check(candidate):\n${tests.map(([x, y]) => `    assert candidate(${x}) == ${y}\n`).join("")}`;
const seeded = {
  task_id: "Own/0",
  prompt: header,
  entry_point: "half_up",
  canonical_solution: "    doubled = 2 * x + 1\n    return math.floor(doubled / 2)\n",
  test,
};
const real = {
  ...seeded,
  task_id: "Own/1",
  buggy_solution: "    doubled = 2 * x - 1\n    return math.floor(doubled / 2)\n",
};
const mbpp = {
  task_id: 1,
  text: "Write a function to add three numbers.",
  code: "def add(a, b):\r\n  return a + b \r\ndef add3(a, b, c):\r\n  return add(add(a, b), c) ",
  test_setup_code: "",
  test_list: ["assert add3(1, 2, 3) == 6", "assert add3(0, 1, 9) == 10", "assert add3(2, 2, 5) == 9"],
};

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  const lines = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  await writeFile(join(folder, "seeded.jsonl"), lines(seeded));
  await writeFile(join(folder, "real.jsonl"), lines(real));
  await writeFile(join(folder, "mbpp.jsonl"), lines(mbpp, { ...mbpp, task_id: 601 }));
  await writeFile(join(folder, "right.jsonl"), lines({ ...real, buggy_solution: seeded.canonical_solution }));
  await writeFile(join(folder, "unsolved.jsonl"), lines({ ...seeded, canonical_solution: undefined }));
});

function open(options: Partial<BugFixOptions> & { readonly file?: string } = {}) {
  const { file = "real.jsonl", ...rest } = options;
  return bugFixEnvironment({ path: join(folder, file), sandbox: pythonSandbox, ...rest });
}

type Answer = (heard: string, agent: string, turn: number) => string;

/** An episode, and the messages of each agent. */
async function play(answer: Answer, options: Parameters<typeof open>[0] & { readonly seed?: number } = {}) {
  const { seed = 1, ...rest } = options;
  const environment = open(rest);
  const task = await (await environment.tasks("test")).get(0);
  const heard: { agent: string; text: string }[] = [];
  const policies = scriptedPolicy(({ messages, agent, episode: at }) => {
    const text = textOf(messages.at(-1)!);
    heard.push({ agent, text });
    return answer(text, agent, at!.turn);
  });
  const episode = await rolloutEpisode({ environment, task, policies, seed });
  return { episode, heard };
}

function rewardOf({ episode }: { readonly episode: Episode }, agent = "agent") {
  expect(episode.error).toBeUndefined();
  expect(episode.status).toBe("completed");
  const { reward } = episode.agents[agent]!;
  if (reward.status === "unscored") throw new Error(reward.reason);
  return reward;
}

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const programOf = (prompt: string): string => /```python\n([\s\S]*?)```/.exec(prompt)![1]!;
const right = block(header + seeded.canonical_solution);

describe("the first prompt", () => {
  it("shows a program with a bug and tests that fail, and no hidden test", async () => {
    const { heard } = await play(() => right);
    expect(programOf(heard[0]!.text)).toBe(header + real.buggy_solution);
    expect(heard[0]!.text).toContain("half_up(0.5) == 1  # gave 0");
    expect(heard[0]!.text).toContain("half_up(1.5) == 2  # gave 1");
    expect(heard[0]!.text).not.toMatch(/712|2\.4/);
  });

  it("describes the purpose of a program whose source does not state it", async () => {
    const environment = open({ dataset: "mbpp", file: "mbpp.jsonl" });
    const tasks = await environment.tasks("train");
    expect(tasks.length).toBe(1);
    const texts: string[] = [];
    const policies = scriptedPolicy(({ messages }) => {
      texts.push(textOf(messages.at(-1)!));
      return "";
    });
    await rolloutEpisode({ environment, task: await tasks.get(0), policies, seed: 1 });
    expect(texts[0]).toContain("add three numbers");
    expect(texts[0]).not.toContain("\r");
  });
});

describe("a seeded bug", () => {
  const bugs = async (seeds: number): Promise<string[]> => {
    const environment = open({ file: "seeded.jsonl" });
    const task = await (await environment.tasks("test")).get(0);
    const programs: string[] = [];
    const played = Array.from({ length: seeds }, (_, seed) => {
      const policies = scriptedPolicy(({ messages }) => {
        programs[seed] = programOf(textOf(messages.at(-1)!));
        return "";
      });
      return rolloutEpisode({ environment, task, policies, seed });
    });
    await Promise.all(played);
    return programs;
  };

  it("depends on the seed alone and is never before the function", async () => {
    const programs = await bugs(8);
    expect(await bugs(2)).toEqual(programs.slice(0, 2));
    expect(new Set(programs).size).toBeGreaterThan(4);
    for (const program of programs) {
      expect(program.startsWith("import math\n")).toBe(true);
      expect(program).not.toBe(header + seeded.canonical_solution);
    }
  });

  it("may have several mistakes", async () => {
    const { episode } = await play(() => right, { file: "seeded.jsonl", mutations: 3 });
    expect(rewardOf({ episode })).toMatchObject({ value: 1 });
    const info = JSON.stringify(episode);
    expect(info).toMatch(/"bug":\["[a-z-]+","[a-z-]+","[a-z-]+"\]/);
  });
});

describe("the reward of a repair", () => {
  it("is the maximum for the correct program, with or without its preamble", async () => {
    expect(rewardOf(await play(() => right))).toMatchObject({ value: 1, components: { tests: 0.9, size: 0.1 } });
    const bare = block((header + seeded.canonical_solution).replace("import math\n", ""));
    expect(rewardOf(await play(() => bare)).value).toBeGreaterThan(0.97);
    expect(rewardOf(await play(() => right, { file: "seeded.jsonl" })).value).toBe(1);
  });

  it("is lower for a larger change than needed, but higher than for any repair that fails tests", async () => {
    const other = rewardOf(await play((heard) => block(programOf(heard).replace("2 * x - 1", "2 * (x - 1) + 3"))));
    const rewritten =
      "import math\n\ndef half_up(x):\n    low, rest = divmod(x, 1)\n    if rest < 0.5:\n        return int(low)\n    return int(low) + 1\n";
    const anew = rewardOf(await play(() => block(rewritten)));
    expect(other.value).toBeLessThan(1);
    expect(other.value).toBeGreaterThan(anew.value);
    expect(anew.components).toMatchObject({ tests: 0.9 });
    expect(anew.value).toBeGreaterThan(0.9);
    expect(anew.value).toBeLessThan(0.96);
  });

  it.each<[string, (program: string) => string]>([
    ["the program as it was", (program) => block(program)],
    ["the program as it was, written otherwise", (program) => block(`# repaired\n${program.replaceAll(" - ", "-")}`)],
    ["no reply", () => ""],
    ["words", () => "I cannot find it."],
    ["what does not parse", (program) => block(program.replace("floor(", "floor(("))],
    ["another function", (program) => block(program.replace("half_up", "half_down"))],
    [
      "what looks equal to everything",
      () => block("class E(int):\n def __eq__(s, o): return True\ndef half_up(x): return E(5)"),
    ],
    ["leaving early", () => block("import os\ndef half_up(x): os._exit(0)")],
    ["a constant", () => block("def half_up(x): return 3")],
    [
      "the visible tests alone",
      (program) =>
        block(
          program
            .replace("    doubled", "    if x == 0.5: return 1\n    if x == 1.5: return 2\n    doubled")
            .replace("- 1\n", "- 1 + 0\n"),
        ),
    ],
    ["a hundred thousand lines", () => block("x = 1\n".repeat(100_000))],
  ])("is 0 for %s", async (_, answer) => {
    expect(rewardOf(await play((heard) => answer(programOf(heard))))).toMatchObject({
      components: { tests: 0, size: 0 },
      value: 0,
    });
  });

  it("is partial for a partial repair, and falls for newly broken tests", async () => {
    // The bug fails two of the four hidden tests. The reply 7123.0 passes one of them, and so does 2.4.
    const half = block("def half_up(x):\n    return {0.5: 1, 1.5: 2, 2.4: 2, -0.5: 0, 7123.0: 7123}.get(x)");
    const broken = block("def half_up(x):\n    return {-0.5: 0, 7124.5: 7125, 2.4: 2}.get(x)");
    const [some, less] = [rewardOf(await play(() => half)), rewardOf(await play(() => broken))];
    expect(some.value).toBeGreaterThan(0);
    expect(some.value).toBeLessThan(0.9);
    expect(less.value).toBeLessThan(0.9);
    expect(some.components.size).toBe(0);
  });
});

describe("several turns", () => {
  it("end with a repair that passes", async () => {
    const played = await play((heard, _, turn) => (turn === 0 ? block(programOf(heard)) : right), { maxTurns: 3 });
    expect(played.episode.turns).toBe(2);
    expect(rewardOf(played).value).toBe(1);
  });

  it.each([
    ["level_feedback", ["Definition of half_up: ok", "half_up(0.5) gave 0, expected 1"]],
    ["level_passed", ["Visible tests: 0 of 2 passed."]],
    ["passed", ["Not every level passed."]],
    ["plain", []],
  ] as const)("in mode %s show what they should, and nothing of a hidden test", async (mode, wanted) => {
    const { heard } = await play(() => block(header + real.buggy_solution), { maxTurns: 2, mode, sandboxSlice: "all" });
    for (const text of wanted) expect(heard[1]!.text).toContain(text);
    expect(heard[1]!.text).not.toMatch(/712|2\.4/);
    if (mode === "plain") expect(heard[1]!.text).not.toMatch(/Syntax|tests/);
    expect(heard[1]!.text).toContain("Repair the program");
  });

  it("show every test if shareTests is set", async () => {
    const { heard } = await play(() => right, { shareTests: true });
    expect(heard[0]!.text).toContain("half_up(7124.5) == 7125");
  });
});

describe("a finder and a fixer", () => {
  const line = header.split("\n").length;
  it("act one after the other, the fixer reads the finder's message, and both get the same reward", async () => {
    const played = await play((_, agent) => (agent === "finder" ? `The sign.\nLine: ${line}` : right), {
      finder: true,
    });
    expect(played.heard.map(({ agent }) => agent)).toEqual(["finder", "fixer"]);
    expect(played.heard[0]!.text).toContain(`  ${line} |     doubled = 2 * x - 1`);
    expect(played.heard[1]!.text).toContain(`> The sign.\n> Line: ${line}`);
    const wanted = { value: 1, components: { tests: 0.8, size: 0.1, line: 0.1 } };
    expect(rewardOf(played, "fixer")).toMatchObject(wanted);
    expect(rewardOf(played, "finder")).toMatchObject(wanted);
  });

  it.each([
    ["the wrong line", "Line: 1", 0],
    ["no line", "I see nothing.", 0],
    ["the last of several", `Line: ${line}, or line 2`, 0],
    ["a line that there is not", "Line: 99999", 0],
    ["in other words", `It is on **Line ${line}**.`, 0.1],
  ])("%s", async (_, finding, earned) => {
    const played = await play((_heard, agent) => (agent === "finder" ? finding : right), { finder: true });
    expect(rewardOf(played, "finder").components.line).toBe(earned);
    expect(rewardOf(played, "fixer").value).toBeCloseTo(0.9 + earned, 9);
  });

  it("continue with the fixer alone", async () => {
    const played = await play((_heard, agent, turn) => (agent === "finder" ? "Line: 6" : turn < 2 ? "" : right), {
      finder: true,
      maxTurns: 2,
    });
    expect(played.heard.map(({ agent }) => agent)).toEqual(["finder", "fixer", "fixer"]);
    expect(rewardOf(played, "fixer").value).toBeGreaterThan(0.89);
  });
});

describe("the environment", () => {
  it.each([
    {},
    { maxTurns: 2, file: "seeded.jsonl" },
    { finder: true },
  ])("passes the conformance suite: %j", async (options) => {
    expect((await checkEnvironment(open(options), { split: "test", tasks: 1, episodes: 3 })).problems).toEqual([]);
  });

  it("demonstrates the correct program with one agent", async () => {
    const environment = open({ file: "seeded.jsonl" });
    const task = await (await environment.tasks("test")).get(0);
    const policies = demonstrationPolicy({ environment });
    expect(rewardOf({ episode: await rolloutEpisode({ environment, task, policies, seed: 5 }) }).value).toBe(1);
    expect(open({ finder: true }).demonstrate).toBeUndefined();
  });

  it("rejects rows without a function to change, and real bugs that fail no test", async () => {
    await expect(open({ file: "unsolved.jsonl" }).tasks("test")).rejects.toMatchObject({ code: "data.malformed" });
    const { episode } = await play(() => right, { file: "right.jsonl" });
    expect(episode.error).toMatchObject({ code: "data.malformed", message: expect.stringContaining("Own/1") });
  });

  it("is registered", () => {
    expect(environments.create("bug-fix", { finder: true, maxTurns: 2 }).spec).toMatchObject({
      id: "bug-fix",
      agents: ["finder", "fixer"],
      maxTurns: 3,
      rewardRange: [0, 1],
    });
    for (const wrong of [{ mutations: 0 }, { mutations: 4 }, { dataset: "humaneval-js" }, { finde: true }]) {
      expect(() => environments.create("bug-fix", wrong)).toThrow(expect.objectContaining({ code: "config.invalid" }));
    }
  });
});
