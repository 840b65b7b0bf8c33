import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { evaluationsFolder, stepFolder, stepOfFolder } from "../../src/core/files/step-folder.ts";

/** Returns the folder of the evaluation of a step in a run's folder, such as `evaluations/step-000020`. */
export function evaluationFolder(output: string, step: number): string {
  return join(output, evaluationsFolder, stepFolder(step));
}

/** Removes the evaluations of later steps than `step`, because a resumed run repeats these steps. */
export async function removeLaterEvaluations(output: string, step: number): Promise<void> {
  const names = await readdir(join(output, evaluationsFolder)).catch(() => []);
  for (const name of names) {
    const evaluated = stepOfFolder(name);
    if (evaluated === undefined || evaluated <= step) continue;
    await rm(join(output, evaluationsFolder, name), { recursive: true, force: true });
  }
}
