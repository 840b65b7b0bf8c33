import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import type { CodeOptions } from "../../../environments/code/code-options.ts";
import { environments } from "../../../environments/index.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import type { Episode } from "../../../src/index.ts";
import { rolloutEpisode, scriptedPolicy, textOf } from "../../../src/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const python = {
  task_id: "Own/0",
  prompt: 'import math\n\ndef half_up(x: float) -> int:\n    """Round half up."""\n',
  entry_point: "half_up",
  canonical_solution: "    return math.floor(x + 0.5)\n",
  test: `def check(candidate):
    assert candidate(0.5) == 1
    assert candidate(1.5) == 2
    assert candidate(2.4) == 2
    assert candidate(-0.5) == 0
    assert candidate(7123.0) == 7123
`,
};
const javascript = {
  name: "HumanEval_900_twice",
  language: "js",
  prompt: "// Twice x.\nfunction twice(x){\n",
  tests: `const assert = require('node:assert');


function test() {
  let candidate = twice;
  assert.deepEqual(candidate(1),2);
  assert.deepEqual(candidate(5),10);
}

test();`,
};

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "own.jsonl"), JSON.stringify(python));
  await writeFile(join(folder, "own-js.jsonl"), JSON.stringify(javascript));
});

function open(options: Partial<CodeOptions> = {}) {
  return codeEnvironment({ path: join(folder, "own.jsonl"), sandbox: pythonSandbox, ...options });
}

/** An episode, and the agent's feedback after its first answer. */
async function play(answers: readonly string[], options: Partial<CodeOptions> = {}) {
  const environment = open({ maxTurns: answers.length, ...options });
  const task = await (await environment.tasks("test")).get(0);
  const heard: string[] = [];
  const policies = scriptedPolicy(({ messages, episode }) => {
    const turn = episode!.turn;
    if (turn > 0) heard.push(textOf(messages.at(-1)!));
    return answers[turn]!;
  });
  const episode = await rolloutEpisode({ environment, task, policies, seed: 1 });
  return { episode, heard: heard.join("\n") };
}

function rewardOf({ episode }: { readonly episode: Episode }): unknown {
  expect(episode.status).toBe("completed");
  return episode.agents.agent!.reward;
}

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const right = block("def half_up(x):\n    return math.floor(x + 0.5)");
const truncating = block("def half_up(x):\n    return int(x)");

describe("the reward of a reply", () => {
  it.each([
    ["the maximum for a right answer, with the imports of the prompt", right, [0.05, 0.05, 0.9]],
    // The first of the five tests is visible. Of the other four, int() passes three.
    ["the share of hidden tests that pass", truncating, [0.05, 0.05, 0.675]],
    ["0 if it does not parse", block("def half_up(x:\n"), [0, 0, 0]],
    ["only the syntax component if the function is missing", block("def other(x): return 1"), [0.05, 0, 0]],
    ["without tests if every call raises", block("def half_up(x): return 1 / 0"), [0.05, 0.05, 0]],
    [
      "without tests for a value that claims to be equal",
      block("class E(int):\n def __eq__(s, o): return True\ndef half_up(x): return E(5)"),
      [0.05, 0.05, 0],
    ],
    ["without tests for code that exits early", block("import sys\ndef half_up(x): sys.exit(0)"), [0.05, 0.05, 0]],
  ])("are %s", async (_, answer, [syntax, definition, tests]) => {
    expect(rewardOf(await play([answer]))).toMatchObject({
      status: "scored",
      components: { syntax, definition, tests: expect.closeTo(tests!, 9) },
    });
  });

  it("has no tests if the code runs out of processor time", async () => {
    const played = await play([block("def half_up(x):\n    while True: pass")], { cpuSeconds: 0.3 });
    expect(rewardOf(played)).toMatchObject({ components: { definition: 0.05, tests: 0 } });
  });

  it("is the maximum for code that is slow but within the limit", async () => {
    const slow = block(
      "import time\ndef half_up(x):\n    end = time.process_time() + 0.6\n    while time.process_time() < end: pass\n    return math.floor(x + 0.5)",
    );
    expect(rewardOf(await play([slow]))).toMatchObject({ value: 1 });
    expect(rewardOf(await play([slow], { cpuSeconds: 0.1 }))).not.toMatchObject({ value: 1 });
  });

  it("is MRLM's with its preset", async () => {
    expect(rewardOf(await play([right], { reward: "mrlm" }))).toMatchObject({ value: 2 });
    expect(rewardOf(await play([block("def half_up(x): return 1 / 0")], { reward: "mrlm" }))).toMatchObject({
      value: -0.5,
    });
    expect(rewardOf(await play([truncating], { reward: "mrlm" }))).toMatchObject({ value: 0.75 });
  });
});

