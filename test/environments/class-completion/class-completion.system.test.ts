import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { classCompletionEnvironment } from "../../../environments/class-completion/class-completion.ts";
import type { ClassCompletionOptions } from "../../../environments/class-completion/class-completion-options.ts";
import { classTask } from "../../../environments/class-completion/class-task.ts";
import { environments } from "../../../environments/index.ts";
import { readBenchmarkRows } from "../../../environments/shared/code-benchmarks/benchmark-row.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { demonstrationPolicy, rolloutEpisode, scriptedPolicy, textOf } from "../../../src/index.ts";
import { benchmarkFile, noBenchmarkData } from "../../sandbox/benchmark-data.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const method = (name: string, tests: readonly string[]): string =>
  `class Test${name}(unittest.TestCase):\n${tests.map((body, i) => `    def test_${name}_${i}(self):\n        ${body}\n`).join("\n")}\n`;
const row = {
  task_id: "Own_1",
  class_name: "Box",
  skeleton: `class Box:
    """
    A box of numbers.
    """

    def __init__(self):
        self.items = []

    def put(self, item):
        """
        Puts an item in.
        """

    def total(self):
        """
        The sum of all items.
        """

    def scaled(self, factor, shift):
        """
        The items, scaled and shifted.
        """
`,
  solution_code: `import math

class Box:
    def __init__(self):
        self.items = []

    def put(self, item):
        self.items.append(item)
        return self._count()

    def total(self):
        return math.fsum(self.items)

    def scaled(self, factor, shift):
        return [item * factor + shift for item in self.items]

    def _count(self):
        return len(self.items)
`,
  import_statement: ["import math"],
  test: `import unittest\n\n${[
    method("put", ["self.assertEqual(Box().put(3), 1)", "box = Box(); box.put(1); self.assertEqual(box.put(77), 2)"]),
    method("total", [
      "self.assertEqual(Box().total(), 0)",
      "box = Box(); box.items = [1, 41]; self.assertEqual(box.total(), 42)",
      "box = Box(); box.items = [5]; self.assertEqual(box.total(), 5)",
    ]),
    method("scaled", ["box = Box(); box.items = [1]; self.assertEqual(box.scaled(2, 99), [101])"]),
  ].join("\n")}`,
};

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "own.json"), JSON.stringify([row]));
});

function open(options: Partial<ClassCompletionOptions> = {}) {
  return classCompletionEnvironment({ path: join(folder, "own.json"), sandbox: pythonSandbox, ...options });
}

/** An episode in which each agent gives its answers in order, and the messages of each agent. */
async function play(
  answers: Readonly<Record<string, readonly string[]>>,
  options: Partial<ClassCompletionOptions> = {},
) {
  const environment = open(options);
  const task = await (await environment.tasks("test")).get(0);
  const heard: Record<string, string[]> = {};
  const policies = scriptedPolicy(({ agent, messages, episode: at }) => {
    heard[agent] ??= [];
    heard[agent].push(textOf(messages.at(-1)!));
    return answers[agent]?.[at!.turn] ?? "";
  });
  const episode = await rolloutEpisode({ environment, task, policies, seed: 1 });
  expect(episode.error).toBeUndefined();
  expect(episode.status).toBe("completed");
  const reward = (agent: string) => {
    const { reward: earned } = episode.agents[agent]!;
    if (earned.status === "unscored") throw new Error(earned.reason);
    return earned;
  };
  return { episode, heard, reward };
}

const block = (code: string): string => `Here:\n\`\`\`python\n${code}\n\`\`\``;
const put = "def put(self, item):\n    self.items.append(item)\n    return len(self.items)\n";
const total = "def total(self):\n    return sum(self.items)\n";
const scaled = "def scaled(self, factor, shift):\n    return [x * factor + shift for x in self.items]\n";

