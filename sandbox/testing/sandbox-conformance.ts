import assert from "node:assert/strict";
import type { ConformanceCase } from "../../src/core/conformance-case.ts";
import type { Language } from "../execution.ts";
import type { Sandbox } from "../sandbox.ts";
import { languageSubject } from "./language-subject.ts";
import { limitRules } from "./limit-rules.ts";
import { taskRules } from "./task-rules.ts";

/** A sandbox under test. */
export interface SandboxSubject {
  /** Returns the sandbox that the cases share, with at least two workers. The caller closes it after the last case. */
  readonly sandbox: () => Sandbox | Promise<Sandbox>;
  /** Opens another sandbox with one worker. The suite closes it. */
  readonly open: () => Sandbox | Promise<Sandbox>;
  /** The languages that it must run. */
  readonly languages: readonly Language[];
}

/**
 * The conformance suite of a sandbox, with most cases once for each language. It does not measure how strong the
 * isolation is.
 *
 * @example
 * import { createSandbox } from "lyceum/sandbox";
 * import { sandboxConformance } from "lyceum/sandbox/testing";
 * await using sandbox = await createSandbox({ language: "javascript", workers: 2 });
 * const cases = sandboxConformance({
 *   sandbox: () => sandbox,
 *   open: () => createSandbox({ language: "javascript", workers: 1 }),
 *   languages: ["javascript"],
 * });
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function sandboxConformance(subject: SandboxSubject): ConformanceCase[] {
  const describesItself = async (): Promise<void> => {
    const { specificationVersion, info } = await subject.sandbox();
    assert.equal(specificationVersion, "v1");
    for (const language of subject.languages) assert.ok(info.languages.includes(language), `${language} is missing`);
    assert.notEqual(info.version, "");
  };
  const perLanguage = subject.languages.flatMap((language) =>
    Object.entries({ ...taskRules, ...limitRules }).map(([name, check]) => ({
      name: `${language}: ${name}`,
      run: async () => check(languageSubject({ sandbox: await subject.sandbox(), open: subject.open, language })),
    })),
  );
  return [{ name: "describes itself", run: describesItself }, ...perLanguage];
}
