import { existsSync, readFileSync, statSync } from "node:fs";
import { findPackageJSON, isBuiltin, registerHooks } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isRemoteAddress } from "../server/client/remote-address.ts";
import { LyceumError, toErrorData } from "../src/contract/errors/index.ts";
import { nearestName } from "../src/contract/errors/nearest-name.ts";
import { createEnvironmentRegistry, type EnvironmentRegistry } from "../src/core/environment/registry.ts";
import { startCall } from "../src/core/rollout/running-call.ts";
import { environmentEntryOf } from "./environment-module.ts";
import { importHint } from "./import-hint.ts";
import { isModulePath } from "./module-path.ts";
import { packageVersion } from "./package-version.ts";
import { remoteEntry } from "./remote-entry.ts";

/**
 * Returns the registry, with the environment `id` added if it is not built in: a file (`./my-env.ts`), a package folder
 * (`.`) or an installed package (`my-env`), whose module exports it, or the address of a server (`https://host`,
 * `grpc://host:port`). A name can include a version: `my-env@1.2`.
 *
 * A name that is similar to a known one changes nothing, so that the registry suggests the known one. Throws
 * `config.unknown-name` if nothing has this name, `config.invalid` for another version and for other URLs (`data:`,
 * `file:`), `data.not-found` for a missing file, `environment.failed` if the module throws, and `environment.contract`
 * if it exports no environment.
 */
export async function withEnvironment(
  registry: EnvironmentRegistry,
  id: string,
  options: {
    /** The folder that relative paths start from. */
    readonly folder: string;
    /** The folder from which packages are resolved. The current folder by default. */
    readonly project?: string;
  },
): Promise<EnvironmentRegistry> {
  const { name, version } = splitVersion(id);
  const known = registry.list().map((entry) => entry.id);
  if (known.includes(id)) return registry;
  if (isRemoteAddress(id)) return createEnvironmentRegistry([...registry.list(), remoteEntry(id)]);
  const builtIn = known.includes(name);
  if (!builtIn) refuseAddress(id);
  const url = builtIn ? undefined : locate(name, { ...options, known });
  if (!builtIn && url === undefined) return registry;
  const entry = url === undefined ? registry.get(name) : environmentEntryOf(await importModule(url, name), name);
  if (version !== undefined) {
    const found = entry.version ?? (url === undefined ? packageVersion() : manifestVersion(url));
    checkVersion({ name, version, found });
  }
  return createEnvironmentRegistry([...registry.list(), { ...entry, id }]);
}

/** Returns true if an id, with or without a version, names an environment of the registry. */
export function isBuiltIn(registry: EnvironmentRegistry, id: string): boolean {
  return registry.list().some((entry) => entry.id === id || entry.id === splitVersion(id).name);
}

/**
 * Refuses URLs, because a URL such as `data:` can contain the code itself. A scheme has at least two letters: one
 * letter is a drive.
 */
function refuseAddress(name: string): void {
  const scheme = /^\s*([a-z][a-z\d+.-]+:)/i.exec(name)?.[1];
  if (scheme === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `"${name.length > 60 ? `${name.slice(0, 60)}...` : name}" is an address, and an environment is a name, a file or a package.`,
    hint: `Code is not loaded from ${scheme} URLs. Use a file, such as ./environment.ts, or the address of a server, such as http://127.0.0.1:8000.`,
    data: { scheme },
  });
}

/** Splits `math@1.2` into name and version. A file path is not split. */
function splitVersion(id: string): { readonly name: string; readonly version?: string } {
  const match = isModulePath(id) ? undefined : /^(.+)@(\d[\w.+-]*)$/.exec(id);
  return match ? { name: match[1]!, version: match[2]! } : { name: id };
}

