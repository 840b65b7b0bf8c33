import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import type { CodeOptions } from "../../../environments/code/code-options.ts";
import { EnvironmentPool } from "../../../src/entry-points/rollouts.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { rolloutEpisode, scriptedPolicy, textOf } from "../../../src/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

/**
 * Helpers in the prompt, an import, and a function without arguments, which early systems of this kind handled wrongly.
 */
const rows = [
  {
    id: "squares",
    prompt:
      'from typing import List\n\ndef half(x: int) -> int:\n    return x // 2\n\ndef squares(n: int) -> List[int]:\n    """Squares below n."""\n',
    entryPoint: "squares",
    tests: [0, 1, 2, 5, 10].map(
      (n) => `assert squares(${n}) == ${JSON.stringify(Array.from({ length: n }, (_, i) => i * i))}`,
    ),
  },
  {
    id: "answer",
    prompt: 'def answer() -> int:\n    """The answer."""\n',
    entryPoint: "answer",
    tests: ["assert answer() == 42", "assert answer() + 1 == 43"],
  },
];
const script = {
  prompt: "// Squares below n.\nfunction squares(n) {\n",
  entryPoint: "squares",
  tests: ["assert.deepEqual(squares(1), [0]);", "assert.deepEqual(squares(3), [0, 1, 4])"],
};

let folder = "";
const pools = new Map<string, EnvironmentPool>();
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "rows.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
  await writeFile(join(folder, "script.jsonl"), JSON.stringify(script));
});
afterAll(async () => {
  for (const pool of pools.values()) await pool.close();
});

function open(options: Partial<CodeOptions> = {}) {
  const python = { dataset: "jsonl", path: join(folder, "rows.jsonl"), agents: 2, sandbox: pythonSandbox } as const;
  return codeEnvironment({ ...python, ...options });
}

type Answer = { readonly aux: string; readonly main: string };

async function play(answers: readonly Answer[], options: Partial<CodeOptions> & { index?: number } = {}) {
  const { index = 0, ...rest } = options;
  const environment = open({ maxTurns: answers.length, ...rest });
  const key = JSON.stringify({ ...rest, turns: answers.length });
  const pool = pools.get(key) ?? new EnvironmentPool(environment);
  pools.set(key, pool as EnvironmentPool);
  const task = await (await environment.tasks("train")).get(index);
  const heard: Record<string, string[]> = { aux: [], main: [] };
  const policies = scriptedPolicy(({ agent, messages, episode }) => {
    heard[agent]!.push(messages.map(textOf).join("\n---\n"));
    return answers[episode!.turn]![agent as keyof Answer];
  });
  const episode = await rolloutEpisode({
    environment: pool as typeof environment & EnvironmentPool<never>,
    task: task as never,
    policies,
    seed: 1,
  });
  expect(episode.error).toBeUndefined();
  expect(episode.status).toBe("completed");
  expect(episode.agents.aux!.reward).toEqual(episode.agents.main!.reward);
  const { reward } = episode.agents.main!;
  if (reward.status !== "scored") throw new Error(reward.reason);
  return { episode, reward, heard };
}

const py = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const aux = py("def aux(x):\n    return x * x");
const used = py("def squares(n):\n    return [aux(i) for i in range(n)]");
const alone = py("def squares(n):\n    return [i * i for i in range(n)]");
const ignoring = py("def squares(n):\n    _ = aux(n)\n    return [i * i for i in range(n)]");
const wrapping = {
  aux: py("def aux(n):\n    return [i * i for i in range(n)]"),
  main: py("def squares(n):\n    return aux(n)"),
};
/** Right for 0, 1 and 2, which are two of the four hidden tests. */
const half = py("def squares(n):\n    return [aux(i) for i in range(min(n, 2))]");
const other = py("def other(n):\n    return n");
const broken = py("def squares(n:\n    return n");

