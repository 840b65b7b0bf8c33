import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { codeEnvironment } from "../../../environments/index.ts";
import { openWorkspaces, type TarEntry } from "../../../sandbox/index.ts";
import type { TaskFolder } from "../../../src/contract/environment.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { EnvironmentPool } from "../../../src/core/rollout/environment-pool.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { missing, shellImage } from "../harbor/harbor-tasks.ts";

const problems = [
  {
    id: "Own/Half",
    prompt: "import math\n\ndef half(x):\n    '''Half of x.'''\n",
    entryPoint: "half",
    tests: [
      "assert half(4) == 2",
      "assert half(5) == 2.5",
      "assert abs(half(1) - 0.5) < 0.001",
      "assert half(0) == 0",
      "assert not half(0)",
    ],
    solution: "def half(x):\n    return math.fsum([x]) / 2\n",
  },
  {
    id: "half of a list",
    prompt: "def halves(items):\n    '''An iterator of the halves.'''\n",
    entryPoint: "halves",
    tests: [
      "assert [next(halves([2])), 1] == [1, 1]",
      "assert sum(halves([2, 4])) == 3",
      "assert list(halves([])) == []",
    ],
    solution: "def halves(items):\n    for item in items:\n        yield item / 2\n",
  },
];

const folder = temporaryFolder();
const path = join(folder, "own.jsonl");
writeFileSync(path, problems.map((problem) => JSON.stringify(problem)).join("\n"));

const options = { dataset: "jsonl", path, sandbox: "docker", cpuSeconds: 1 } as const;
const environment = codeEnvironment(options);

async function folderOf(index: number, changes: Partial<Parameters<typeof codeEnvironment>[0]> = {}) {
  const definition = codeEnvironment({ ...options, ...changes });
  const { task } = await (await definition.tasks("train")).get(index);
  return definition.taskFolder!(task, { image: shellImage });
}

function filesOf(exported: TaskFolder): Readonly<Record<string, string>> {
  return "files" in exported ? exported.files : {};
}

describe("a code problem as a task folder", () => {
  test("has an instruction, an image, tests and a solution", async () => {
    const exported = await folderOf(0);
    expect(exported.name).toBe("own-half");
    const files = filesOf(exported);
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining([
        "instruction.md",
        "task.toml",
        "environment/Dockerfile",
        "tests/test.sh",
        "tests/grade.py",
      ]),
    );
    expect(files["instruction.md"]).toContain("/app/answer.py");
    expect(files["instruction.md"]).not.toContain("half(5)");
    expect(files["solution/solve.sh"]).toContain("math.fsum");
    expect(files["environment/Dockerfile"]).toMatch(/^FROM lyceum-shell\n/);
  });

  test("is refused if its rewards need Lyceum", async () => {
    await expect(folderOf(0, { agents: 2 })).rejects.toMatchObject({ code: "config.invalid" });
    await expect(folderOf(0, { reward: "comlrl" })).rejects.toMatchObject({ code: "config.invalid" });
    const script = join(folder, "script.jsonl");
    writeFileSync(
      script,
      JSON.stringify({ prompt: "Double x.", entryPoint: "double", tests: ["assert.deepEqual(double(1), 2);"] }),
    );
    const javascript = { path: script, language: "javascript", sandbox: "isolated-vm" } as const;
    await expect(folderOf(0, javascript)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("only Python is supported"),
    });
  });
});

/** The tests of a problem, in a folder of its own. */
function testEntries(index: number, files: Readonly<Record<string, string>>): readonly TarEntry[] {
  const root = `problem-${index}`;
  const folders = [root, `${root}/tests`, `${root}/tests/grader`].map(
    (path): TarEntry => ({ path, mode: 0o755, kind: "folder" }),
  );
  const tests = Object.entries(files).filter(([path]) => path.startsWith("tests/"));
  return [...folders, ...tests.map(([path, text]) => fileEntry(`${root}/${path}`, text))];
}

function fileEntry(path: string, text: string): TarEntry {
  const content = Buffer.from(text);
  return { path, mode: 0o755, kind: "file", size: content.length, content: [content] };
}

/** Answers to the first problem. */
const answers: Readonly<Record<string, string>> = {
  "a correct answer": problems[0]!.solution,
  "a wrong answer": "def half(x):\n    return 2\n",
  "other types": "def half(x):\n    return str(x)\n",
  "a syntax error": "def half(x:\n",
  "another function": "def other(x):\n    return x\n",
  "an error while loading": "raise ValueError('no')\n",
  "an exit while loading": "import os\nos._exit(0)\n",
  "an exit in a call": "import os\ndef half(x):\n    os._exit(0)\n",
  "an endless call": "def half(x):\n    while True: pass\n",
  "no code": "",
  "too much memory": "def half(x):\n    return len(bytearray(2 ** 31))\n",
};

/** Answers to the second problem. */
const judged: Readonly<Record<string, string>> = {
  "a correct generator": problems[1]!.solution,
  "a list": "def halves(items):\n    return [1, 2]\n",
  "an exit of a generator": "import os\ndef halves(items):\n    os._exit(0)\n",
};

