import { createRequire } from "node:module";
import { join } from "node:path";
import { LyceumError } from "../../contract/errors/index.ts";

/**
 * Imports an optional package. Throws `config.invalid`, with the package to install, if it is not installed. Errors of
 * the package itself pass through.
 */
export async function importOptional(
  name: string,
  options: { readonly message: string; readonly hint?: string },
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(name)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (!isMissing(name, cause)) throw cause;
    const { message, hint = `Run npm install ${name}.` } = options;
    throw new LyceumError({ code: "config.invalid", message, hint, data: { package: name }, cause });
  }
}

/**
 * True if the package itself is missing, not one of its dependencies. Recognizes the messages of Node and of bundlers.
 */
function isMissing(name: string, error: unknown): boolean {
  const { message } = error as Error;
  return /^(Cannot find package|Could not resolve) ["']/.test(message) && new RegExp(`["']${name}["']`).test(message);
}

/** Returns true if the current folder can import a package. */
export function isInstalled(name: string): boolean {
  try {
    createRequire(join(process.cwd(), "importer.js")).resolve(name);
    return true;
  } catch {
    return false;
  }
}
