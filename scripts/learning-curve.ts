// Draws the reward of a training as a picture: node scripts/learning-curve.ts RUN_FOLDER PICTURE.svg TITLE
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { metricSeries } from "../reports/training/metric-series.ts";
import { metricsFileName, readMetrics } from "../reports/training/metrics-file.ts";
import { runRecord } from "../reports/training/run-record.ts";
import { curvePicture } from "./curve-picture.ts";

const [run, picture, title] = process.argv.slice(2) as [string, string, string];
const record = runRecord(await readMetrics(join(run, metricsFileName)));
const split = record.evaluations[0]!.split;
const lines = [
  metricSeries(record, { name: "reward/mean", split }, "held-out tasks, greedy"),
  metricSeries(record, { name: "reward/mean" }, "training tasks, sampled"),
];
await writeFile(picture, curvePicture({ title, lines, bounds: { least: 0, most: 1 }, isShare: true }));
