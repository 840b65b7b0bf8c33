import type { Language } from "../../../sandbox/execution.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import { walk } from "./form-scope.ts";
import { helperUsage } from "./helper-usage.ts";
import { readJavascript } from "./javascript-reader.ts";
import { pythonReader } from "./python-reader.ts";
import type { FormFunction, FormStatement, SyntaxForm } from "./syntax-form.ts";
import { isThinWrapper } from "./thin-wrapper.ts";
import { readTypescript } from "./typescript-reader.ts";

/** What the syntax tree of one agent's code shows. */
export interface AgentStructure {
  /** Why the code does not parse, with line and column; absent where it does. */
  readonly problem?: string;
  /** It defines the function that it should. */
  readonly defined: boolean;
  /** That function returns a value. */
  readonly returns: boolean;
}

/** What the syntax trees of aux's and main's code show. */
export interface PairStructure {
  readonly aux: AgentStructure;
  readonly main: AgentStructure;
  /** Code of main that can be reached calls aux, and does not hide it under a definition of its own. */
  readonly called: boolean;
  /** What aux returns reaches main's result. */
  readonly used: boolean;
  /** Main does nothing but hand aux's result on. */
  readonly wrapper: boolean;
}

/** The name that aux's function has. */
export const auxName = "aux";

/**
 * Reads the code of both agents, without running it: JavaScript here, TypeScript once the sandbox has taken its types
 * out, Python by its own parser in the sandbox. Resolves with an error where the sandbox failed; rejects with the signal's reason.
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
  return judge({ aux, main, entryPoint });
}

function judge(options: {
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
    // Code nested so deeply that no stack is high enough for it.
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

/** Whether a value is returned or yielded somewhere in a body. */
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
    files: { "reader.py": pythonReader },
    entry: "reader.py",
    task: { kind: "calls", function: "read", cases: [{ args: [aux] }, { args: [main] }] },
    ...(signal === undefined ? {} : { signal }),
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
