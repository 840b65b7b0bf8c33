import { expect } from "vitest";
import type { ExecuteResult, Language, Sandbox } from "../../sandbox/index.ts";

/** What samples are written in. */
export type SampleLanguage = Exclude<Language, "typescript">;

/** How many right samples a fault has to leave right. */
const samples = 40;

/** Programs that take a moment, asleep or in a loop, and give twice their argument. */
const right: Readonly<Record<SampleLanguage, (ms: number) => string>> = {
  python: (ms) => `import time\ndef f(x):\n    time.sleep(${ms / 1000})\n    return x + x`,
  javascript: (ms) => `function f(x) { const end = Date.now() + ${ms}; while (Date.now() < end); return x + x; }`,
};

/** Runs all samples at once, each of which has the right answer; `onResult` sees them as they end. */
export async function runSamples(
  sandbox: Sandbox,
  options: {
    readonly language: SampleLanguage;
    /** How long each takes. */
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

/** Every sample once, and each of them right. */
export function expectAllRight(results: readonly ExecuteResult[]): void {
  const found = results.map(({ id, status, cases, error }) => [id, status, cases[0]?.value ?? error?.message]);
  expect(found.toSorted((a, b) => Number(a[0]) - Number(b[0]))).toEqual(
    Array.from({ length: samples }, (_, index) => [String(index), "ok", `${index},${index},`]),
  );
}
