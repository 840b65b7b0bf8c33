import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../examples/run-program.ts";

test("ARCHITECTURE.md names only files and folders that exist", async () => {
  const text = await readFile(join(repository, "ARCHITECTURE.md"), "utf8");
  const paths = [...text.matchAll(/`((?:src|trainers|environments|sandbox|test)\b[\w./-]*)`/g)].map(
    ([, path]) => path!,
  );
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});
