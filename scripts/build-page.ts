import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import type { PageFiles } from "../reports/viewer/page-files.ts";

const require = createRequire(import.meta.url);

/** The packages that the page's script bundles. Their licences must be included. */
const contained = ["preact", "uplot"];

const kept = join(import.meta.dirname, "../node_modules/.cache/lyceum/page.json");

/** A built page, and the state of the files that it was built from. */
interface KeptPage extends PageFiles {
  readonly sources: Readonly<Record<string, string>>;
}

/** Returns the viewer's page. Builds it if a file has changed since it was last built. */
export async function currentPage(): Promise<PageFiles> {
  const last = await readKept();
  if (last !== undefined) return last;
  const { sources, ...page } = await buildPage();
  // A user who cannot write to this clone builds the page each time.
  await keep(page, sources).catch(() => undefined);
  return page;
}

async function keep(page: PageFiles, sources: readonly string[]): Promise<void> {
  const states = await Promise.all(sources.map(async (path) => [path, await stateOf(path)] as const));
  await mkdir(dirname(kept), { recursive: true });
  const temporary = `${kept}.${process.pid}`;
  await writeFile(temporary, JSON.stringify({ ...page, sources: Object.fromEntries(states) } satisfies KeptPage));
  await rename(temporary, kept);
}

async function readKept(): Promise<KeptPage | undefined> {
  try {
    const page = JSON.parse(await readFile(kept, "utf8")) as KeptPage;
    const states = Object.entries(page.sources).map(async ([path, state]) => (await stateOf(path)) === state);
    return (await Promise.all(states)).every(Boolean) ? page : undefined;
  } catch {
    return undefined;
  }
}

async function stateOf(path: string): Promise<string> {
  const { mtimeMs, size } = await stat(path);
  return `${mtimeMs} ${size}`;
}

/** Builds the viewer's page. */
async function buildPage(): Promise<PageFiles & { readonly sources: readonly string[] }> {
  const { rolldown } = await import("rolldown");
  const sources = join(import.meta.dirname, "../reports/viewer/page");
  const bundle = await rolldown({
    input: join(sources, "main.tsx"),
    platform: "browser",
    tsconfig: join(sources, "tsconfig.json"),
  });
  const { output } = await bundle.generate({ format: "esm", minify: true, postBanner: await licenses() });
  await bundle.close();
  const styles = [require.resolve("uplot/dist/uPlot.min.css"), join(sources, "page.css")];
  const texts = await Promise.all(styles.map((path) => readFile(path, "utf8")));
  const modules = output[0].moduleIds.filter((id) => isAbsolute(id));
  return { script: output[0].code, style: texts.join("\n"), sources: [...modules, ...styles, import.meta.filename] };
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
  const folder = join(import.meta.dirname, "../dist/reports/viewer/page");
  const { script, style } = await buildPage();
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "page.js"), script);
  await writeFile(join(folder, "page.css"), style);
}