describe("the reward of two agents", () => {
  it.each<[string, CodeOptions["reward"], Answer, Record<string, number>]>([
    [
      "all",
      "correctness",
      { aux, main: used },
      { syntax: 0.05, definition: 0.05, tests: 0.8, auxUsed: 0.05, noWrapper: 0.05 },
    ],
    ["tests without help", "correctness", { aux, main: alone }, { tests: 0.8, auxUsed: 0, noWrapper: 0 }],
    ["tests, aux ignored", "correctness", { aux, main: ignoring }, { tests: 0.8, auxUsed: 0, noWrapper: 0 }],
    ["tests, aux wrapped", "correctness", wrapping, { tests: 0.8, auxUsed: 0.05, noWrapper: 0 }],
    [
      "half of the tests, and nothing for help",
      "correctness",
      { aux, main: half },
      { tests: 0.4, auxUsed: 0, noWrapper: 0 },
    ],
    ["no test without aux", "correctness", { aux: other, main: used }, { definition: 0.05, tests: 0, auxUsed: 0 }],
    [
      "no definition without main's function",
      "correctness",
      { aux, main: other },
      { syntax: 0.05, definition: 0, tests: 0 },
    ],
    ["0 if main does not parse", "correctness", { aux, main: broken }, { syntax: 0, definition: 0, tests: 0 }],
    ["0 if aux does not parse", "correctness", { aux: broken, main: alone }, { syntax: 0, definition: 0, tests: 0 }],
    [
      "4.0",
      "comlrl",
      { aux, main: used },
      { auxDefinition: 0.4, mainDefinition: 0.6, syntax: 0.5, tests: 1, auxCalled: 0.5, noWrapper: 1, auxIgnored: 0 },
    ],
    ["2.5 without help", "comlrl", { aux, main: alone }, { tests: 1, auxCalled: 0, noWrapper: 0, auxIgnored: 0 }],
    [
      "3.5 if aux is ignored",
      "comlrl",
      { aux, main: ignoring },
      { tests: 1, auxCalled: 0.5, noWrapper: 1, auxIgnored: -0.5 },
    ],
    ["3.0 if aux is wrapped", "comlrl", wrapping, { tests: 1, auxCalled: 0.5, noWrapper: 0, auxIgnored: 0 }],
    [
      "2.1 without aux, which is optional",
      "comlrl",
      { aux: other, main: alone },
      { auxDefinition: 0, mainDefinition: 0.6, syntax: 0.5, tests: 1, auxCalled: 0 },
    ],
    [
      "1.5 with no test",
      "comlrl",
      { aux, main: py("def squares(n):\n    return aux(n)") },
      { auxDefinition: 0.4, mainDefinition: 0.6, syntax: 0.5, tests: 0, auxCalled: 0, noWrapper: 0 },
    ],
    [
      "0.4 without main's function",
      "comlrl",
      { aux, main: other },
      { auxDefinition: 0.4, mainDefinition: 0, syntax: 0, tests: 0 },
    ],
    [
      "0.4 if main's function returns nothing",
      "comlrl",
      { aux, main: py("def squares(n):\n    print(n)") },
      { auxDefinition: 0.4, mainDefinition: 0, syntax: 0 },
    ],
    [
      "0.6 if aux does not parse",
      "comlrl",
      { aux: broken, main: alone },
      { auxDefinition: 0, mainDefinition: 0.6, syntax: 0, tests: 0 },
    ],
    [
      "no bonus for a call in a comment",
      "comlrl",
      { aux, main: py("def squares(n):\n    # aux(n)\n    return [i * i for i in range(n)]") },
      { tests: 1, auxCalled: 0 },
    ],
    [
      "no bonus for main's own aux",
      "comlrl",
      { aux, main: py("def aux(x):\n    return x * x\ndef squares(n):\n    return [aux(i) for i in range(n)]") },
      { tests: 1, auxCalled: 0 },
    ],
    ["2", "mrlm", { aux, main: used }, { tests: 1, bonus: 1, error: 0 }],
    [
      "less for raising",
      "mrlm",
      { aux: py("def aux(x):\n    return 1 // 0"), main: used },
      { tests: 0, bonus: 0, error: -0.5 },
    ],
  ])("%s (%s)", async (_, reward, answer, components) => {
    const played = await play([answer], { reward });
    for (const [name, value] of Object.entries(components)) {
      expect(played.reward.components[name], name).toBeCloseTo(value, 9);
    }
    const sum = Object.values(played.reward.components).reduce((total, value) => total + value, 0);
    expect(played.reward.value).toBeCloseTo(sum, 9);
  });

  it("has the prompt's imports and definitions, and each agent's own imports", async () => {
    const answer = {
      aux: py(
        "from __future__ import annotations\nimport math\n\ndef aux(x: Missing) -> int:\n    return math.floor(half(2 * x) ** 2)",
      ),
      main: py(
        "from __future__ import annotations\n\ndef squares(n: List[Missing]):\n    return list(map(aux, range(n)))",
      ),
    };
    expect((await play([answer])).reward.value).toBeCloseTo(1, 9);
  });

  it("works for a function without arguments", async () => {
    const answer = { aux: py("def aux():\n    return 6"), main: py("def answer():\n    return 7 * aux()") };
    const { reward, heard } = await play([answer], { index: 1 });
    expect(reward.value).toBeCloseTo(1, 9);
    expect(heard.aux![0]).toContain("def answer() -> int:");
    expect(heard.main![0]).toContain("def answer() -> int:");
  });

  it("works in JavaScript and in TypeScript", async () => {
    const path = join(folder, "script.jsonl");
    const js = (code: string): string => `\`\`\`js\n${code}\n\`\`\``;
    const answer = {
      aux: js("const aux = (x) => x * x;"),
      main: js("function squares(n) { return [...Array(n).keys()].map((i) => aux(i)); }"),
    };
    const options = { path, sandbox: "auto", reward: "comlrl" } as const;
    expect((await play([answer], { ...options, language: "javascript" })).reward.value).toBe(4);
    const typed = { ...answer, aux: "```ts\nconst aux = (x: number): number => x * x;\n```" };
    expect((await play([typed], { ...options, language: "typescript" })).reward.value).toBe(4);
    const untyped = await play([typed], { ...options, language: "javascript" });
    expect(untyped.reward.components).toMatchObject({ auxDefinition: 0, syntax: 0 });
  });
});

