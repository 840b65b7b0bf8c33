import { readFile } from "node:fs/promises";
import type { Language } from "../../../sandbox/execution.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { walk } from "./form-scope.ts";
import { helperUsage } from "./helper-usage.ts";
import { readJavascript } from "./javascript-reader.ts";
import type { FormFunction, FormStatement, SyntaxForm } from "./syntax-form.ts";
import { isThinWrapper } from "./thin-wrapper.ts";
import { readTypescript } from "./typescript-reader.ts";

/** The findings in the syntax tree of one agent's code. */
export interface AgentStructure {
  /** The reason why the code does not parse, with line and column; absent if it parses. */
  readonly problem?: string;
  /** True if the code defines the expected function. */
  readonly defined: boolean;
  /** True if that function returns a value. */
  readonly returns: boolean;
}

/** The findings in the syntax trees of both agents' code. */
export interface PairStructure {
  readonly aux: AgentStructure;
  readonly main: AgentStructure;
  /** True if reachable code of main calls aux and main does not define its own aux. */
  readonly called: boolean;
  /** True if aux's return value reaches main's result. */
  readonly used: boolean;
  /** True if main only returns aux's result. */
  readonly wrapper: boolean;
}

/** The name of aux's function. */
export const auxName = "aux";

/**
 * Analyses the code of both agents without running it. Parses JavaScript in this process, TypeScript after the sandbox
 * has removed its types, and Python with its own parser in the sandbox. Resolves with an error if the sandbox fails.
 * Rejects with the signal's reason.
 */
export async function pairStructure(options: {
  readonly sandbox: Sandbox;
  readonly language: Language;
  readonly aux: string;
  readonly main: string;
  readonly entryPoint: string;
  readonly signal?: AbortSignal;
}): Promise<PairStructure | { readonly error: ErrorData }> {
  const { entryPoint } = options;
  const forms = await readers[options.language](options);
  if ("error" in forms) return forms;
  const [aux, main] = forms as [SyntaxForm, SyntaxForm];
  return analyse({ aux, main, entryPoint });
}

function analyse(options: {
  readonly aux: SyntaxForm;
  readonly main: SyntaxForm;
  readonly entryPoint: string;
}): PairStructure {
  const { aux, main, entryPoint } = options;
  const agents = { aux: agentStructure(aux, auxName), main: agentStructure(main, entryPoint) };
  const unused = { ...agents, called: false, used: false, wrapper: false };
  if (!main.ok || !agents.main.defined) return unused;
  try {
    const asked = { module: main.body, entry: entryPoint, helper: auxName };
    const { called, used, effective } = helperUsage(asked);
    return { ...agents, called, used, wrapper: used && isThinWrapper({ ...asked, effective }) };
  } catch (error) {
    // The code is nested too deeply for the stack.
    if (error instanceof RangeError) return unused;
    throw error;
  }
}

function agentStructure(form: SyntaxForm, name: string): AgentStructure {
  if (!form.ok) {
    const { message, line, column } = form;
    const place = line === 0 ? "" : `, line ${line}${column === 0 ? "" : `, column ${column}`}`;
    return { problem: message + place, defined: false, returns: false };
  }
  const functions = [...walk(form.body)].filter((statement): statement is FormFunction => statement.k === "def");
  const last = functions.findLast(({ id }) => id === name);
  return { defined: last !== undefined, returns: last !== undefined && givesValue(last.body) };
}

/** Returns true if a body returns or yields a value. */
function givesValue(body: readonly FormStatement[]): boolean {
  return [...walk(body)].some((statement) => {
    if (statement.k === "return") return statement.value !== null;
    return (statement.k === "drop" || statement.k === "set") && statement.value.k === "yield";
  });
}

/** The code of both agents. */
interface PairSources {
  readonly sandbox: Sandbox;
  readonly aux: string;
  readonly main: string;
  readonly signal?: AbortSignal;
}

type PairForms = readonly SyntaxForm[] | { readonly error: ErrorData };

const readers: Readonly<Record<Language, (options: PairSources) => PairForms | Promise<PairForms>>> = {
  python: readPython,
  javascript: ({ aux, main }) => [readJavascript(aux), readJavascript(main)],
  typescript: async ({ aux, main, ...rest }) => {
    const forms = await Promise.all([aux, main].map((source) => readTypescript({ ...rest, source })));
    return forms.find((form) => "error" in form) ?? (forms as SyntaxForm[]);
  },
};

async function readPython(options: PairSources): Promise<PairForms> {
  const { sandbox, aux, main, signal } = options;
  const { status, cases, error } = await sandbox.execute({
    language: "python",
    files: { "reader.py": await readFile(new URL("./reader.py", import.meta.url), "utf8") },
    entry: "reader.py",
    task: { kind: "calls", function: "read", cases: [{ args: [aux] }, { args: [main] }] },
    signal,
  });
  signal?.throwIfAborted();
  if (status === "infra_error" || status === "aborted") {
    const message = `The code could not be parsed${error === undefined ? "" : `: ${error.message}`}`;
    return { error: { name: "LyceumError", code: "sandbox.unavailable", message } };
  }
  return cases.map(({ value }) =>
    typeof value === "string"
      ? (JSON.parse(value) as SyntaxForm)
      : { ok: false, message: "the code is too large to parse", line: 0, column: 0 },
  );
}
