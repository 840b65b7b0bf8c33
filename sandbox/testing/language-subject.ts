import assert from "node:assert/strict";
import type { ExecuteRequest, ExecuteResult, ExecuteTask, Language } from "../execution.ts";
import type { PlainValue } from "../plain-value.ts";
import { toPlainValue } from "../plain-value-conversion.ts";
import type { Sandbox } from "../sandbox.ts";
import { type ConformancePrograms, conformancePrograms } from "./conformance-programs.ts";

/** A sandbox with the programs of one language. */
export interface LanguageSubject {
  readonly sandbox: Sandbox;
  readonly open: () => Sandbox | Promise<Sandbox>;
  readonly language: Language;
  readonly programs: ConformancePrograms;
  readonly plain: (value: unknown) => PlainValue;
  readonly request: (code: string, task: ExecuteTask) => ExecuteRequest;
  readonly run: (code: string, task: ExecuteTask, more?: Partial<ExecuteRequest>) => Promise<ExecuteResult>;
  /** Fails if code of earlier jobs changed what the next job sees. */
  readonly assertClean: () => Promise<void>;
}

const extensions = { python: "py", javascript: "js", typescript: "ts" } as const;

/** Returns the subject of a language. */
export function languageSubject(options: Pick<LanguageSubject, "sandbox" | "open" | "language">): LanguageSubject {
  const { sandbox, language } = options;
  const entry = `solution.${extensions[language]}`;
  const request = (code: string, task: ExecuteTask) => ({ language, files: { [entry]: code }, entry, task });
  const run: LanguageSubject["run"] = (code, task, more) => sandbox.execute({ ...request(code, task), ...more });
  const programs = conformancePrograms[language];
  return {
    ...options,
    programs,
    plain: (value) => toPlainValue(value, language),
    request,
    run,
    assertClean: async () => assertCases(await run(programs.isClean, calls("f", [])), [["returned", true]]),
  };
}

/** A task that calls a function once for each list of arguments. */
export function calls(name: string, ...args: readonly (readonly PlainValue[])[]): ExecuteTask {
  return { kind: "calls", function: name, cases: args.map((each) => ({ args: each })) };
}

/** Fails if an execution did not end as `status`, or if its cases have other outcomes and values, in their order. */
export function assertCases(
  { status, error, cases }: ExecuteResult,
  expected: readonly (readonly [outcome: string, value?: PlainValue])[],
  wanted = "ok",
): void {
  assert.equal(status, wanted, error?.message);
  assert.deepEqual(
    cases.map(({ outcome, value }) => (value === undefined ? [outcome] : [outcome, value])),
    expected,
  );
  assert.deepEqual(
    cases.map(({ index }) => index),
    [...cases.keys()],
  );
}
