import { expect } from "vitest";
import type { ExecuteResult, Language, Sandbox } from "../../sandbox/index.ts";

/** The languages of the samples. */
export type SampleLanguage = Exclude<Language, "typescript">;

/** The number of right samples that must stay right during a fault. */
const samples = 40;

/** Programs that sleep or loop for a moment and return twice their argument. */
const right: Readonly<Record<SampleLanguage, (ms: number) => string>> = {
  python: (ms) => `import time\ndef f(x):\n    time.sleep(${ms / 1000})\n    return x + x`,
  javascript: (ms) => `function f(x) { const end = Date.now() + ${ms}; while (Date.now() < end); return x + x; }`,
};

/** Runs all samples concurrently. Each has the right answer. `onResult` is called as they end. */
export async function runSamples(
  sandbox: Sandbox,
  options: {
    readonly language: SampleLanguage;
    /** The duration of each sample. */
    readonly ms?: number;
    readonly wallMs?: number;
  },
  onResult: (result: ExecuteResult) => void,
): Promise<void> {
  const { language, ms = language === "python" ? 150 : 60, wallMs = 5_000 } = options;
  await Promise.all(
    Array.from({ length: samples }, async (_, index) => {
      const result = await sandbox.execute({
        id: String(index),
        language,
        files: { main: right[language](ms) },
        entry: "main",
        task: { kind: "calls", function: "f", cases: [{ args: [`${index},`] }] },
        limits: { wallMs },
      });
      onResult(result);
    }),
  );
}

/** Every sample is present once, and each is right. */
export function expectAllRight(results: readonly ExecuteResult[]): void {
  const found = results.map(({ id, status, cases, error }) => [id, status, cases[0]?.value ?? error?.message]);
  expect(found.toSorted((a, b) => Number(a[0]) - Number(b[0]))).toEqual(
    Array.from({ length: samples }, (_, index) => [String(index), "ok", `${index},${index},`]),
  );
}
