import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { readJavascript } from "./javascript-reader.ts";
import type { SyntaxForm } from "./syntax-form.ts";

/** Returns the other file of its request, which the sandbox has converted to JavaScript. */
const reader = 'function read() { return require("fs").readFileSync("code.ts"); }';

/**
 * Parses TypeScript into its form, without running it. The sandbox removes the types and does not check them. Deeply
 * nested code breaks Node's type stripping for the rest of its process, so this process must not do it. Resolves with
 * an error if the sandbox fails. Rejects with the signal's reason.
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
    signal,
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
