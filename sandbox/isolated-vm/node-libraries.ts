import { readFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";

/** The packages that stand for parts of Node in an isolate, by the names under which the guest asks for them. */
const packages = {
  buffer: ["buffer/"],
  events: ["events/"],
  inspect: ["node-inspect-extracted"],
  path: ["path-browserify"],
  stringDecoder: ["string_decoder/"],
  hashes: ["@noble/hashes/hmac", "@noble/hashes/legacy", "@noble/hashes/sha2", "@noble/hashes/sha3"],
  structuredClone: ["core-js-pure/web/structured-clone"],
  url: ["core-js-pure/web/url"],
} as const;

/** The text of each library, an expression, by its name. */
export type NodeLibraries = Readonly<Record<string, string>>;

/**
 * Reads the libraries from the installed packages. Each is an expression: the exports of its packages, merged. They are
 * sent to an isolate if its code asks for them.
 */
export function readNodeLibraries(): NodeLibraries {
  const libraries = Object.fromEntries(Object.entries(packages).map(([name, roots]) => [name, bundle(roots)]));
  // It copies `Atomics`, which isolates do not have.
  const inspect = `((globalThis) => ${libraries.inspect})(Object.create(globalThis, { Atomics: { value: {} } }))`;
  return { ...libraries, inspect };
}

const calls = /\brequire\((["'])([^"']+)\1\)/g;

/**
 * Puts CommonJS files and all that they require into one expression. Node's own modules are empty in it, except `buffer`,
 * which is the package.
 */
function bundle(roots: readonly string[]): string {
  const files: string[] = [];
  const numbers = new Map<string, number>();
  const add = (path: string): number => {
    const known = numbers.get(path);
    if (known !== undefined) return known;
    const number = numbers.size;
    numbers.set(path, number);
    const { resolve } = createRequire(path);
    const source = readFileSync(path, "utf8").replace(/^\/\/# sourceMappingURL=.*$/gm, "");
    const linked = source.replace(calls, (_, _quote, specifier: string) => {
      if (specifier === "buffer") return `require(${add(resolve("buffer/"))})`;
      return isBuiltin(specifier) ? "({})" : `require(${add(resolve(specifier))})`;
    });
    files[number] = `function (exports, require, module) {${linked}\n}`;
    return number;
  };
  const { resolve } = createRequire(import.meta.url);
  const required = roots.map((root) => `require(${add(resolve(root))})`);
  return `(() => {
    const files = [${files.join(",\n")}];
    const loaded = [];
    const require = (number) => {
      if (loaded[number] === undefined) {
        loaded[number] = { exports: {} };
        files[number].call(loaded[number].exports, loaded[number].exports, require, loaded[number]);
      }
      return loaded[number].exports;
    };
    return ${required.length === 1 ? required[0] : `Object.assign({}, ${required.join(", ")})`};
  })()`;
}
