import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { LyceumError } from "../src/contract/errors/index.ts";
import { makeFolder } from "../src/core/files/make-folder.ts";
import { visibleText } from "../src/core/text/visible-text.ts";
import { packageReference } from "./package-reference.ts";

const ending = ".template";

/** The result of {@link initPackage}. */
export interface InitializedPackage {
  readonly folder: string;
  /** The paths of the files, relative to the folder. */
  readonly files: readonly string[];
  /** The `package.json` of a folder above, whose package the new one is inside of. */
  readonly within?: string | undefined;
  /** The reference to Lyceum in its `package.json`. */
  readonly reference: string;
}

/**
 * Writes a working environment package to a folder with its name. Creates the folder if it is missing. If the folder
 * is inside another package, asks `confirm` first. Throws `config.invalid` for an invalid npm name, and for a folder that
 * is not empty, and `aborted` if the answer is no.
 */
export async function initPackage(
  name: string,
  { confirm }: { readonly confirm?: ((question: string) => Promise<boolean>) | undefined } = {},
): Promise<InitializedPackage> {
  checkName(name);
  const folder = basename(name);
  await refuseFull(folder);
  const within = packageAbove(resolve(folder));
  if (
    within !== undefined &&
    confirm !== undefined &&
    !(await confirm(`${visibleText(within)} is a package. ${question}`))
  ) {
    throw new LyceumError({ code: "aborted", message: "Nothing was written." });
  }
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
  return { folder, files, within, reference };
}

const question = "Create a package of its own inside of it?";

/** Returns the nearest `package.json` above a folder. */
function packageAbove(folder: string): string | undefined {
  const parent = dirname(folder);
  if (parent === folder) return undefined;
  const file = join(parent, "package.json");
  return existsSync(file) ? file : packageAbove(parent);
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
