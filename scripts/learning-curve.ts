// Draws the reward of a training as a picture: node scripts/learning-curve.ts RUN_FOLDER PICTURE.svg TITLE
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { lineChart } from "../src/reports/training/chart.ts";
import { metricSeries } from "../src/reports/training/metric-series.ts";
import { metricsFileName, readMetrics } from "../src/reports/training/metrics-file.ts";
import { runRecord } from "../src/reports/training/run-record.ts";

/** The report's colours, for a stand-alone picture. */
const style = `
  :root { color-scheme: light dark; --page: #fff; --soft: #5c6573; --grid: #eceef2; --s0: #2563eb; --s1: #c2620a; }
  @media (prefers-color-scheme: dark) {
    :root { --page: #111419; --soft: #9aa4b3; --grid: #22272f; --s0: #6ea8fe; --s1: #f5a54a; }
  }
  svg { font: 11px system-ui, sans-serif; background: var(--page); }
  .grid { stroke: var(--grid); }
  .axis { stroke: var(--soft); opacity: 0.6; }
  .tick { fill: var(--soft); }
  .line { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
  .dot, .name { fill: currentColor; }
  .s0 { color: var(--s0); }
  .s1 { color: var(--s1); }
  .cursor { visibility: hidden; }
`;

const [run, picture, title] = process.argv.slice(2) as [string, string, string];
const record = runRecord(await readMetrics(join(run, metricsFileName)));
const split = record.evaluations[0]!.split;
const names = ["held-out tasks, greedy", "training tasks, sampled"];
const chart = lineChart({
  title,
  share: true,
  bounds: { least: 0, most: 1 },
  series: [
    metricSeries(record, { name: "reward/mean", split }, names[0]!),
    metricSeries(record, { name: "reward/mean" }, names[1]!),
  ],
  steps: [0, record.steps.at(-1)!.step],
});
const svg = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(chart.markup)![1]!;
const legend = names.map((name, i) => `<text class="name s${i}" x="70" y="${24 + 16 * i}">${name}</text>`);
await writeFile(
  picture,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 210" width="600" height="315" role="img">
<title>${title}</title>
<style>${style}</style>
${svg.trim()}
${legend.join("\n")}
</svg>
`,
);
