import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Docker from "dockerode";
import { afterAll } from "vitest";
import { temporaryFolder } from "../../temporary-folder.ts";

/** The image of the test tasks: a shell and Python. `.ci/prepare-sandboxes` builds it. */
export const shellImage = "lyceum-shell";

const required = (process.env.LYCEUM_TEST_SANDBOXES ?? "").split(",").includes("docker");

/** Why tests with containers are skipped, or undefined. */
export const missing: string | undefined = required
  ? undefined
  : await new Docker()
      .getImage(shellImage)
      .inspect()
      .then(
        () => undefined,
        () => `no Docker engine with the image ${shellImage}`,
      );

/** The tests of the default task: the reward is 1 if the file has the right text. */
export const plainTest = `#!/bin/bash
if [ "$(cat /app/answer.txt 2>/dev/null)" = 42 ]; then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt; fi
`;

const defaults: Readonly<Record<string, string>> = {
  "instruction.md": "Write the number 42 to /app/answer.txt.\n",
  "task.toml": 'schema_version = "1.4"\n',
  "environment/Dockerfile": `FROM ${shellImage}\nWORKDIR /app\nCOPY start.txt /app/start.txt\n`,
  "environment/start.txt": "Start here.\n",
  "tests/test.sh": plainTest,
  "solution/solve.sh": "#!/bin/bash\necho 42 > /app/answer.txt\n",
};

const written: string[] = [];
// A hook of a file: one that a running test adds would never be called.
afterAll(() => {
  for (const folder of written) rmSync(folder, { recursive: true, force: true });
});

/** Writes a task folder and returns its path. A file that is undefined is left out. It is removed after the tests. */
export function writeTask(changes: Readonly<Record<string, string | undefined>> = {}, place = ""): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries({ ...defaults, ...changes })) {
    if (text === undefined) continue;
    mkdirSync(join(folder, place, dirname(path)), { recursive: true });
    writeFileSync(join(folder, place, path), text);
  }
  written.push(folder);
  return folder;
}
