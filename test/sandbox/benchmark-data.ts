import { existsSync } from "node:fs";
import { join } from "node:path";

const folder = process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../shared/data");

/** The reason why tests on published benchmarks are skipped. Undefined if their files are present. */
export const noBenchmarkData: string | undefined = existsSync(join(folder, "HumanEval.jsonl.gz"))
  ? undefined
  : `there is no HumanEval.jsonl.gz in ${folder}: set LYCEUM_TEST_DATA`;

/** The path of a published benchmark's file. */
export function benchmarkFile(name: string): string {
  return join(folder, name);
}
