import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { LyceumError } from "../../src/contract/errors/index.ts";

/** The viewer's page: its script and its stylesheet. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

let files: Promise<PageFiles> | undefined;

/**
 * Returns the viewer's page: the built one of a package, or one that is built now if Lyceum runs from its source.
 * Throws `data.not-found` if there is neither.
 */
export function readPageFiles(): Promise<PageFiles> {
  files ??= import.meta.filename.endsWith(".ts") ? buildNow() : readBuilt(join(import.meta.dirname, "page"));
  return files;
}

async function readBuilt(folder: string): Promise<PageFiles> {
  const read = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  const reading = Promise.all([read("page.js"), read("page.css")]);
  const [script, style] = await reading.catch((cause: unknown) => {
    throw noPage("Run `npm run build` again, or install the package again.", cause);
  });
  return { script, style };
}

/** A clone has the script and the bundler. A package has neither, so they are not imported by name. */
async function buildNow(): Promise<PageFiles> {
  const script = pathToFileURL(join(import.meta.dirname, "../../scripts/build-page.ts")).href;
  try {
    const { currentPage } = (await import(script)) as { currentPage: () => Promise<PageFiles> };
    return await currentPage();
  } catch (cause) {
    throw noPage("Run `npm ci` in the clone. It installs the bundler.", cause);
  }
}

function noPage(hint: string, cause: unknown): LyceumError {
  return new LyceumError({ code: "data.not-found", message: "The viewer's page is missing.", hint, cause });
}
