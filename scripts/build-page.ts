import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";
import type { PageFiles } from "../src/reports/viewer/page-files.ts";

const require = createRequire(import.meta.url);

/** The packages that the page's script bundles. Their licences must be included. */
const contained = ["preact", "uplot"];

/** Builds the viewer's page. */
export async function buildPage(): Promise<PageFiles> {
  const sources = join(import.meta.dirname, "../src/reports/viewer/page");
  const bundle = await rolldown({
    input: join(sources, "main.tsx"),
    platform: "browser",
    tsconfig: join(sources, "tsconfig.json"),
  });
  const { output } = await bundle.generate({ format: "esm", minify: true, postBanner: await licenses() });
  await bundle.close();
  const styles = [require.resolve("uplot/dist/uPlot.min.css"), join(sources, "page.css")];
  const texts = await Promise.all(styles.map((path) => readFile(path, "utf8")));
  return { script: output[0].code, style: texts.join("\n") };
}

/** Returns the licences as a comment. */
async function licenses(): Promise<string> {
  const texts = contained.map(async (name) => {
    const folder = dirname(require.resolve(`${name}/package.json`));
    return `${name}\n\n${(await readFile(join(folder, "LICENSE"), "utf8")).trim()}`;
  });
  return `/*!\n${(await Promise.all(texts)).join("\n\n\n")}\n*/`;
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, "../dist/src/reports/viewer/page");
  const { script, style } = await buildPage();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "page.js"), script);
  await writeFile(join(folder, "page.css"), style);
}