describe("several turns", () => {
  it("end with the reply that passes, and reward only the last reply", async () => {
    const played = await play([truncating, right, "never asked"]);
    expect(played.episode.agents.agent!.turns).toHaveLength(2);
    expect(rewardOf(played)).toMatchObject({ value: 1 });
  });

  it.each(["level_feedback", "plain"] as const)("are all rewarded with rewardEveryTurn, with %s", async (mode) => {
    const { episode, heard } = await play([truncating, right, truncating], { mode, rewardEveryTurn: true });
    const rewards = episode.agents.agent!.turns.map(({ reward }) => reward);
    const worth = { syntax: 0.05, definition: 0.05 };
    expect(rewards).toMatchObject([
      { value: 0.775, components: { ...worth, tests: expect.closeTo(0.675, 9) } },
      { value: 1, components: { ...worth, tests: 0.9 } },
      { value: 0.775 },
    ]);
    expect(rewardOf({ episode })).toMatchObject({ value: expect.closeTo(2.55, 9) });
    expect(heard.includes("Visible tests: 0 of 1")).toBe(mode === "level_feedback");
    expect(heard.includes("Visible tests: 1 of 1")).toBe(mode === "level_feedback");
    expect(heard).not.toMatch(/7123|1\.5|2\.4/);
    expect(open({ maxTurns: 3, rewardEveryTurn: true, reward: "mrlm" }).spec.rewardRange).toEqual([-1.5, 6]);
  });

  it.each([
    ["level_feedback", ["half_up(0.5) gave 0, expected 1", "Visible tests: 0 of 1"]],
    ["level_passed", ["Syntax: ok", "Definition of half_up: ok", "Visible tests: 0 of 1"]],
    ["passed", ["Not every level passed."]],
    ["plain", ["Revise `half_up`"]],
  ] as const)("in mode %s show what they should, and nothing of a hidden test", async (mode, wanted) => {
    const { heard } = await play([truncating, truncating], { mode, sandboxSlice: "all" });
    for (const text of wanted) expect(heard).toContain(text);
    expect(heard).not.toMatch(/7123|1\.5|2\.4/);
    if (mode === "plain") expect(heard).not.toMatch(/Syntax|tests/);
  });

  it("show with level_feedback why code does not load, with the line", async () => {
    const { heard } = await play([block("def half_up(x):\n    return ("), right]);
    expect(heard).toMatch(/Syntax: not ok \(SyntaxError: .*line \d/);
  });

  it("repeat the problem and the code only if requested", async () => {
    const { heard: both } = await play([truncating, right], { originalPrompt: true });
    expect(both).toContain("Round half up.");
    expect(both).toContain("Your code:");
    const { heard: neither } = await play([truncating, right], { previousResponse: false });
    expect(neither).not.toContain("Round half up.");
    expect(neither).not.toContain("Your code:");
  });
});

it("passes the conformance suite", async () => {
  for (const rewardEveryTurn of [false, true]) {
    const environment = open({ maxTurns: 2, rewardEveryTurn });
    expect((await checkEnvironment(environment, { split: "test", tasks: 1, episodes: 3 })).problems).toEqual([]);
  }
});

it("runs JavaScript", async () => {
  const options = { dataset: "humaneval-js", path: join(folder, "own-js.jsonl"), sandbox: "auto" } as const;
  const good = await play(["```js\nfunction twice(x) { return 2 * x; }\n```"], options);
  expect(rewardOf(good)).toMatchObject({ value: 1 });
  const bad = await play(["```js\nfunction twice(x) { return 2; }\n```"], options);
  expect(rewardOf(bad)).toMatchObject({ value: expect.closeTo(0.1, 9) });
});

it("rejects a sandbox that does not support the language", async () => {
  const environment = open({ sandbox: "isolated-vm" });
  await expect(environment.create()).rejects.toMatchObject({ code: "sandbox.request" });
});

it("is registered", () => {
  expect(environments.create("code", { path: join(folder, "own.jsonl") }).spec).toMatchObject({
    id: "code",
    maxTurns: 1,
  });
  expect(() => environments.create("code", { mode: "level_feedbak" })).toThrow(
    expect.objectContaining({ code: "config.invalid" }),
  );
});
