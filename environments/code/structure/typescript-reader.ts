import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { readJavascript } from "./javascript-reader.ts";
import type { SyntaxForm } from "./syntax-form.ts";

/** Gives back the other file of its request, which the sandbox has made JavaScript. */
const reader = 'function read() { return require("fs").readFileSync("code.ts"); }';

/**
 * Reads TypeScript into its form, without running it. Types are taken out in the sandbox, and never checked: code that
 * is nested deeply enough breaks Node's converter for the rest of its process, which must not be this one. Resolves with
 * an error where the sandbox failed; rejects with the signal's reason.
 */
export async function readTypescript(options: {
  readonly sandbox: Sandbox;
  readonly source: string;
  readonly signal?: AbortSignal;
}): Promise<SyntaxForm | { readonly error: ErrorData }> {
  const { sandbox, source, signal } = options;
  const { status, cases, error } = await sandbox.execute({
    language: "javascript",
    files: { "reader.js": reader, "code.ts": source },
    entry: "reader.js",
    task: { kind: "calls", function: "read", cases: [{ args: [] }] },
    ...(signal === undefined ? {} : { signal }),
  });
  signal?.throwIfAborted();
  if (status === "infra_error" || status === "aborted") {
    const message = `The code could not be parsed${error === undefined ? "" : `: ${error.message}`}`;
    return { error: { name: "LyceumError", code: "sandbox.unavailable", message } };
  }
  const [read] = cases;
  if (typeof read?.value === "string") return readJavascript(read.value);
  const message = status === "load_error" && error !== undefined ? error.message : "the code is too large to parse";
  return { ok: false, message, line: 0, column: 0 };
}