describe("the messages of the agents", () => {
  it("describe each agent's role and never contain the other's code", async () => {
    const { heard } = await play(
      [
        { aux, main: half },
        { aux: other, main: used },
        { aux, main: used },
      ],
      { sandboxSlice: "all" },
    );
    expect(heard.aux).toHaveLength(3);
    expect(heard.aux![0]).toMatch(/Squares below n[\s\S]*Do not write `squares`/);
    expect(heard.main![0]).toMatch(/Squares below n[\s\S]*Do not define `aux`/);
    expect(heard.main!.join()).not.toContain("return x * x");
    expect(heard.aux!.join()).not.toContain("min(n, 2)");
    expect(heard.main!.at(-1)).toContain("range(n)");
  });

  it.each<[string, Answer, { main: string[]; aux: string[]; never?: string[] }]>([
    ["missing", { aux, main: alone }, { main: ["`squares` does not call `aux`"], aux: ["Definition of aux: ok"] }],
    ["ignored", { aux, main: ignoring }, { main: ["calls `aux`, but ignores what it returns"], aux: [] }],
    ["wrapped", wrapping, { main: ["only wraps `aux`"], aux: [] }],
    [
      "used",
      { aux, main: half },
      {
        main: ["calls `aux` and uses what it returns", "Not every hidden test passed."],
        aux: ["Not every hidden test passed."],
      },
    ],
    [
      "undefined",
      { aux: other, main: used },
      { main: ["Definition of aux: not ok", "Definition of squares: ok"], aux: ["Definition of aux: not ok"] },
    ],
    ["broken", { aux: broken, main: alone }, { main: ["Syntax: ok"], aux: [" line 1", "column", "Syntax: not ok ("] }],
  ])("level_feedback reports that aux is %s", async (_, answer, wanted) => {
    const { heard } = await play([answer, { aux, main: used }]);
    for (const agent of ["main", "aux"] as const) {
      for (const text of wanted[agent]) expect(heard[agent]![1]).toContain(text);
    }
    expect(heard.aux![1]).not.toMatch(/calls `aux`|does not call/);
  });

  const raising = py("import nothing_of_this_name\n\ndef squares(n):\n    return n");
  const outside = py("def squares(n):\n    return n\nreturn 1");
  const raisingAux = py("def aux(x):\n    return x\n\nnowhere + 1");
  const calling = py("TABLE = [aux(i) for i in range(3)]\n\ndef squares(n):\n    return TABLE[:n]");
  it.each<[string, Answer, Record<"aux" | "main", { has: string[]; hasNot: string[] }>]>([
    [
      "if main does not parse",
      { aux, main: broken },
      {
        aux: {
          has: ["Syntax: ok", "Definition of aux: ok", "because of another agent's code"],
          hasNot: ["SyntaxError", "Failed:"],
        },
        main: {
          has: ["Syntax: not ok (", "Definition of aux: ok", "Definition of squares: not ok"],
          hasNot: ["another agent", "call `aux`."],
        },
      },
    ],
    [
      "if aux does not parse",
      { aux: broken, main: used },
      {
        aux: {
          has: ["Syntax: not ok (", "Definition of aux: not ok", "Definition of squares: ok"],
          hasNot: ["another agent"],
        },
        main: {
          has: [
            "Syntax: ok",
            "Definition of aux: not ok",
            "Definition of squares: ok",
            "because of another agent's code",
          ],
          hasNot: ["Failed:"],
        },
      },
    ],
    [
      "if main raises while it is loaded",
      { aux, main: raising },
      {
        aux: { has: ["Definition of aux: ok", "because of another agent's code"], hasNot: ["nothing_of_this_name"] },
        main: {
          has: ["Definition of aux: ok", "Definition of squares: not ok (ModuleNotFoundError: "],
          hasNot: ["another agent"],
        },
      },
    ],
    [
      "if main does not compile although it parses",
      { aux, main: outside },
      {
        aux: { has: ["Syntax: ok", "Definition of aux: ok"], hasNot: ["outside function"] },
        main: { has: ["Syntax: not ok ('return' outside function, line 3"], hasNot: ["another agent"] },
      },
    ],
    [
      "if aux raises while it is loaded",
      { aux: raisingAux, main: calling },
      {
        aux: {
          has: ["Definition of aux: not ok (NameError: name 'nowhere' is not defined, line 4)"],
          hasNot: ["another agent"],
        },
        main: { has: ["Definition of aux: not ok", "Definition of squares: ok", "another agent"], hasNot: ["nowhere"] },
      },
    ],
    [
      "if main uses what aux returns while it is loaded, and aux does not parse",
      { aux: broken, main: py("TABLE = [aux(i) + 1 for i in range(3)]\n\ndef squares(n):\n    return TABLE[:n]") },
      {
        aux: { has: ["Syntax: not ok (", "Definition of squares: ok"], hasNot: ["another agent"] },
        main: { has: ["Definition of squares: ok", "because of another agent's code"], hasNot: ["Error"] },
      },
    ],
  ])("level_feedback reports to each agent its own definition %s", async (_, answer, wanted) => {
    const { heard } = await play([answer, { aux, main: used }]);
    for (const agent of ["main", "aux"] as const) {
      for (const text of wanted[agent].has) expect(heard[agent]![1]).toContain(text);
      for (const text of wanted[agent].hasNot) expect(heard[agent]![1]).not.toContain(text);
    }
  });

  it.each(["javascript", "typescript"] as const)("level_feedback does so in %s", async (language) => {
    const options = { path: join(folder, "script.jsonl"), language, sandbox: "auto" } as const;
    const block = (code: string): string => `\`\`\`${language}\n${code}\n\`\`\``;
    const helper = block("const aux = (x) => x * x;");
    const right = {
      aux: helper,
      main: block("function squares(n) { return [...Array(n).keys()].map((i) => aux(i)); }"),
    };
    const second = async (answer: Answer) => {
      const { heard } = await play([answer, right], options);
      return { aux: heard.aux![1]!, main: heard.main![1]! };
    };
    const unparsed = await second({ aux: helper, main: block("function squares(n { return n; }") });
    expect(unparsed.aux).toContain("Definition of aux: ok");
    expect(unparsed.main).toMatch(/Syntax: not ok \([\s\S]*Definition of aux: ok\nDefinition of squares: not ok/);
    const raised = await second({ aux: helper, main: block("nowhere();\nfunction squares(n) { return n; }") });
    expect(raised.aux).toContain("Definition of aux: ok");
    expect(raised.main).toContain("Definition of squares: not ok (ReferenceError: nowhere is not defined, line 1)");
    const using = await second({
      aux: block("const aux = (x => x;"),
      main: block("const table = [aux(1) + 1];\nfunction squares(n) { return table; }"),
    });
    expect(using.main).toContain("Definition of squares: ok\nThe whole program does not load because of another agent");
    const clash = await second({
      aux: block("const size = 1;\nconst aux = (x) => x * size;"),
      main: block("const size = 2;\nfunction squares(n) { return [...Array(n).keys()].map((i) => aux(i)); }"),
    });
    for (const text of [clash.aux, clash.main]) {
      expect(text).toContain("Syntax: ok\nDefinition of aux: ok");
      expect(text).toContain("does not load together with another agent's code");
      expect(text).toContain("size");
    }
    expect(clash.main).toContain("Definition of squares: ok");
  });

  it("level_passed reports in one line that the program does not load because of another agent", async () => {
    const { heard } = await play(
      [
        { aux, main: broken },
        { aux, main: used },
      ],
      { mode: "level_passed" },
    );
    expect(heard.aux![1]).toContain(
      "Syntax: ok\nDefinition of aux: ok\nDefinition of squares: not ok\nWhole program: not ok\nVisible",
    );
    expect(heard.main![1]).toContain("Definition of squares: not ok\nVisible tests: 0 of 1 passed.\n\n");
  });

  it("level_passed reports the same in one line each", async () => {
    const { heard } = await play(
      [
        { aux, main: ignoring },
        { aux, main: used },
      ],
      { mode: "level_passed" },
    );
    expect(heard.main![1]).toContain("Use of aux: not ok");
    expect(heard.main![1]).not.toContain("ignores");
    expect(heard.main![1]).toContain("Visible tests: 1 of 1 passed.");
  });

  it("passed reports it even if only the use of aux is missing", async () => {
    const { heard } = await play(
      [
        { aux, main: ignoring },
        { aux, main: used },
      ],
      { mode: "passed" },
    );
    expect(heard.main![1]).toContain("Every test passed.");
  });

  it("are only the latest prompt with history: latest", async () => {
    const { heard } = await play(
      [
        { aux, main: half },
        { aux, main: used },
      ],
      { history: "latest", mode: "plain" },
    );
    expect(heard.main![1]).not.toContain("Squares below n");
    expect(heard.main![1]).toMatch(/Your code:[\s\S]*min\(n, 2\)[\s\S]*Revise `squares`/);
    expect(heard.aux![1]).toMatch(/Revise `aux`/);
  });
});

it("an episode ends with the answer that gets the maximum reward, and not before", async () => {
  const top = { aux, main: used };
  expect((await play([top, { aux, main: half }])).episode.turns).toBe(1);
  expect((await play([{ aux, main: alone }, top])).episode.turns).toBe(2);
  expect(
    (
      await play([
        { aux, main: alone },
        { aux, main: half },
      ])
    ).reward.components.tests,
  ).toBeCloseTo(0.4, 9);
});

it("every answer is rewarded with rewardEveryTurn, and none ends the episode", async () => {
  const top = { aux, main: used };
  const { episode } = await play([top, { aux, main: half }], { rewardEveryTurn: true });
  for (const agent of ["aux", "main"]) {
    const rewards = episode.agents[agent]!.turns.map(({ reward }) => reward);
    expect(rewards).toMatchObject([{ value: expect.closeTo(1, 9) }, { components: { tests: expect.closeTo(0.4, 9) } }]);
  }
});

it("passes the conformance suite", async () => {
  expect(
    (
      await checkEnvironment(open({ maxTurns: 2, reward: "comlrl", rewardEveryTurn: true }), {
        split: "train",
        tasks: 1,
        episodes: 3,
      })
    ).problems,
  ).toEqual([]);
  const path = join(folder, "script.jsonl");
  expect(
    (
      await checkEnvironment(open({ path, language: "javascript", sandbox: "auto" }), {
        split: "train",
        tasks: 1,
        episodes: 3,
      })
    ).problems,
  ).toEqual([]);
});

it("rejects a problem whose function is named aux", async () => {
  await writeFile(
    join(folder, "aux.jsonl"),
    JSON.stringify({ prompt: "Add one.", entryPoint: "aux", tests: ["assert aux(1) == 2"] }),
  );
  const environment = open({ path: join(folder, "aux.jsonl") });
  const task = await (await environment.tasks("train")).get(0);
  const episode = await rolloutEpisode({ environment, task, policies: scriptedPolicy([""]), seed: 1 });
  expect(episode).toMatchObject({ status: "failed", error: { code: "data.malformed" } });
});