describe("one agent", () => {
  it("reads the class with its imports and the requested methods", async () => {
    const { heard } = await play({ agent: [block(put + total + scaled)] });
    expect(heard.agent![0]).toContain("import math\n\nclass Box:");
    expect(heard.agent![0]).toContain("Write the methods `put`, `total` and `scaled`. Answer");
    expect(heard.agent![0]).not.toMatch(/41|77|99/);
  });

  it.each<[string, string, Partial<Record<"syntax" | "methods" | "tests" | "overlap", number>>]>([
    [
      "everything for all methods",
      block(put + total + scaled),
      { syntax: 0.05, methods: 0.05, tests: 0.9, overlap: 0 },
    ],
    ["the class again", block(row.solution_code), { syntax: 0.05, methods: 0.05, tests: 0.9 }],
    // Each of the three test classes has the same weight. Its number of tests does not matter.
    ["a part for a part", block(total), { syntax: 0.05, methods: 0.05 / 3, tests: 0.3 }],
    [
      "only that it is there, for what is wrong",
      block(put.replace("len(self.items)", "0")),
      { methods: 0.05 / 3, tests: 0 },
    ],
    ["nothing for nothing", "", { syntax: 0, methods: 0, tests: 0, overlap: 0 }],
    [
      "nothing for stubs",
      block("def put(self, item): pass\ndef total(self): ..."),
      { syntax: 0, methods: 0, tests: 0 },
    ],
    ["nothing for what does not parse", block(`${put}def total(self:`), { syntax: 0, methods: 0, tests: 0 }],
    [
      "no test for leaving early",
      block("def put(self, item):\n    import os\n    os._exit(0)"),
      { methods: 0.05 / 3, tests: 0 },
    ],
    [
      "no test for what looks equal to all",
      block("def put(self, item):\n    class E(int):\n        def __eq__(self, other): return True\n    return E()"),
      { tests: 0 },
    ],
    [
      "no test for an import that there is not",
      block(`import nosuch\n${put}${total}${scaled}`),
      { methods: 0.05, tests: 0 },
    ],
    [
      "all for one of two replies' blocks",
      `${block("def put(self): pass")}\n${block(put + total + scaled)}`,
      { tests: 0.9 },
    ],
  ])("gets %s", async (_, answer, wanted) => {
    const { reward } = await play({ agent: [answer] });
    const { components, value } = reward("agent");
    for (const [name, earned] of Object.entries(wanted)) expect(components[name], name).toBeCloseTo(earned, 9);
    expect(value).toBeCloseTo(
      Object.values(components).reduce((sum, part) => sum + part, 0),
      9,
    );
  });

  it("gets the reward of CoMLRL with its preset", async () => {
    const all = await play({ agent: [block(put + total + scaled)] }, { reward: "comlrl" });
    expect(all.reward("agent")).toMatchObject({ value: 6, components: { methods: 2, tests: 4, overlap: 0 } });
    const some = await play({ agent: [block(total)] }, { reward: "comlrl" });
    expect(some.reward("agent").components.tests).toBeCloseTo((4 * 2) / 4, 9);
  });
});

