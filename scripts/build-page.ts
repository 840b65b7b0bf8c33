import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { sharedStyle } from "../src/reports/training/shared-style.ts";

const require = createRequire(import.meta.url);

/** The packages that the page's script bundles. Their licences must be included. */
const contained = ["preact", "uplot"];

/** Builds the viewer's page, `page.js` and `page.css`, into a folder. */
export async function buildPage(folder: string): Promise<void> {
  const sources = join(import.meta.dirname, "../src/reports/viewer/page");
  const bundle = await rolldown({
    input: join(sources, "main.tsx"),
    platform: "browser",
    tsconfig: join(sources, "tsconfig.json"),
  });
  await mkdir(folder, { recursive: true });
  await bundle.write({ file: join(folder, "page.js"), format: "esm", minify: true, postBanner: await licenses() });
  await bundle.close();
  const styles = [require.resolve("uplot/dist/uPlot.min.css"), join(sources, "page.css")];
  const [plot, page] = await Promise.all(styles.map((path) => readFile(path, "utf8")));
  await writeFile(join(folder, "page.css"), [plot, sharedStyle, page].join("\n"));
}

/** Returns the licences as a comment. */
async function licenses(): Promise<string> {
  const texts = contained.map(async (name) => {
    const folder = dirname(require.resolve(`${name}/package.json`));
    return `${name}\n\n${(await readFile(join(folder, "LICENSE"), "utf8")).trim()}`;
  });
  return `/*!\n${(await Promise.all(texts)).join("\n\n\n")}\n*/`;
}

if (import.meta.main) await buildPage(process.argv[2] ?? join(import.meta.dirname, "../dist/src/reports/viewer/page"));
