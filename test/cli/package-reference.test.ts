import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { packageReference, referenceTo } from "../../cli/package-reference.ts";
import { repository } from "../examples/run-program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let home: string;
beforeAll(async () => {
  home = temporaryFolder();
});

/** Creates a project that has the package in `node_modules`, like npm. Returns the installed folder. */
async function install(name: string, options: { readonly resolved?: string; readonly at?: string }): Promise<string> {
  const { resolved, at = "node_modules/lyceum" } = options;
  const root = join(home, name, at);
  await mkdir(root, { recursive: true });
  await writeFile(join(root, "package.json"), '{ "version": "1.2.3" }');
  if (resolved !== undefined) {
    const lock = { packages: { [at]: { version: "1.2.3", resolved } } };
    await writeFile(join(home, name, "node_modules/.package-lock.json"), JSON.stringify(lock));
  }
  return root;
}

describe("the reference of a new package to the package that created it", () => {
  it("is the folder of a clone", () => {
    expect(packageReference(join(dirname(repository), "my-env"))).toBe(
      `file:../${repository.slice(dirname(repository).length + 1)}`,
    );
  });

  it("is the packed file that was installed, for any place of the new package", async () => {
    await writeFile(join(home, "lyceum 1.tgz"), "");
    const root = await install("from-file", { resolved: "file:../lyceum 1.tgz" });
    expect(referenceTo(root, join(home, "from-file/my-env"))).toBe("file:../../lyceum 1.tgz");
    expect(referenceTo(root, join(home, "my-env"))).toBe("file:../lyceum 1.tgz");
  });

  it("is the installed folder if the packed file is gone, or if its source is unknown", async () => {
    const gone = await install("gone", { resolved: "file:../none.tgz" });
    expect(referenceTo(gone, join(home, "my-env"))).toBe("file:../gone/node_modules/lyceum");
    const unknown = await install("unknown", {});
    expect(referenceTo(unknown, join(home, "my-env"))).toBe("file:../unknown/node_modules/lyceum");
  });

  it("is the version if it came from a registry", async () => {
    const resolved = "https://registry.example/lyceum/-/lyceum-1.2.3.tgz";
    const root = await install("registry", { resolved });
    expect(referenceTo(root, join(home, "my-env"))).toBe("^1.2.3");
  });

  it.each([
    "https://files.example/lyceum.tgz",
    "git+ssh://git@forge.example/lyceum.git#abc",
  ])("is the address %s if that had it", async (resolved) => {
    const root = await install("address", { resolved });
    expect(referenceTo(root, join(home, "my-env"))).toBe(resolved);
  });

  it("finds a package below another one", async () => {
    await writeFile(join(home, "nested.tgz"), "");
    const at = "node_modules/other/node_modules/lyceum";
    const root = await install("nested", { resolved: "file:../nested.tgz", at });
    expect(referenceTo(root, join(home, "my-env"))).toBe("file:../nested.tgz");
  });
});
