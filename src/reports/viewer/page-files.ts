import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LyceumError } from "../../contract/errors/index.ts";

/** The built page: its script and its stylesheet. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

/** The folders of the built page: next to this module, or the build folder of a clone. */
const builtFolders: readonly string[] = [
  join(import.meta.dirname, "page"),
  join(import.meta.dirname, "../../../dist/src/reports/viewer/page"),
];

/** Reads the built page from the first folder that has it. Throws `data.not-found` in a clone without a build. */
export async function readPageFiles(folders: readonly string[] = builtFolders): Promise<PageFiles> {
  for (const folder of folders) {
    try {
      const [script, style] = await Promise.all(
        ["page.js", "page.css"].map((name) => readFile(join(folder, name), "utf8")),
      );
      return { script: script!, style: style! };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  throw new LyceumError({
    code: "data.not-found",
    message: "The viewer's page has not been built.",
    hint: "In a clone, run `npm run build` once; a package of Lyceum has it.",
  });
}
