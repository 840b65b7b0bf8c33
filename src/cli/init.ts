import { readdir, readFile, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, join, resolve } from "node:path";
import { LyceumError } from "../contract/errors/index.ts";
import { makeFolder } from "../core/files/make-folder.ts";
import { packageReference } from "./package-reference.ts";

const ending = ".template";

/** What {@link initPackage} wrote. */
export interface InitializedPackage {
  readonly folder: string;
  /** Relative to the folder. */
  readonly files: readonly string[];
  /** How its `package.json` refers to Lyceum. */
  readonly reference: string;
}

/**
 * Writes a working environment package into a folder of its name, which is made where it is missing. Throws
 * `config.invalid` for a name that npm would refuse, and for a folder that holds something already.
 */
export async function initPackage(name: string): Promise<InitializedPackage> {
  checkName(name);
  const folder = basename(name);
  await refuseFull(folder);
  await makeFolder(folder);
  const template = join(import.meta.dirname, "template");
  const reference = packageReference(resolve(folder));
  const files: string[] = [];
  for (const file of (await readdir(template)).toSorted()) {
    const text = await readFile(join(template, file), "utf8");
    // npm leaves a file called .gitignore out of what it packs.
    const written = file.slice(0, -ending.length).replace(/^gitignore$/, ".gitignore");
    const filled = text.replaceAll("{{name}}", name).replaceAll('"{{lyceum}}"', () => JSON.stringify(reference));
    await writeFile(join(folder, written), filled, { flag: "wx" });
    files.push(written);
  }
  return { folder, files, reference };
}

function checkName(name: string): void {
  const valid = /^(@[a-z0-9][a-z0-9._-]*\/)?[a-z0-9][a-z0-9._-]*$/.test(name) && name.length <= 214;
  if (valid && !isBuiltin(name) && !["lyceum", "node_modules"].includes(name)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: valid ? `The name "${name}" is taken.` : `"${name}" is no name for a package.`,
    hint: "Use small letters, digits and dashes, such as my-env or @me/my-env; the folder gets the name too.",
    data: { name },
  });
}

/** Throws for a folder with something in it, and for what is no folder. */
async function refuseFull(folder: string): Promise<void> {
  const problem = await readdir(folder).then(
    (names) => (names.length === 0 ? undefined : "is not empty"),
    (error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" ? undefined : `is no folder to write in (${error.code})`,
  );
  if (problem === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${folder} ${problem}.`,
    hint: "Choose another name, or move what is there out of the way.",
    data: { folder },
  });
}
