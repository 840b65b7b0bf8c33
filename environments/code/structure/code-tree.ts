import { readFile } from "node:fs/promises";
import { parse } from "acorn";
import type { Language } from "../../../sandbox/execution.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { nodesOf } from "./node-parts.ts";

/** A node of acorn's tree of JavaScript, or of Python's own tree, with the fields of its type. */
export interface CodeNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The statements of a program, or the reason why it does not parse, with line and column if they are known. */
export type CodeTree = { readonly body: readonly CodeNode[] } | { readonly problem: string };

/** Source code and the sandbox that reads it. */
export interface SourceOptions {
  readonly sandbox: Sandbox;
  readonly language: Language;
  readonly source: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Parses code without running it: Python with its own parser in the sandbox, JavaScript in this process, and TypeScript
 * after the sandbox has removed its types. Deeply nested TypeScript breaks Node's type stripping for the rest of its
 * process, so this process must not do it. Resolves with an error if the sandbox fails. Rejects with the signal's reason.
 */
export async function readCode(options: SourceOptions): Promise<CodeTree | { readonly error: ErrorData }> {
  const { language, source } = options;
  if (language === "javascript") return javascriptTree(source);
  const read = await readInSandbox(options);
  if (typeof read !== "string") return read;
  return language === "python" ? (JSON.parse(read) as CodeTree) : javascriptTree(read);
}

/** Returns the other file of its request, which the sandbox has converted to JavaScript. */
const typescriptReader = 'function read() { return require("fs").readFileSync("code.ts"); }';

async function readInSandbox({ sandbox, language, source, signal }: SourceOptions) {
  const isPython = language === "python";
  const python = isPython ? await readFile(new URL("./reader.py", import.meta.url), "utf8") : "";
  const entry = isPython ? "reader.py" : "reader.js";
  const { status, cases, error } = await sandbox.execute({
    language: isPython ? "python" : "javascript",
    files: isPython ? { [entry]: python } : { [entry]: typescriptReader, "code.ts": source },
    entry,
    task: { kind: "calls", function: "read", cases: [{ args: isPython ? [source] : [] }] },
    signal,
  });
  signal?.throwIfAborted();
  if (status === "infra_error" || status === "aborted") {
    const message = `The code could not be parsed${error === undefined ? "" : `: ${error.message}`}`;
    return { error: { name: "LyceumError", code: "sandbox.unavailable", message } as const };
  }
  const text = cases[0]?.value;
  if (typeof text === "string") return text;
  return { problem: (status === "load_error" && error?.message) || "the code is too large to parse" };
}

function javascriptTree(source: string): CodeTree {
  try {
    return { body: nodesOf(parse(source, { ecmaVersion: "latest", sourceType: "script", allowHashBang: true }).body) };
  } catch (error) {
    const place = / \((\d+):(\d+)\)$/;
    const { message } = error as SyntaxError;
    return { problem: message.replace(place, (_, line, column) => `, line ${line}, column ${Number(column) + 1}`) };
  }
}
