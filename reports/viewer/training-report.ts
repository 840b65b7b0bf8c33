import { exportedPage } from "./exported-page.ts";
import { readPageFiles } from "./page-files.ts";
import { createTrainingLines } from "./training-line.ts";
import { createTrainingReader } from "./training-view.ts";
import type { TrainingView } from "./view-source.ts";

const note =
  "This report has no episodes. lyceum view shows those of evaluations, and those of all steps if rollout.trace is true.";

/**
 * Returns the report of a training: the viewer's page with the curves, evaluations, samples, warnings and config of the
 * run in `folder`, as one file that loads nothing. Episodes are left out. Throws `data.not-found` and `data.malformed`
 * for a folder without a training.
 */
export async function trainingReport(folder: string): Promise<string> {
  const run = { path: ".", folder };
  const view = await createTrainingReader().view(run);
  // The file has no other runs to open.
  const evaluations = view.evaluations.map(({ path: _, ...evaluation }) => evaluation);
  const shown = { ...view, sections: rounded(view.sections), evaluations, note };
  return exportedPage({ line: await createTrainingLines()(run), view: shown, episodes: [] }, await readPageFiles());
}

/** Rounds the values of charts to six digits, which is more than a chart shows, so that the file is half as long. */
function rounded(sections: TrainingView["sections"]): TrainingView["sections"] {
  const round = (value: number): number => Number(value.toPrecision(6));
  return sections.map((section) => ({
    ...section,
    charts: section.charts.map((chart) => ({
      ...chart,
      series: chart.series.map((series) => ({ ...series, ys: series.ys.map(round) })),
    })),
  }));
}