describe("several agents", () => {
  it("have their own methods, do not see each other's, and get the same reward", async () => {
    const played = await play({ "agent-1": [block(put + scaled)], "agent-2": [block(total)] }, { agents: 2 });
    expect(played.heard["agent-1"]![0]).toContain("Write the methods `put` and `scaled`. Other agents");
    expect(played.heard["agent-2"]![0]).toContain("Write the method `total`. Other agents");
    for (const agent of ["agent-1", "agent-2"]) expect(played.reward(agent).value).toBe(1);
  });

  it("lose reward for methods of others, which are not used", async () => {
    const wrong = "def total(self):\n    return -1\n";
    const played = await play({ "agent-1": [block(put + scaled + wrong)], "agent-2": [block(total)] }, { agents: 2 });
    expect(played.reward("agent-2").components.overlap).toBeCloseTo(-0.1 / 3, 9);
    expect(played.reward("agent-1").components.tests).toBeCloseTo(0.9, 9);
    const comlrl = await play(
      { "agent-1": [block(total)], "agent-2": [block(put + scaled)] },
      { agents: 2, reward: "comlrl" },
    );
    expect(comlrl.reward("agent-1")).toMatchObject({ value: -1, components: { methods: 0, tests: 0, overlap: -1 } });
  });

  it("do not fail because of one reply that does not parse", async () => {
    const { reward } = await play({ "agent-1": [block(put + scaled)], "agent-2": ["(".repeat(9_999)] }, { agents: 2 });
    expect(reward("agent-1").components).toMatchObject({ syntax: 0.025, tests: expect.closeTo(0.6, 9) });
    expect(reward("agent-2").value).toBe(reward("agent-1").value);
  });

  it("may outnumber the methods, and then some do not act", async () => {
    const played = await play(
      { "agent-1": [block(put)], "agent-2": [block(total)], "agent-3": [block(scaled)] },
      { agents: 5 },
    );
    expect(Object.keys(played.heard)).toEqual(["agent-1", "agent-2", "agent-3"]);
    expect(played.reward("agent-3").value).toBe(1);
    expect(played.episode.agents["agent-5"]?.turns ?? []).toEqual([]);
  });

  it("may get methods by their parameters", async () => {
    const { heard } = await play({}, { agents: 2, split: "parameters" });
    expect(heard["agent-1"]![0]).toContain("the method `total`.");
    expect(heard["agent-2"]![0]).toContain("the methods `put` and `scaled`.");
  });
});

describe("several turns", () => {
  const wrong = block("def total(self):\n    return -1\n");
  it("end when all tests pass", async () => {
    const played = await play(
      { "agent-1": [block(put + scaled), block(put + scaled)], "agent-2": [wrong, block(total), "never asked"] },
      { agents: 2, maxTurns: 3 },
    );
    expect(played.episode.turns).toBe(2);
    expect(played.reward("agent-2").value).toBe(1);
  });

  it("are all rewarded with rewardEveryTurn, also if a reply is not Python", async () => {
    const played = await play(
      {
        "agent-1": [block(put + scaled), block(put + scaled), block("def (")],
        "agent-2": [wrong, block(total), wrong],
      },
      { agents: 2, maxTurns: 3, rewardEveryTurn: true },
    );
    const values = played.episode.agents["agent-2"]!.turns.map(({ reward }) =>
      reward?.status === "scored" ? reward.value : undefined,
    );
    expect(values).toHaveLength(3);
    expect(values[1]).toBe(1);
    for (const value of [values[0]!, values[2]!]) expect(value).toBeLessThan(1);
    expect(played.reward("agent-2").value).toBeCloseTo(values[0]! + 1 + values[2]!, 9);
  });

  it("show each agent its own reply, and the visible tests with their source", async () => {
    const { heard } = await play(
      { "agent-1": [block(`${put}def scaled(self, factor, shift):\n    break\n${total}`)], "agent-2": [wrong] },
      { agents: 2, maxTurns: 2, sandboxSlice: "all" },
    );
    const [first, second] = [heard["agent-1"]![1]!, heard["agent-2"]![1]!];
    expect(first).toContain("Definition of put: ok");
    expect(first).toContain("Definition of scaled: not ok");
    expect(first).toContain("`scaled` is left out: SyntaxError: 'break' outside loop");
    expect(first).toContain("Other agents write total. Leave that out.");
    expect(first).not.toContain("-1\n");
    expect(second).toContain("self.assertEqual(Box().total(), 0)");
    expect(second).toContain("-1 != 0");
    expect(second).not.toContain("Definition of put");
    for (const text of [first, second]) expect(text).not.toMatch(/41|77|99/);
  });

  it("show an agent whose methods load that another agent's methods do not", async () => {
    const unloaded = block("import nothing_of_this_name\n\ndef total(self):\n    return 1\n");
    const { heard } = await play(
      { "agent-1": [block(put + scaled)], "agent-2": [unloaded] },
      { agents: 2, maxTurns: 2, sandboxSlice: "all" },
    );
    const [first, second] = [heard["agent-1"]![1]!, heard["agent-2"]![1]!];
    expect(first).toContain("Syntax: ok\nDefinition of put: ok\nDefinition of scaled: ok");
    expect(first).toContain("because of another agent's code");
    expect(first).not.toContain("nothing_of_this_name");
    expect(second).toContain(
      "Definition of total: not ok (ModuleNotFoundError: No module named 'nothing_of_this_name')",
    );
    for (const text of [first, second]) expect(text).not.toContain("Failed:");
  });

  it.each(["level_passed", "passed", "plain"] as const)("show less in the mode %s", async (mode) => {
    const { heard } = await play({ agent: [wrong] }, { maxTurns: 2, mode, sandboxSlice: "all" });
    const text = heard.agent![1]!;
    expect(text).not.toMatch(/assertEqual|!=|41|77|99/);
    if (mode === "level_passed") expect(text).toContain("Definition of put: not ok");
    if (mode === "passed") expect(text).toContain("Not every level passed.");
    if (mode === "plain") expect(text).not.toMatch(/Syntax|tests/);
    expect(text).toContain("Revise the methods");
  });

  it("show the line at which a reply does not parse", async () => {
    const { heard } = await play({ agent: [block("def put(self, item):\n    return (\n")] }, { maxTurns: 2 });
    expect(heard.agent![1]).toMatch(/Syntax: not ok \(SyntaxError: .*, line 2\)/);
  });
});

