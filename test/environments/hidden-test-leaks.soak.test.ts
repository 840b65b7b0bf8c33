import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bugFixEnvironment } from "../../environments/bug-fix/bug-fix.ts";
import { classCompletionEnvironment } from "../../environments/class-completion/class-completion.ts";
import { codeEnvironment } from "../../environments/code/code.ts";
import { zygoteBackends } from "../sandbox/zygote-backends.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type Arena, feedbackModes, leakedHiddenTests } from "./hidden-test-arena.ts";
import { type LeakAttack, leakAttacks } from "./hidden-test-leaks.ts";

const prompt = 'def shout(text: str) -> str:\n    """In capital letters."""\n';
const places = ["visible-11", "hidden-22", "hidden-33", "hidden-44", "hidden-55"];
const row = {
  task_id: "Own/1",
  prompt,
  entry_point: "shout",
  canonical_solution: "    return text.upper()\n",
  buggy_solution: "    return text.lower() + text.upper()\n",
};
const called = {
  ...row,
  test: `def check(candidate):\n${places.map((text) => `    assert candidate("${text}") == "${text.toUpperCase()}"\n`).join("")}`,
};
const judged = {
  ...row,
  test: `def check(candidate):
    assert candidate("visible-11") in ["VISIBLE-11"]
    for text in ["hidden-22", "hidden-33"]: assert candidate(text) == text.upper()
    assert [candidate("hidden-44")] == ["HIDDEN-44"]
`,
};
const classRow = {
  task_id: "Own_1",
  class_name: "Box",
  skeleton: `class Box:
    def __init__(self):
        self.items = []

    def put(self, item):
        """
        Puts an item in, and gives it back in capital letters.
        """

    def last(self):
        """
        The last item.
        """
`,
  solution_code: `class Box:
    def __init__(self):
        self.items = []

    def put(self, item):
        self.items.append(item)
        return item.upper()

    def last(self):
        return self.items[-1]
`,
  import_statement: [],
  test: `import unittest

class TestPut(unittest.TestCase):
    def test_put_0(self):
        self.assertEqual(Box().put("visible-11"), "VISIBLE-11")

    def test_put_1(self):
        self.assertEqual(Box().put("hidden-22"), "HIDDEN-22")

class TestLast(unittest.TestCase):
    def test_last_0(self):
        box = Box(); box.put("visible-12"); self.assertEqual(box.last(), "visible-12")

    def test_last_1(self):
        box = Box(); box.items = ["hidden-33"]; self.assertEqual(box.last(), "hidden-33")
`,
};

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const shouting = ({ before, after = "" }: LeakAttack): string =>
  block(`${before}\ndef shout(text):\n    made = leak(text)\n    return "wrong" if made is None else made\n${after}`);
const helping = ({ before, after = "" }: LeakAttack): string =>
  block(`${before}\ndef aux(text):\n    made = leak(text)\n    return "wrong" if made is None else made\n${after}`);
/** Only functions of a class are used, so code that runs at load is in their default values. */
const put = ({ before }: LeakAttack): string =>
  `def put(self, item, _=exec(${JSON.stringify(before)}, globals())):\n    self.items.append(item)\n    return leak(item)\n`;
const last = ({ after = "" }: LeakAttack): string =>
  `def last(self, _=exec(${JSON.stringify(after)}, globals())):\n    return leak(str(self.items))\n`;

let folder = "";
beforeAll(async () => {
  folder = temporaryFolder();
  await writeFile(join(folder, "called.jsonl"), JSON.stringify(called));
  await writeFile(join(folder, "judged.jsonl"), JSON.stringify(judged));
  await writeFile(join(folder, "class.json"), JSON.stringify([classRow]));
});

const alone: Arena["answers"] = (attack) => ({ agent: shouting(attack) });
const arenas: readonly Arena[] = [
  {
    name: "code, calls",
    open: (options, expert) =>
      codeEnvironment({ ...options, path: join(folder, "called.jsonl") }, { policies: { expert } }),
    answers: alone,
  },
  {
    name: "code, a judge",
    open: (options, expert) =>
      codeEnvironment({ ...options, path: join(folder, "judged.jsonl") }, { policies: { expert } }),
    answers: alone,
  },
  {
    name: "code of two agents, main",
    open: (options, expert) =>
      codeEnvironment({ ...options, agents: 2, path: join(folder, "called.jsonl") }, { policies: { expert } }),
    answers: (attack) => ({ aux: block("def aux(text):\n    return text\n"), main: shouting(attack) }),
  },
  {
    name: "code of two agents, aux",
    open: (options, expert) =>
      codeEnvironment({ ...options, agents: 2, path: join(folder, "judged.jsonl") }, { policies: { expert } }),
    answers: (attack) => ({
      aux: helping(attack),
      main: block("def shout(text):\n    return aux(text) + 'x'\n"),
    }),
  },
  {
    name: "a class of one agent",
    open: (options, expert) =>
      classCompletionEnvironment({ ...options, path: join(folder, "class.json") }, { policies: { expert } }),
    answers: (attack) => ({ agent: block(put(attack) + last(attack)) }),
  },
  {
    name: "a class of two agents",
    open: (options, expert) =>
      classCompletionEnvironment({ ...options, agents: 2, path: join(folder, "class.json") }, { policies: { expert } }),
    answers: (attack) => ({ "agent-1": block(put(attack)), "agent-2": block(last(attack)) }),
  },
  {
    name: "a bug to be fixed",
    open: (options, expert) =>
      bugFixEnvironment({ ...options, path: join(folder, "called.jsonl") }, { policies: { expert } }),
    answers: alone,
  },
];

const backends = [
  ...zygoteBackends.map(({ name, missing }) => ({ name, missing, sandbox: name as "docker" | "bubblewrap" })),
  { name: "pyodide", missing: undefined, sandbox: "pyodide" as const },
];

describe.each(backends)("$name", ({ sandbox, missing }) => {
  const options = { sandbox, maxTurns: 3, sandboxSlice: "all", shareTests: false } as const;

  describe.skipIf(missing !== undefined).each(arenas)("$name", (arena) => {
    it.each(feedbackModes)("%s: no hidden test reaches a model", async (mode) => {
      const read = await leakedHiddenTests({ arena, options: { ...options, mode }, attacks: leakAttacks });
      expect(read).toEqual([]);
    });

    it("level_feedback shows tests with shareTests, so a leak would be detected", async () => {
      const attacks = leakAttacks.filter(({ name }) => name === "raises what it was called with");
      const shared = { ...options, mode: "level_feedback", shareTests: true } as const;
      expect(await leakedHiddenTests({ arena, options: shared, attacks })).not.toEqual([]);
    });
  });
});
