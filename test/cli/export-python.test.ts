import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary-folder.ts";
import { runInProcess } from "./run-in-process.ts";

const source = pathToFileURL(join(import.meta.dirname, "../../src/index.ts")).href;
const mine = `import { defineEnvironment } from "${source}";
export const environment = defineEnvironment({ id: "mine", tasks: ["a"], reset: () => "Say a.", step: () => 1 });
`;

test("lyceum export-python writes what the image of a file needs", async () => {
  const folder = temporaryFolder();
  await writeFile(join(folder, "mine.mts"), mine);
  const words = ["export-python", "./mine.mts", "--space", "--output", "space"];
  expect(await runInProcess(words, { folder })).toMatchObject({
    ...{ code: 0, stderr: "", stdout: expect.stringMatching(/^space: pyproject\.toml, .*, mine\.mts\n$/) },
  });
  expect(await readFile(join(folder, "space/mine.mts"), "utf8")).toBe(mine);
  expect(await readFile(join(folder, "space/README.md"), "utf8")).toMatch(/^---\ntitle: mine\n/);
  const lines = (await readFile(join(folder, "space/Dockerfile"), "utf8")).split("\n");
  expect(lines).toContainEqual(expect.stringMatching(/^RUN npm install "lyceum@[\d.]+"$/));
  expect(lines).toContain('COPY ["mine.mts","./"]');
  const command = ["node_modules/.bin/lyceum", "serve", "--environments", "./mine.mts", "--host", "0.0.0.0", "--port"];
  expect(lines).toContain(`CMD ${JSON.stringify([...command, "8000"])}`);
});
