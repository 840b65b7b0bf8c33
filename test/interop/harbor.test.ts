import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { exportHarborCommand } from "../../cli/export-harbor-command.ts";
import { missing, shellImage } from "../environments/harbor/harbor-tasks.ts";
import { runPython } from "./python.ts";
import { newestPython, providePythonEnvironment } from "./python-environment.ts";

interface Answers {
  readonly tasks: readonly Readonly<Record<string, unknown>>[];
  readonly findings: readonly { readonly rule: string; readonly path: string }[];
  readonly rewards: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const problems = [
  {
    id: "own/twice",
    prompt: "def twice(x):\n    '''Twice x.'''\n",
    entryPoint: "twice",
    tests: ["assert twice(1) == 2", "assert twice(5) == 10", "assert twice('a') == 'aa'"],
    solution: "def twice(x):\n    return 2 * x\n",
  },
  {
    id: "own/evens",
    prompt: "def evens(n):\n    '''An iterator of the even numbers below n.'''\n",
    entryPoint: "evens",
    tests: ["assert next(evens(3)) == 0", "assert sum(evens(5)) == 6"],
    solution: "def evens(n):\n    yield from range(0, n, 2)\n",
  },
];

const python = await newestPython([3, 12]);

describe.skipIf(python === undefined)(`PyPI's harbor (${python ?? "needs Python 3.12"})`, () => {
  let folder: string;
  let answers: Answers;
  beforeAll(async () => {
    const environment = await providePythonEnvironment({
      name: "harbor",
      requirements: "harbor-requirements.txt",
      download: "120 MB",
      python,
    });
    folder = await mkdtemp(join(tmpdir(), "lyceum-harbor-interop-"));
    const path = join(folder, "own.jsonl");
    await writeFile(path, problems.map((problem) => JSON.stringify(problem)).join("\n"));
    const dataset = join(folder, "tasks");
    const set = ["dataset=jsonl", `path=${path}`];
    const output = { write: () => true } as never;
    await exportHarborCommand(
      { environment: "code", set, image: shellImage, output: dataset },
      { catalog: await openCatalog(), output, signal: new AbortController().signal },
    );
    answers = await runPython<Answers>({
      environment,
      script: "harbor_tasks",
      request: {
        folders: ["own-twice", "own-evens"].map((name) => join(dataset, name)),
        dataset,
        jobs: join(folder, "jobs"),
        agents: missing === undefined ? ["oracle", "nop"] : [],
      },
    });
  });
  afterAll(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  test("loads exported tasks", () => {
    expect(answers.tasks).toEqual(
      ["own-twice", "own-evens"].map((name) => ({
        ...{ valid: true, name, agent: 1000, network: "no-network" },
        verifier: expect.stringMatching(/separate/i),
        instruction: expect.stringContaining("/app/answer.py"),
      })),
    );
  });

  test("finds no problem in exported tasks", () => {
    expect(answers.findings).toEqual([]);
  });

  test.skipIf(missing !== undefined)("gives the oracle 1 and an idle agent 0", () => {
    expect(answers.rewards).toEqual({
      oracle: { "own-twice": 1, "own-evens": 1 },
      nop: { "own-twice": 0, "own-evens": 0 },
    });
  });
});
