import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { LyceumError, toErrorData } from "../src/contract/errors/index.ts";
import { startCall } from "../src/core/rollout/running-call.ts";
import { importHint } from "./import-hint.ts";

/**
 * Imports a module of the user and returns what `find` takes from its exports. `what` is a noun for that, such as
 * `algorithm`. The hints are for a missing file, and for a module from which `find` returns undefined. Throws
 * `data.not-found` if the file is missing, and `config.invalid` if it cannot be imported or lacks the export.
 */
export async function importFromUser<Value>(options: {
  readonly path: string;
  readonly what: string;
  readonly hints: { readonly missing: string; readonly lacking: string };
  readonly find: (module: Readonly<Record<string, unknown>>) => Value | undefined;
}): Promise<Value> {
  const { path, what, hints, find } = options;
  const failure = (message: string, hint: string, cause?: unknown): LyceumError =>
    new LyceumError({ code: "config.invalid", message, hint, data: { path }, cause });
  if (!existsSync(path)) {
    const message = `There is no ${what} file ${path}.`;
    throw new LyceumError({ code: "data.not-found", message, hint: hints.missing, data: { path } });
  }
  const module = await startCall(
    { subject: `module "${path}"`, call: "import" },
    (): Promise<Readonly<Record<string, unknown>>> => import(pathToFileURL(resolve(path)).href),
  ).catch((cause: unknown) => {
    throw failure(`The ${what} ${path} cannot be imported: ${toErrorData(cause).message}`, importHint(cause), cause);
  });
  const found = find(module);
  if (found !== undefined) return found;
  const names = Object.keys(module).join(", ") || "none";
  throw failure(`${path} exports no ${what}: its exports are ${names}.`, hints.lacking);
}
