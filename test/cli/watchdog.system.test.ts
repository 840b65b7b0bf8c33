import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { lyceum, tinyRunFolder } from "./run-lyceum.ts";

const index = pathToFileURL(join(import.meta.dirname, "../../src/index.ts"));

/** Creates a folder with an environment whose second step runs `code` and then never ends. */
async function endless(code = ""): Promise<string> {
  const folder = await tinyRunFolder();
  const lines = [
    `import { defineEnvironment } from ${JSON.stringify(index.href)};`,
    "export const environment = defineEnvironment({",
    '  id: "endless",',
    '  tasks: ["a"],',
    '  reset: () => "Say a.",',
    `  step: async ({ turn }) => { if (turn === 0) return { reply: "Again." }; ${code} for (;;); },`,
    "  maxTurns: 3,",
    "});",
  ];
  await writeFile(join(folder, "endless.mjs"), `${lines.join("\n")}\n`);
  await writeFile(join(folder, "answers.json"), '["a", "a", "a"]');
  await writeFile(join(folder, "top.mjs"), 'process.stdout.write("loading");\nfor (;;);\n');
  return folder;
}

const collect = ["collect", "--env", "./endless.mjs", "--model", "scripted:answers.json", "--output", "good.jsonl"];

test("blocking code is reported once with call, task and turn, and killed at the limit of a call", async () => {
  const words = ["check", "./endless.mjs", "--call-seconds", "2"];
  const { code, signal, stderr } = await lyceum(words, { folder: await endless("await null;") });
  expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
  expect(stderr).toMatch(
    /^warning: environment "endless", step \(or other code while it waits\) has kept the process busy for \d+ s/,
  );
  expect(stderr).toMatch(/^error\[timeout\]: environment "endless", step/m);
  expect(stderr.match(/warning/g)).toHaveLength(1);
});

test("one signal ends such a process after the warning, which names call, task and turn", async () => {
  const ended = await lyceum(collect, {
    folder: await endless(),
    onError: (text, child) => {
      if (/Ctrl-C ends the process immediately/.test(text)) child.kill("SIGTERM");
    },
  });
  expect(ended).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(ended.stderr).toMatch(/^warning: environment "endless", step, task "[^"]+", turn 1 has kept/);
  expect(ended.stderr).toMatch(/^error\[aborted\]: environment "endless", step.*: a signal ends it/m);
});

test("two signals end a process whose module never ends, before any warning", async () => {
  const ended = await lyceum(["check", "./top.mjs"], {
    folder: await endless(),
    onOutput: (text, child) => {
      if (text !== "loading") return;
      // Its other thread has to start first.
      const again = setInterval(() => child.kill("SIGINT"), 500);
      child.once("exit", () => clearInterval(again));
    },
  });
  expect(ended).toMatchObject({ code: null, signal: "SIGKILL" });
  expect(ended.stderr).toMatch(/^error\[aborted\]: The process is killed by a second signal/m);
});

test.runIf(process.platform === "linux")("a synchronous wait is reported as well", async () => {
  const wait = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);";
  const { signal, stderr } = await lyceum(["check", "./endless.mjs", "--call-seconds", "2"], {
    folder: await endless(wait),
  });
  expect(signal).toBe("SIGKILL");
  expect(stderr).toMatch(/^error\[timeout\]: environment "endless", step has kept/m);
});

test("a timer of the user's code does not keep a failed command alive", { timeout: 120_000 }, async () => {
  const folder = await tinyRunFolder();
  await writeFile(join(folder, "timer.mjs"), "setInterval(() => {}, 1_000);\nexport const nothing = 1;\n");
  const { code, stderr } = await lyceum(["check", "./timer.mjs"], { folder });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error\[/);
});

const evaluate = ["eval", "--env", "./silent.mjs", "--model", "scripted:answers.json"];
test.each([
  ["at the top level of a module", "await new Promise(() => {});", evaluate, 'module "./silent.mjs", import'],
  [
    "of an environment that is described",
    "await new Promise(() => {});",
    ["info", "./silent.mjs"],
    'module "./silent.mjs", import',
  ],
  [
    "in a reset that a plan measures",
    "",
    [
      "plan",
      "tiny.yaml",
      "--set",
      "environment=./silent.mjs",
      "--set",
      "tasks={ split: reset }",
      "--set",
      "evaluation={}",
      "--set",
      "algorithm={ id: grpo, groupSize: 2 }",
    ],
    'environment "silent", reset',
  ],
  ["in a function of the environment", "", evaluate, 'environment "silent", loading tasks'],
])("a promise that never settles %s is an error that names the call", async (_, top, words, call) => {
  const folder = await tinyRunFolder();
  const lines = [
    `import { defineEnvironment } from ${JSON.stringify(index.href)};`,
    top,
    "export const environment = defineEnvironment({",
    '  id: "silent", splits: ["train", "test", "reset"], tasks: (split) => split === "reset" ? ["a", "b"] : new Promise(() => {}), reset: () => new Promise(() => {}), step: () => ({ reward: 1 }),',
    "});",
  ];
  await writeFile(join(folder, "silent.mjs"), `${lines.join("\n")}\n`);
  await writeFile(join(folder, "answers.json"), '["a"]');
  const { code, stderr } = await lyceum(words, { folder });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error\[environment\.failed\]: /) });
  expect(stderr).toContain(`Nothing is left to do, but a call has not ended: ${call}.`);
});
