import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type TrainingEvent, writeReport } from "../../../reports/training/index.ts";
import type { ExportedRun } from "../../../reports/viewer/exported-run.ts";
import type { TrainingView } from "../../../reports/viewer/view-source.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { writeTraining } from "./runs.ts";

/** The report of a training with these events: the page, and the run in it. */
export async function reportOf(
  events: Iterable<TrainingEvent>,
): Promise<{ readonly page: string; readonly view: TrainingView }> {
  const folder = temporaryFolder();
  await writeTraining(folder, events);
  await writeReport(folder);
  const page = await readFile(join(folder, "report.html"), "utf8");
  const { view } = exportedRun(page);
  if (view.kind !== "training") throw new Error("not a training");
  return { page, view };
}

/** Returns the run in an exported page. */
export function exportedRun(page: string): ExportedRun {
  const data = /<script type="application\/json" id="exported-run">(.*)<\/script>/.exec(page);
  return JSON.parse(data![1]!) as ExportedRun;
}
