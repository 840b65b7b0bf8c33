import { existsSync, readdirSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";

const text = await readFile(join(repository, "ARCHITECTURE.md"), "utf8");
const fileName = /`([\w-]+(?:\/[\w-]+)*\.(?:ts|tsx|py|css))`/;

test("ARCHITECTURE.md names only files and folders that exist", () => {
  const paths = [
    ...text.matchAll(/`((?:src|trainers|environments|sandbox|server|reports|cli|test|docs)(?:\/[\w./-]*)?)`/g),
  ].map(([, path]) => path!);
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});

test("a name without a folder in the table is in the folder that was named before it", () => {
  const wrong: string[] = [];
  for (const row of text.slice(text.indexOf("| Change | Files |")).split("\n")) {
    let folder: string | undefined;
    for (const [quoted, name] of row.matchAll(
      new RegExp(`${fileName.source}|\`[\\w-]+(?:/[\\w.-]+)+\`|\`cli\``, "g"),
    )) {
      const path = quoted.slice(1, -1);
      if (name !== undefined && folder !== undefined && !isPath(path)) {
        if (!existsSync(join(repository, folder, path))) wrong.push(`${path} is not in ${folder}: ${row}`);
      } else if (!isPath(path)) {
        wrong.push(`${path} has no folder: ${row}`);
      } else {
        folder = statSync(join(repository, path)).isDirectory() ? path : dirname(path);
      }
    }
  }
  expect(wrong).toEqual([]);
});

/** True for a path from the repository's root. */
function isPath(path: string): boolean {
  return readdirSync(repository).includes(path.split("/")[0]!) && existsSync(join(repository, path));
}