/** Returns the place of the module. Returns undefined if the name is probably misspelled. */
function locate(
  name: string,
  options: { readonly folder: string; readonly project?: string; readonly known: readonly string[] },
): string | undefined {
  const { folder, project = process.cwd(), known } = options;
  if (isModulePath(name)) {
    const path = resolve(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isFile()) return pathToFileURL(path).href;
    const packaged = found?.isDirectory() ? resolvePackageFolder(path, name) : undefined;
    if (packaged !== undefined) return packaged;
    throw new LyceumError({
      code: "data.not-found",
      message: found === undefined ? `There is no environment file ${path}.` : `The environment ${path} is not a file.`,
      hint: "Give the path of the module, such as ./environment.ts. In a config, its path is relative to the config file.",
      data: { path },
    });
  }
  try {
    return resolveFrom(name, project);
  } catch (error) {
    // The error of an existing package that cannot be resolved is more precise than an unknown name.
    if (manifestOf(name, project) !== undefined) throw importFailure(name, error);
    if (nearestName(name, known) !== undefined) return undefined;
    throw new LyceumError({
      code: "config.unknown-name",
      message: `Unknown environment "${name}": it is not built in, and no package of this name is installed in ${project}.`,
      hint: `Built in: ${known.join(", ")}. Install the package, or name a file, such as ./${name}.ts.`,
      data: { name, known: [...known] },
    });
  }
}

/** Returns the module that a package folder exports. Returns undefined if its package.json names none. */
function resolvePackageFolder(folder: string, id: string): string | undefined {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return undefined;
  try {
    const { name, exports } = JSON.parse(readFileSync(path, "utf8")) as { name?: unknown; exports?: unknown };
    // A package can resolve itself by its name if it has exports.
    return typeof name === "string" && exports !== undefined ? resolveFrom(name, folder) : undefined;
  } catch (error) {
    throw importFailure(id, error);
  }
}

/** Resolves a package like an import in `folder`. */
function resolveFrom(name: string, folder: string): string {
  const parentURL = pathToFileURL(join(folder, "importer.js")).href;
  const hooks = registerHooks({ resolve: (specifier, context, next) => next(specifier, { ...context, parentURL }) });
  try {
    const url = import.meta.resolve(name);
    if (isBuiltin(url)) throw new Error(`${name} is a part of Node.`);
    if (!url.startsWith("file:")) throw new Error(`it is at ${url}, but code is loaded only from files.`);
    return url;
  } finally {
    hooks.deregister();
  }
}

function manifestOf(name: string, folder: string): string | undefined {
  try {
    return findPackageJSON(name, pathToFileURL(join(folder, "importer.js")));
  } catch {
    return undefined;
  }
}

async function importModule(url: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await startCall({ subject: `module "${name}"`, call: "import" }, () => import(url))) as Readonly<
      Record<string, unknown>
    >;
  } catch (error) {
    throw importFailure(name, error);
  }
}

function importFailure(name: string, error: unknown): LyceumError {
  return new LyceumError({
    code: "environment.failed",
    message: `The environment "${name}" cannot be imported: ${toErrorData(error).message}`,
    hint: importHint(error),
    data: { name },
    cause: error,
  });
}

/** Returns the version of the package that a module belongs to. */
function manifestVersion(url: string): string | undefined {
  const path = findPackageJSON(url);
  if (path === undefined) return undefined;
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { readonly version?: unknown };
  return typeof version === "string" ? version : undefined;
}

/** Checks a version. `1`, `1.2` and `1.2.3` match versions that begin with them. */
function checkVersion(options: {
  readonly name: string;
  readonly version: string;
  readonly found: string | undefined;
}): void {
  const { name, version, found } = options;
  if (found === version || found?.startsWith(`${version}.`) === true) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `Version ${version} of the environment "${name}" is requested, but ${found === undefined ? "it has no version" : `version ${found} is installed`}.`,
    hint: `Ask for "${found === undefined ? name : `${name}@${found}`}", or install the other version.`,
    data: { name, version, ...(found === undefined ? {} : { found }) },
  });
}
