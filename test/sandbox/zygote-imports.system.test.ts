import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { calls, runPython, zygoteBackends } from "./zygote-backends.ts";

const program = `
import json, sys
sys.path.insert(0, "sandbox/zygote/runner")
import imports
print(json.dumps([imports.are_few(json.dumps(text), ["numpy"]) for text in json.load(sys.stdin)]))
`;

const few = [
  "def f(): return 1",
  "from typing import List\nimport math, re\n\ndef f(): pass",
  "import collections.abc as c, itertools\nfrom collections import Counter, deque",
  "x = 1; import json; y = 2",
  "    from functools import (\n        reduce,\n    )",
];
const more = [
  "import numpy as np",
  "__import__('numpy')",
  "import math, random",
  "import math as m, random as r",
  "\tfrom random import random",
  "from xml.etree import ElementTree",
  "x = 1; import heapq, unittest",
  "import importlib\nimportlib.import_module('random')",
];

test("the imports of a job are detected in its text", () => {
  const answers = execFileSync("python3", ["-c", program], { input: JSON.stringify([...few, ...more]) });
  expect(JSON.parse(answers.toString())).toEqual([...few.map(() => true), ...more.map(() => false)]);
});

describe.each(zygoteBackends)("$name", ({ open, missing }) => {
  test.skipIf(missing !== undefined)(
    "code can import modules of both servers, and uses the small server if it imports few modules",
    async () => {
      await using sandbox = await open({ workers: 1 });
      const run = async (code: string, seed = 1) =>
        (await runPython(sandbox, { code, task: calls("f", []), seed })).cases[0]!.value;
      const loaded = "import sys\ndef f(): return [name in sys.modules for name in ('re', 'unittest')]";
      expect(await run(loaded)).toEqual({ list: [true, false] });
      expect(await run(`${loaded} # import unittest`)).toEqual({ list: [true, true] });
      expect(await run("name = 'uni' + 'code' + 'data'\ndef f(): return __import__(name).name('a')")).toBe(
        "LATIN SMALL LETTER A",
      );
      const random = "import random\ndef f(): return random.random()";
      expect(await run(random)).toEqual(await run(random));
      expect(await run(random)).not.toEqual(await run(random, 2));
    },
  );
});
