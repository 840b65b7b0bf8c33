import { randomBytes } from "node:crypto";
import type ivm from "isolated-vm";
import type { CodeError } from "../execution.ts";
import type { GuestReply } from "./guest/guest.ts";

/** A module that exports what `require` returns. Names that do not exist here are undefined. */
function builtInSource(name: string): string {
  const names = Object.keys(process.getBuiltinModule(name) as object).filter((key) => key !== "default");
  return `const all = require("${name}"); export default all; export const { ${names.join(", ")} } = all;`;
}

/** Node's modules that a pure program may use: those of `createNodeModules`, and `fs` to read the input. */
const nodeModuleNames: ReadonlySet<string> = new Set(
  (
    "assert assert/strict buffer console crypto events fs path path/posix perf_hooks process readline readline/promises " +
    "string_decoder timers timers/promises url util util/types"
  ).split(" "),
);

/** True if code has a line that begins with `import` or `export`. */
export function looksLikeModule(source: string): boolean {
  return /^[ \t]*(?:import\b(?!\s*[(.])|export\b)/m.test(source);
}

/** True if a script failed because it is a module. */
export function needsModule({ error }: GuestReply): boolean {
  return (
    error?.type === "SyntaxError" && /import statement|'export'|import\.meta|await is only valid/.test(error.message)
  );
}

/** The result of a module: its namespace, or its error. */
interface EvaluatedModule {
  readonly namespace?: ivm.Reference;
  /** The name under which the namespace has the kept value. */
  readonly name: string;
  readonly error?: CodeError;
  /** The error of a promise that was rejected and not handled. */
  readonly unhandled?: { readonly error: unknown };
}

/**
 * Runs a module and its imports. Returns its namespace and the name of `kept` in it, an expression that is evaluated at
 * the end of the module. If the module fails, returns the error.
 */
export async function evaluateModule(options: {
  readonly isolate: ivm.Isolate;
  readonly context: ivm.Context;
  readonly files: Readonly<Record<string, string>>;
  readonly entry: string;
  readonly kept: string;
}): Promise<EvaluatedModule> {
  const { isolate, context, files, entry, kept } = options;
  const name = `kept_${randomBytes(8).toString("hex")}`;
  const modules = new Map<string, Promise<ivm.Module>>();
  const paths = new Map<ivm.Module, string>();
  const compiled = new Map<string, ivm.Module>();
  const compile = async (path: string): Promise<ivm.Module> => {
    const source = path.startsWith("node:") ? builtInSource(path) : files[path]!;
    const json = path.endsWith(".json") ? `export default ${source}` : source;
    const text = path === entry ? `${json}\n;export const ${name} = ${kept};` : json;
    const module = await isolate.compileModule(text, { filename: path });
    paths.set(module, path);
    compiled.set(path, module);
    for (const specifier of module.dependencySpecifiers) {
      const dependency = resolve(files, path, specifier);
      if (!modules.has(dependency)) modules.set(dependency, compile(dependency));
      // A cycle must not wait for itself: `compiled` is complete after the whole walk.
      pending.push(modules.get(dependency)!);
    }
    return module;
  };
  const pending: Promise<ivm.Module>[] = [];
  try {
    const first = compile(entry);
    modules.set(entry, first);
    const module = await first;
    for (let i = 0; i < pending.length; i++) await pending[i];
    await module.instantiate(context, (specifier, from) => compiled.get(resolve(files, paths.get(from)!, specifier))!);
    let unhandled: { readonly error: unknown } | undefined;
    try {
      await module.evaluate();
    } catch (error) {
      // An unhandled rejection makes this fail too, after the module has run to its end.
      if (isolate.isDisposed || !(await hasValue(module.namespace, name))) throw error;
      unhandled = { error };
    }
    return { namespace: module.namespace, name, ...(unhandled !== undefined && { unhandled }) };
  } catch (error) {
    if (isolate.isDisposed) throw error;
    return { name, error: errorOf(error, entry) };
  }
}

/** True if a module has run past an export. Before that, reading the export fails. */
export async function hasValue(namespace: ivm.Reference, name: string): Promise<boolean> {
  return namespace.get(name, { reference: true }).then(
    () => true,
    () => false,
  );
}

/** Describes an error that left the isolate: a copy with plain properties, or another thrown value. */
export function errorOf(error: unknown, entry: string): CodeError {
  if (!(error instanceof Error)) return { type: error === null ? "null" : typeof error, message: String(error) };
  const stack = String(error.stack);
  const line = stack.split(`${entry}:`)[1];
  return {
    type: /^([\w$]+): /.exec(stack)?.[1] ?? error.name,
    message: error.message.slice(0, 1000),
    ...(line !== undefined && { line: Number.parseInt(line, 10) }),
  };
}

function resolve(files: Readonly<Record<string, string>>, from: string, specifier: string): string {
  if (nodeModuleNames.has(specifier.replace(/^node:/, ""))) return `node:${specifier.replace(/^node:/, "")}`;
  const path = new URL(specifier, `file:///${from}`).pathname.slice(1);
  const relative = /^\.{0,2}\//.test(specifier);
  const tried = [path, `${path}.js`, `${path}.ts`, path.replace(/\.js$/, ".ts")];
  const found = relative ? tried.find((candidate) => Object.hasOwn(files, candidate)) : undefined;
  if (found === undefined) throw new Error(`Cannot find module '${specifier}'`);
  return found;
}
