import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Benchmark, FormatName } from "../../../../environments/shared/benchmarks/index.ts";
import { benchmarks } from "../../../../environments/shared/benchmarks/index.ts";
import type { EnvironmentDefinition } from "../../../../src/contract/environment.ts";
import { textOf } from "../../../../src/contract/message.ts";
import { demonstrationPolicy } from "../../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../../src/core/rollout/rollout-episode.ts";
import { evaluate } from "../../../../src/evaluation/evaluate.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";
import { sampleOf } from "../../../tier.ts";
import { pythonSandbox } from "../../python-sandbox.ts";

function named(name: string): Benchmark {
  return benchmarks.get(name);
}

async function file(rows: readonly unknown[], name = "rows.jsonl"): Promise<string> {
  const folder = temporaryFolder();
  const path = join(folder, name);
  await writeFile(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return path;
}

async function opened(name: string, path: string, format: FormatName): Promise<EnvironmentDefinition> {
  const benchmark = named(name);
  return benchmark.open({ set: { path }, format, shots: benchmark.formats[format]!.shots });
}

/** Returns the first prompt of a task, and its reward for `answer` or for the demonstration. */
async function play(environment: EnvironmentDefinition, options: { split: string; answer?: string }) {
  const task = await (await environment.tasks(options.split)).get(0);
  const { answer } = options;
  const policies = answer === undefined ? demonstrationPolicy({ environment }) : scriptedPolicy([answer]);
  const { agents } = await rolloutEpisode({ environment, policies, task, seed: 1 });
  const { nodes, reward, turns } = agents.agent!;
  return {
    prompt: textOf(nodes[0]!.message),
    reward,
    said: textOf(nodes[turns[0]!.node]!.message),
    messages: nodes.map(({ message }) => message.role),
  };
}

const gsm8kRows = (split: string) =>
  Array.from({ length: 8 }, (_, n) => ({
    question: `${split} ${n}: how much is ${n} + 1?`,
    answer: `It is ${n} + 1 = <<${n}+1=${n + 1}>>${n + 1}.\n#### ${n + 1}`,
  }));

async function gsm8kFiles(): Promise<string> {
  const folder = temporaryFolder();
  for (const split of ["train", "test"]) {
    const lines = gsm8kRows(split).map((row) => `${JSON.stringify(row)}\n`);
    await writeFile(join(folder, `${split}.jsonl`), lines.join(""));
  }
  return join(folder, "{split}.jsonl");
}

describe("benchmarks", () => {
  it("have a chat format and descriptions", () => {
    for (const { formats, description, maxTokens } of benchmarks.list()) {
      expect(formats.chat).toBeDefined();
      expect(description).toMatch(/\.$/);
      expect(maxTokens).toBeGreaterThan(0);
    }
  });

  it("reject other values of their fixed options", async () => {
    const open = named("humaneval").open({ set: { dataset: "mbpp" }, format: "chat", shots: 0 });
    await expect(open).rejects.toMatchObject({ code: "config.invalid" });
    await expect(named("win-rate").open({ set: {}, format: "chat", shots: 0 })).rejects.toThrow("judge");
  });
});

describe("code benchmarks with other options", () => {
  const rows = [
    {
      task_id: "Own/0",
      prompt: 'def twice(x):\n    """Twice x."""\n',
      entry_point: "twice",
      test: "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(0) == 0\n    assert candidate(-3) == -6\n",
      canonical_solution: "    return 2 * x\n",
    },
  ];
  const right = "```python\ndef twice(x):\n    return 2 * x\n```";
  const half = "```python\ndef twice(x):\n    return 4\n```";

  it.each(sampleOf(["coophumaneval", "humaneval"], 2))("%s has the same accuracy for every reward", async (name) => {
    const path = await file(rows);
    const benchmark = named(name);
    for (const reward of ["correctness", "comlrl", "mrlm"]) {
      for (const [answer, accuracy] of [
        [right, 1],
        [half, 0],
      ] as const) {
        const environment = await benchmark.open({
          set: { path, reward, sandbox: pythonSandbox },
          format: "chat",
          shots: 0,
        });
        const folder = temporaryFolder();
        const policies = scriptedPolicy(({ agent }) => (agent === "aux" ? "def aux(x):\n    return x" : answer));
        const { correct } = benchmark;
        const events = await Array.fromAsync(evaluate({ environment, policies, folder, correct, split: "test" }));
        const end = events.at(-1)!;
        if (end.type !== "end") throw new Error("no summary");
        expect(end.summary.metrics.accuracy!.value, `${reward} ${accuracy}`).toBe(accuracy);
      }
    }
  });

  it("have several turns if requested, each with feedback, but not with format completion", async () => {
    const path = await file(rows);
    const set = { path, maxTurns: 2 };
    const environment = await named("humaneval").open({ set, format: "chat", shots: 0 });
    const task = await (await environment.tasks("test")).get(0);
    const policies = scriptedPolicy(({ episode }) => (episode!.turn === 0 ? half : right));
    const episode = await rolloutEpisode({ environment, policies, task, seed: 1 });
    expect(episode).toMatchObject({ turns: 2, correct: true });
    const completion = named("humaneval").open({ set, format: "completion", shots: 0 });
    await expect(completion).rejects.toMatchObject({ code: "config.invalid", hint: expect.stringContaining("chat") });
  });
});

describe("gsm8k", () => {
  it("with completion has five worked examples of train, then the question", async () => {
    const environment = await opened("gsm8k", await gsm8kFiles(), "completion");
    const { prompt, reward, said } = await play(environment, { split: "test" });
    const examples = gsm8kRows("train").slice(0, 5);
    const worked = examples.map(({ question, answer }) => `Question: ${question}\nAnswer: ${answer}\n\n`).join("");
    expect(prompt).toBe(`${worked}Question: test 0: how much is 0 + 1?\nAnswer:`);
    expect(said).toBe(" It is 0 + 1 = <<0+1=1>>1.\n#### 1");
    expect(reward).toEqual({
      status: "scored",
      value: 1,
      components: { correct: 1, "strict-match": 1, "flexible-extract": 1 },
    });
  });

  it("with completion reads an answer up to the beginning of the next question", async () => {
    const environment = await opened("gsm8k", await gsm8kFiles(), "completion");
    const answer = " #### 1\n\nQuestion: what is 5 + 5?\nAnswer: 10";
    expect((await play(environment, { split: "test", answer })).reward).toMatchObject({ value: 1 });
  });

  it("with chat has worked examples as earlier turns", async () => {
    const benchmark = named("gsm8k");
    const environment = await benchmark.open({ set: { path: await gsm8kFiles() }, format: "chat", shots: 2 });
    const { messages, reward } = await play(environment, { split: "test", answer: "The answer is 1" });
    expect(messages).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    expect(reward).toMatchObject({ components: { correct: 1, "strict-match": 0, "flexible-extract": 1 } });
  });
});

describe("code as completion", () => {
  const row = {
    task_id: "Own/0",
    prompt: 'import math\n\ndef twice(x):\n    """Twice x."""\n',
    entry_point: "twice",
    test: "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(-3) == -6\n",
    canonical_solution: "    return 2 * x\n",
  };

  it("continues the source, up to the next top-level code", async () => {
    const environment = await opened("humaneval", await file([row]), "completion");
    const own = await play(environment, { split: "test" });
    expect(own).toMatchObject({ prompt: row.prompt, said: row.canonical_solution, reward: { value: 1 } });
    const answer = "    return x + x\n\ndef twice(x):\n    return 7\n";
    expect((await play(environment, { split: "test", answer })).reward).toMatchObject({ value: 1 });
    const wrong = await play(environment, { split: "test", answer: "    return x\n" });
    expect(wrong.reward).toMatchObject({ status: "scored", components: { tests: 0 } });
  });

  it("of MBPP has the prompt of its paper with the tests of the task", async () => {
    const mbpp = (id: number, k: number) => ({
      task_id: id,
      text: `Write a function to add ${k}.`,
      code: `def add${id}(x):\n    return x + ${k}`,
      test_setup_code: "",
      test_list: [`assert add${id}(1) == ${1 + k}`, `assert add${id}(0) == ${k}`, `assert add${id}(-1) == ${k - 1}`],
    });
    const rows = [1, 2, 3, 4].map((id) => mbpp(id, id));
    const environment = await opened("mbpp", await file([...rows, mbpp(11, 5)]), "completion");
    const { prompt, reward } = await play(environment, { split: "test" });
    expect(prompt.split("[DONE]")).toHaveLength(4);
    expect(prompt).toMatch(/^You are an expert Python programmer, and here is your task: Write a function to add 2\./);
    expect(prompt).toMatch(
      /task: Write a function to add 5\. Your code should pass these tests:\n\nassert add11\(1\) == 6\nassert add11\(0\) == 5\nassert add11\(-1\) == 4\n\[BEGIN\]\n$/,
    );
    expect(reward).toMatchObject({ value: 1 });
  });
});
