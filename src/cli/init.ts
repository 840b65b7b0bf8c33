import { readdir, readFile, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, join, resolve } from "node:path";
import { LyceumError } from "../contract/errors/index.ts";
import { makeFolder } from "../core/files/make-folder.ts";
import { packageReference } from "./package-reference.ts";

const ending = ".template";

/** The result of {@link initPackage}. */
export interface InitializedPackage {
  readonly folder: string;
  /** The paths of the files, relative to the folder. */
  readonly files: readonly string[];
  /** The reference to Lyceum in its `package.json`. */
  readonly reference: string;
}

/**
 * Writes a working environment package to a folder with its name. Creates the folder if it is missing. Throws
 * `config.invalid` for an invalid npm name, and for a folder that is not empty.
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
    // npm does not pack a file called .gitignore, so the template has another name.
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
    message: valid ? `The name "${name}" is taken.` : `"${name}" is not a valid package name.`,
    hint: "Use lower-case letters, digits and dashes, such as my-env or @me/my-env. The folder gets the same name.",
    data: { name },
  });
}

/** Throws for a folder that is not empty, and for a path that is not a folder. */
async function refuseFull(folder: string): Promise<void> {
  const problem = await readdir(folder).then(
    (names) => (names.length === 0 ? undefined : "is not empty"),
    (error: NodeJS.ErrnoException) =>
      error.code === "ENOENT" ? undefined : `is not a writable folder (${error.code})`,
  );
  if (problem === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${folder} ${problem}.`,
    hint: "Choose another name, or move the existing one away.",
    data: { folder },
  });
}
