import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { TransformersLibrary } from "../../src/core/policy/transformers-js/index.ts";
import { execute } from "./execute.ts";
import { provideFolder, pythonOf } from "./python-environment.ts";

/**
 * The folder of the packages that `transformers serve` and an ONNX export need in addition to the interop environment.
 * Created if missing.
 */
export async function provideServingPackages(environment: string): Promise<string> {
  const requirements = join(import.meta.dirname, "serving-requirements.txt");
  const hash = createHash("sha256")
    .update(await readFile(requirements))
    .digest("hex");
  const folder = join(environment, "packages", `serving-${hash.slice(0, 8)}`);
  await provideFolder(folder, async (partial) => {
    console.log(`Installing a model server for Python into ${folder} (once, about 30 MB to download).`);
    await execute(
      pythonOf(environment),
      [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--no-cache-dir",
        "--target",
        partial,
        "-r",
        requirements,
      ],
      { timeoutMs: 600_000 },
    );
  });
  return folder;
}

/** The tested version of transformers.js, the newest one with the same onnxruntime-node. */
const libraryVersion = "4.3.1";

/** transformers.js, installed next to the interop environment if it is missing. */
export async function provideTransformersLibrary(environment: string): Promise<TransformersLibrary> {
  const library = await providePackage({
    environment,
    name: "@huggingface/transformers",
    version: libraryVersion,
    main: "dist/transformers.node.mjs",
    download: "150 MB",
  });
  return library as TransformersLibrary;
}

/** A package of npm with its dependencies, installed next to the interop environment if it is missing. */
export async function providePackage(options: {
  readonly environment: string;
  readonly name: string;
  readonly version: string;
  /** The file to import. */
  readonly main: string;
  /** A text such as "1 MB". */
  readonly download: string;
}): Promise<unknown> {
  const { environment, name, version, main, download } = options;
  const folder = join(environment, "packages", `${name.replace(/\W+/g, "-").slice(1)}-${version}`);
  await provideFolder(folder, async (partial) => {
    console.log(`Installing ${name} into ${folder} (once, about ${download} to download).`);
    await mkdir(partial, { recursive: true });
    await writeFile(join(partial, "package.json"), '{ "private": true }');
    const flags = ["--prefix", partial, "--ignore-scripts", "--no-audit", "--no-fund"];
    await execute("npm", ["install", ...flags, `${name}@${version}`], { timeoutMs: 900_000 });
  });
  return import(/* @vite-ignore */ pathToFileURL(join(folder, "node_modules", name, main)).href);
}

/** The folder of packages in which a server writes its files. */
export function cacheFolder(packages: string): string {
  return join(dirname(packages), "cache");
}
