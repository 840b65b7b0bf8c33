import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { repository } from "../examples/run-program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as { readonly version: string };

it("has a section for the version of the package", async () => {
  const text = await readFile(join(repository, "CHANGELOG.md"), "utf8");
  expect(text).toMatch(/^# Changelog\n\n## \d/);
  expect(text).toContain(`\n## ${manifest.version}\n`);
});

it("takes the changes of changesets, which also raise the version", async () => {
  const folder = temporaryFolder();
  try {
    const name = "lyceum";
    await writeFile(join(folder, "package.json"), JSON.stringify({ name, version: manifest.version, private: false }));
    await writeFile(join(folder, "package-lock.json"), "{}");
    await mkdir(join(folder, ".changeset"));
    const config = await readFile(join(repository, ".changeset/config.json"), "utf8");
    await writeFile(join(folder, ".changeset/config.json"), config);
    await writeFile(join(folder, "CHANGELOG.md"), await readFile(join(repository, "CHANGELOG.md"), "utf8"));
    await writeFile(join(folder, ".changeset/some-change.md"), `---\n"${name}": minor\n---\n\nTasks have names.\n`);
    await symlink(join(repository, "node_modules"), join(folder, "node_modules"), "junction");
    const program = join(repository, "node_modules/@changesets/cli/bin.js");
    const run = promisify(execFile);
    await run("git", ["init", "--quiet", "--initial-branch", "main"], { cwd: folder });
    await run(process.execPath, [program, "version"], { cwd: folder });
    const after = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as typeof manifest;
    const [major, minor] = manifest.version.split(".").map(Number);
    expect(after.version).toBe(`${major}.${minor! + 1}.0`);
    const text = await readFile(join(folder, "CHANGELOG.md"), "utf8");
    const places = [`## ${after.version}`, "Tasks have names.", `## ${manifest.version}`].map((part) =>
      text.indexOf(part),
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBeGreaterThan(0);
    expect(await readdir(join(folder, ".changeset"))).not.toContain("some-change.md");
  } finally {
    await rm(folder, { recursive: true });
  }
});
