import { execFileSync } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generateProtocols, protocolFolders } from "../../../scripts/generate-protocols.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const root = join(import.meta.dirname, "../../..");

test.each(protocolFolders)("the committed TypeScript of %s is what its .proto files generate", async (protocols) => {
  const folder = temporaryFolder();
  try {
    // The plugin writes to ../generated, seen from the output folder.
    generateProtocols(protocols, join(folder, "proto"));
    const made = await filesIn(join(folder, "generated"));
    expect(Object.keys(made).length).toBeGreaterThan(0);
    expect(made).toEqual(await filesIn(join(root, protocols, "../generated")));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each(protocolFolders)("the .proto files of %s follow buf's rules", (protocols) => {
  const buf = join(root, "node_modules/.bin/buf");
  const cwd = join(root, protocols);
  expect(execFileSync(buf, ["lint"], { cwd, encoding: "utf8" })).toBe("");
  expect(execFileSync(buf, ["format", "--diff"], { cwd, encoding: "utf8" })).toBe("");
});

async function filesIn(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts")).toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}
