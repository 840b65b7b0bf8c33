/** The scripts of a guest that require each other. */
export interface ScriptModules {
  /** The entry's `require`. */
  readonly require: (specifier: unknown) => unknown;
  /** The entry's `module`. */
  readonly entry: { exports: unknown };
}

/**
 * `require` of a request's files, of Node's modules that a pure program may use, and of the part of `fs` with which
 * programs read their input. Sent to an isolate as
 * source text, so it refers to nothing but its arguments. The first may be filled in later.
 */
export function createModules(
  options: {
    readonly entry: string;
    readonly files: Readonly<Record<string, string>>;
    readonly stdin: string;
  },
  /** Returns one of Node's modules, in a list, or undefined if it does not exist here. */
  findBuiltIn: (name: string) => readonly [unknown] | undefined,
): ScriptModules {
  const { apply } = Reflect;
  const { hasOwn } = Object;
  const { parse } = JSON;
  const stringOf = String;
  const NewError = Error;
  // biome-ignore lint/security/noGlobalEval: running code is what an isolate is for.
  const evaluate = globalThis.eval;
  const fileSystem = {
    readFileSync: (path: unknown) => {
      if (path === 0 || path === "/dev/stdin") return options.stdin;
      const name = stringOf(path);
      if (hasOwn(options.files, name)) return options.files[name];
      throw new NewError(`ENOENT: no such file: ${name}`);
    },
  };
  const loaded: Record<string, { exports: unknown }> = { __proto__: null } as never;
  const requireFrom =
    (from: string) =>
    (specifier: unknown): unknown => {
      const name = stringOf(specifier);
      if (name === "fs" || name === "node:fs") return fileSystem;
      const builtIn = name[0] === "." ? undefined : findBuiltIn(name);
      if (builtIn !== undefined) return builtIn[0];
      const file = resolve(from, name);
      if (file === undefined) throw new NewError(`Cannot find module '${name}'`);
      const known = file === options.entry ? module : loaded[file];
      if (known !== undefined) return known.exports;
      const required: { exports: unknown } = { exports: {} };
      loaded[file] = required;
      const source = options.files[file]!;
      if (file.endsWith(".json")) required.exports = parse(source);
      else {
        const run = evaluate(`(function (exports, require, module) {${source}\n})\n//# sourceURL=${file}`);
        apply(run, required.exports, [required.exports, requireFrom(file), required]);
      }
      return required.exports;
    };
  const resolve = (from: string, specifier: string): string | undefined => {
    const parts = from.split("/").slice(0, -1);
    for (const part of specifier.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== ".") parts.push(part);
    }
    const path = parts.join("/");
    for (const name of [path, `${path}.js`, `${path}.ts`, `${path}.json`, path.replace(/\.js$/, ".ts")]) {
      if (hasOwn(options.files, name)) return name;
    }
    return undefined;
  };
  const module: { exports: unknown } = { exports: {} };
  return { require: (specifier) => requireFrom(options.entry)(specifier), entry: module };
}