describe("the environment", () => {
  it.each([
    { maxTurns: 2 },
    { agents: 3, reward: "comlrl" as const },
  ])("passes the conformance suite: %j", async (options) => {
    expect((await checkEnvironment(open(options), { split: "test", tasks: 1, episodes: 3 })).problems).toEqual([]);
  });

  it.each([1, 2, 3])("demonstrates the benchmark's own solution with %d agents", async (agents) => {
    const environment = open({ agents, split: "shuffled" });
    const task = await (await environment.tasks("test")).get(0);
    const policies = demonstrationPolicy({ environment });
    const { agents: played } = await rolloutEpisode({ environment, task, policies, seed: 5 });
    for (const { reward } of Object.values(played)) expect(reward).toMatchObject({ value: 1 });
  });

  it("rejects rows without a method to write, and unknown options", async () => {
    expect(() => classTask({ ...row, skeleton: row.solution_code })).toThrow(
      expect.objectContaining({ code: "data.malformed", message: expect.stringContaining("Own_1") }),
    );
    expect(() => classTask({ ...row, class_name: "Crate" })).toThrow(
      expect.objectContaining({ code: "data.malformed" }),
    );
    for (const wrong of [{ agents: 0 }, { agents: 9 }, { split: "random" }, { mode: "expert_edits" }]) {
      expect(() => environments.create("class-completion", wrong)).toThrow(
        expect.objectContaining({ code: "config.invalid" }),
      );
    }
    expect(environments.create("class-completion", { agents: 2, reward: "comlrl" }).spec).toMatchObject({
      agents: ["agent-1", "agent-2"],
      rewardRange: [-1, 6],
    });
  });
});

describe.skipIf(noBenchmarkData)("ClassEval", () => {
  const path = benchmarkFile("ClassEval_data.json");

  it("is read completely: every class has requested methods, and every test its source", async () => {
    const tasks = (await readBenchmarkRows(path)).map(classTask);
    expect(tasks).toHaveLength(100);
    expect(tasks.reduce((sum, { methods }) => sum + methods.length, 0)).toBe(410);
    for (const { problem, methods, solution, tests } of tasks) {
      const own = new Set(solution.map(({ name }) => name));
      for (const { name } of methods) expect(own, `${problem.id} ${name}`).toContain(name);
      for (const { text } of tests) expect(text, problem.id).toContain("def test");
      const visible = problem.suite.tests.filter((one) => one.visible).length;
      expect(visible).toBeGreaterThan(0);
      expect(visible).toBeLessThanOrEqual(problem.suite.tests.length / 3);
    }
  });
});