/** Answers to the first problem that try to earn more than their results. */
const attacks: Readonly<Record<string, string>> = {
  "writes the reward": `import json, os
os.makedirs("/logs/verifier", exist_ok=True)
json.dump({"reward": 1}, open("/logs/verifier/reward.json", "w"))`,
  "writes the reward later": `import os, time
if os.fork() == 0:
    while True:
        try:
            open("/logs/verifier/reward.json", "w").write('{"reward": 1}')
        except OSError:
            time.sleep(0.001)
def half(x):
    return "no"`,
  "reads the tests": `import json
suite = json.load(open("/tests/suite.json"))
def half(x):
    return x / 2`,
  "reads the tests in memory": `import gc, sys
def half(x):
    for each in gc.get_objects():
        if type(each) is dict and "expected" in each and "args" in each:
            return x / 2
    frame = sys._getframe()
    while frame:
        if "suite" in frame.f_locals or "settings" in frame.f_locals:
            return x / 2
        frame = frame.f_back
    return "no"`,
  "reads the grader's memory": `import os
def half(x):
    open("/proc/%d/mem" % os.getppid(), "rb")
    return x / 2`,
  "equals everything": `class Equal:
    def __eq__(self, other): return True
    def __bool__(self): return True
def half(x):
    return Equal()`,
  "replaces the runner": `import sys
for name in [name for name in sys.modules if name.startswith("grader")]:
    vars(sys.modules[name]).clear()
def half(x):
    return "no"`,
};

const write = (text: string): string => `echo ${Buffer.from(text).toString("base64")} | base64 -d > /app/answer.py`;

/** What is left in the container, by name, for the problem with the index. */
const cases: readonly (readonly [name: string, index: number, leave: string])[] = [
  ...Object.entries({ ...answers, ...attacks }).map(([name, text]) => [name, 0, write(text)] as const),
  ...Object.entries(judged).map(([name, text]) => [name, 1, write(text)] as const),
  ["nothing", 0, "true"],
  ["nothing for a judge", 1, "true"],
  ["a link", 0, "echo x = 1 > /app/other.py; ln -s other.py /app/answer.py"],
  ["a pipe", 0, "mkfifo /app/answer.py"],
];

describe.skipIf(missing !== undefined)(`the tests of an exported problem ${missing ?? ""}`, { timeout: 60_000 }, () => {
  let rewards: Readonly<Record<string, number>>;

  /** Grades all cases one after another in one container. */
  beforeAll(async () => {
    await using workspaces = await openWorkspaces();
    const limits = { memoryMb: 2_048, cpus: 1, processes: 256 };
    await using workspace = await workspaces.create({ image: shellImage, limits, network: false });
    await workspace.start();
    const scripts = [];
    for (const index of [0, 1]) {
      const files = filesOf(await folderOf(index));
      await workspace.add("/", testEntries(index, files));
      scripts.push(["its solution", index, files["solution/solve.sh"]!] as const);
    }
    const entries = [...cases, ...scripts].map(([name, index, leave]): TarEntry => {
      const reset = "rm -rf /tests /app /logs; mkdir -p /app /logs/verifier";
      const script = `${reset}; cp -r /problem-${index}/tests /tests; (${leave}\n); bash /tests/test.sh`;
      return fileEntry(`${index} ${name}.sh`, script);
    });
    await workspace.add("/", entries);
    const loop =
      'for f in /[01]*.sh; do bash "$f" > /dev/null 2>&1; echo "$f|$(cat /logs/verifier/reward.json 2>/dev/null)"; done';
    const { output } = await workspace.run({ command: ["/bin/bash", "-c", loop], limitMs: 55_000, user: "0" });
    rewards = Object.fromEntries(
      output.split("\n").flatMap((line) => {
        const [, index, name, verdict] = /^\/([01]) (.*)\.sh\|(.*)$/.exec(line) ?? [];
        if (verdict === undefined) return [];
        return [[`${index} ${name}`, verdict === "" ? Number.NaN : (JSON.parse(verdict) as { reward: number }).reward]];
      }),
    );
  }, 60_000);

  test("give answers the environment's own rewards", async () => {
    const taskset = await environment.tasks("train");
    await using pool = new EnvironmentPool(environment);
    const both = [...Object.entries(answers), ...Object.entries(judged)];
    const own = await Promise.all(
      both.map(async ([name, answer], place) => {
        const index = place < Object.keys(answers).length ? 0 : 1;
        const policies = scriptedPolicy([`\`\`\`python\n${answer}\n\`\`\``]);
        const task = await taskset.get(index);
        const { reward } = (await rolloutEpisode({ environment: pool, task, policies, seed: 1 })).agents.agent!;
        return [`${index} ${name}`, reward.status === "scored" ? reward.value.toFixed(6) : reward.reason] as const;
      }),
    );
    const given = own.map(([name]) => [name, rewards[name]?.toFixed(6)]);
    expect(Object.fromEntries(given)).toEqual(Object.fromEntries(own));
    expect(new Set(own.map(([, reward]) => reward)).size).toBeGreaterThan(4);
  });

  test("give solutions 1, and 0 if there is no file", () => {
    for (const name of ["0 its solution", "1 its solution"]) expect(rewards[name]).toBeCloseTo(1, 9);
    for (const name of ["0 nothing", "1 nothing for a judge", "0 a link", "0 a pipe"]) expect(rewards[name]).toBe(0);
  });

  test.each(Object.keys(attacks))("give nothing to an answer that %s", (name) => {
    expect(rewards[`0 ${name}`]).toBeLessThanOrEqual(0.1 + 1e-9);
  });
});
