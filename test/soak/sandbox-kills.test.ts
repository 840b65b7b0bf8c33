import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { type Grade, gradeCode, type Sandbox, type TestSuite } from "../../sandbox/index.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { faultySandboxes, missingRequirement, type SandboxName } from "../sandbox/faulty-sandboxes.ts";
import { containerProcesses, ownProcesses } from "../sandbox/processes.ts";
import { busyProcesses } from "./busy-machine.ts";

const load = Number(process.env.LYCEUM_TEST_LOAD ?? 40);
/** Pauses between two kills, in milliseconds. */
const shortestPauseMs = Number(process.env.LYCEUM_TEST_PAUSE ?? 500);
const samples = 40;

const right = {
  python: "import time\ndef f(x):\n    time.sleep(0.15)\n    return x + x",
  javascript: "function f(x) { const end = Date.now() + 60; while (Date.now() < end); return x + x; }",
} as const;

function suiteOf(language: "python" | "javascript", index: number): TestSuite {
  return { kind: "calls", language, function: "f", tests: [{ args: [`${index},`], expected: `${index},${index},` }] };
}

/** Kills one process of the sandbox at a time, at random, until the signal aborts. Returns the number of kills. */
async function killAtRandom(name: SandboxName, signal: AbortSignal): Promise<number> {
  const random = createRandom(1);
  const workers = name.startsWith("docker") ? containerProcesses : ownProcesses;
  let kills = 0;
  while (!signal.aborted) {
    await sleep(shortestPauseMs * (1 + 3 * random.next()), undefined, { signal }).catch(() => undefined);
    const all = signal.aborted ? [] : await workers();
    const chosen = all[Math.floor(random.next() * all.length)];
    if (chosen === undefined) continue;
    try {
      process.kill(chosen.pid, "SIGKILL");
      kills++;
    } catch {
      // It has ended.
    }
  }
  return kills;
}

const sandboxes = await Promise.all(
  (Object.keys(faultySandboxes) as SandboxName[]).map(async (name) => ({
    name,
    missing: await missingRequirement(name),
  })),
);

describe.each(sandboxes)("$name", ({ name, missing }) => {
  const { language, open } = faultySandboxes[name];
  const title = missing === undefined ? "" : ` (skipped: ${missing})`;

  test.skipIf(missing !== undefined)(
    `processes are killed at random on a busy machine: of ${samples} right answers, none is wrong${title}`,
    async () => {
      using _busy = busyProcesses(load);
      const done = new AbortController();
      let killing: Promise<number> | undefined;
      const begun = performance.now();
      const grades: Grade[] = [];
      try {
        await using sandbox: Sandbox = await open({ workers: 2 });
        // The starts of later workers are killed too.
        killing = killAtRandom(name, done.signal);
        await Promise.all(
          Array.from({ length: samples }, async (_, index) => {
            grades.push(await gradeCode({ sandbox, code: right[language], suite: suiteOf(language, index) }));
          }),
        );
      } finally {
        done.abort();
      }
      const kills = await killing;
      const unscored = grades.filter(({ infra }) => infra);
      const wrong = grades.filter((grade) => !grade.infra && !grade.passed);
      const attempts = grades.map((grade) => (grade.infra ? "?" : grade.execution.attempts)).join("");
      const seconds = Math.round((performance.now() - begun) / 1000);
      console.log(
        `${name}: ${kills} kills in ${seconds} s, ${samples - wrong.length - unscored.length} right, ` +
          `${unscored.length} unscored, ${wrong.length} wrong; attempts ${attempts}`,
      );
      expect(wrong.map((grade) => (grade.infra ? grade.error : { ...grade.execution, cases: [] }))).toEqual([]);
      expect(grades).toHaveLength(samples);
    },
  );
});
