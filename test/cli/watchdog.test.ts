import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { lyceum, tinyRunFolder } from "./run-lyceum.ts";

const index = pathToFileURL(join(import.meta.dirname, "../../src/index.ts"));

/** Creates a folder with an environment whose step never ends, in line 6 of `endless.mjs`. */
async function endless(): Promise<string> {
  const folder = await tinyRunFolder();
  const lines = [
    `import { defineEnvironment } from ${JSON.stringify(index.href)};`,
    "export const environment = defineEnvironment({",
    '  id: "endless",',
    '  tasks: ["a"],',
    '  reset: () => "Say a.",',
    "  step: async () => { await null; for (;;); },",
    "});",
  ];
  await writeFile(join(folder, "endless.mjs"), `${lines.join("\n")}\n`);
  return folder;
}

test("blocking code is reported with file, line and call, and killed at the limit of a call", async () => {
  const words = ["check", "./endless.mjs", "--call-seconds", "4"];
  const { code, signal, stderr } = await lyceum(words, { folder: await endless() });
  expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
  expect(stderr).toMatch(
    /^warning: endless\.mjs:6:\d+ \(environment "endless", step\) has kept the process busy for \d+ s/,
  );
  expect(stderr).toMatch(/^error\[timeout\]: endless\.mjs:6:\d+ \(environment "endless", step\)/m);
});

test("a signal ends such a process after the warning", async () => {
  const words = ["check", "./endless.mjs", "--call-seconds", "600"];
  const ended = await lyceum(words, {
    folder: await endless(),
    onError: (text, child) => {
      if (/Ctrl-C ends the process immediately/.test(text)) child.kill("SIGTERM");
    },
  });
  expect(ended).toMatchObject({
    code: null,
    signal: "SIGTERM",
    stderr: expect.stringMatching(/^warning: endless\.mjs:6:/),
  });
});
