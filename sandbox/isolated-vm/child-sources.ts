import { readFile } from "node:fs/promises";
import path from "node:path";
import { readNodeLibraries } from "./node-libraries.ts";

/** The child program as text, for environments in which the package is not installed. */
export interface ChildSources {
  /** Its files by their paths relative to `root`. They are linked by relative imports. */
  readonly files: Readonly<Record<string, string>>;
  /** The path of the file to run. */
  readonly entry: string;
}

const extension = path.extname(import.meta.url);
const root = new URL("../../", import.meta.url);
/** Matches an import or export with a relative path, except type-only ones. */
const imports = /^\s*(?:import|export)(?!\s+type\b)[^;"']*?from\s*["'](\.[^"']+)["']|import\(["'](\.[^"']+)["']\)/gm;

/** Reads the child program and all files of this package that it imports. */
export async function readChildSources(): Promise<ChildSources> {
  const entry = `sandbox/isolated-vm/child${extension}`;
  const files: Record<string, string> = {};
  const read = async (file: string): Promise<void> => {
    if (file in files) return;
    files[file] = "";
    const source = await readFile(new URL(file, root), "utf8");
    files[file] = source;
    const imported = [...source.matchAll(imports)].map((match) => match[1] ?? match[2]!);
    await Promise.all(imported.map((specifier) => read(path.posix.join(path.posix.dirname(file), specifier))));
  };
  // The packages of the libraries are not installed there either.
  const libraries = `sandbox/isolated-vm/node-libraries${extension}`;
  files[libraries] = `export const readNodeLibraries = () => (${JSON.stringify(readNodeLibraries())});`;
  await read(entry);
  return { files, entry };
}

/**
 * A program for `node --input-type=module --eval`. It reads one frame with {@link ChildSources} from standard input and
 * runs the files as if they were in `/lyceum`, whose `node_modules` contains isolated-vm.
 */
export const childBootstrap: string = `
import { readSync } from "node:fs";
import { registerHooks } from "node:module";
const read = (length) => {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = readSync(0, bytes, at, length - at, null);
    if (count === 0) throw new Error("The input ended before the program.");
    at += count;
  }
  return bytes;
};
const { files, entry } = JSON.parse(read(read(4).readUInt32BE()).toString());
const root = "file:///lyceum/";
const fileOf = (url) => (url.startsWith(root) ? files[url.slice(root.length)] : undefined);
registerHooks({
  resolve: (specifier, context, next) => {
    const url = URL.canParse(specifier, context.parentURL) ? new URL(specifier, context.parentURL).href : "";
    return fileOf(url) === undefined ? next(specifier, context) : { url, shortCircuit: true };
  },
  load: (url, context, next) => {
    const source = fileOf(url);
    if (source === undefined) return next(url, context);
    return { source, format: url.endsWith(".ts") ? "module-typescript" : "module", shortCircuit: true };
  },
});
await import(root + entry);
`;
