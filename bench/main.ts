import { parseArgs } from "node:util";
import { agentMemory } from "./agent-memory.ts";
import type { BenchmarkResult } from "./benchmark.ts";
import { capture } from "./capture.ts";
import { catalogueResults } from "./catalogue.ts";
import { decode } from "./decode.ts";
import { demo } from "./demo.ts";
import { environmentSteps } from "./environments.ts";
import { evaluation } from "./evaluate.ts";
import { falsePasses } from "./false-passes.ts";
import { games } from "./games.ts";
import { learning } from "./learning.ts";
import { longEpisode } from "./long-episode.ts";
import { loraStep } from "./lora-step.ts";
import { peers } from "./peers/peers.ts";
import { plan } from "./plan.ts";
import { ppoStep } from "./ppo-step.ts";
import { promptTokens } from "./prompt-tokens.ts";
import { benchmarks as rollout } from "./rollout.ts";
import { ruinedVerdicts } from "./ruined-verdicts.ts";
import { sandbox } from "./sandbox.ts";
import { serve } from "./serve.ts";
import { sharedBatch } from "./shared-batch.ts";
import { sharedPrefixes } from "./shared-prefixes.ts";
import { staleness } from "./staleness.ts";
import { view } from "./view.ts";
import { viewRuns } from "./view-runs.ts";

/*
 * Runs every benchmark and prints one line per figure: `npm run bench [-- --json] [--only PREFIX]`. With `--json`,
 * prints one object per line: name, value, unit, and the figure's baseline if it has one.
 */
const benchmarks = [
  ...rollout,
  longEpisode,
  environmentSteps,
  evaluation,
  capture,
  serve,
  sharedBatch,
  sandbox,
  falsePasses,
  ruinedVerdicts,
  loraStep,
  sharedPrefixes,
  ppoStep,
  promptTokens,
  agentMemory,
  decode,
  games,
  ...learning,
  ...catalogueResults,
  staleness,
  view,
  viewRuns,
  ...plan,
  ...peers,
  demo,
];

const { values } = parseArgs({ options: { json: { type: "boolean" }, only: { type: "string" } } });
const only = values.only ?? "";

// Benchmarks whose prefix begins with the text. If there are none, those that may have a figure of that name.
const named = benchmarks.filter(({ prefix }) => prefix.startsWith(only));
const chosen = named.length > 0 ? named : benchmarks.filter(({ prefix }) => only.startsWith(prefix));
for (const benchmark of chosen) {
  const results = await benchmark.run();
  for (const result of results) {
    if (!result.name.startsWith(only)) continue;
    const { name, value, unit, baseline, planned } = result;
    const against = baseline === undefined ? rangeText(planned) : `   (asked: ${baseline})`;
    const line = `${name.padEnd(36)} ${value.toPrecision(4).padStart(10)} ${unit}${against}`;
    console.log(values.json === true ? JSON.stringify(result) : line);
  }
  if (values.json === true && benchmark.summary !== undefined) console.log(JSON.stringify(benchmark.summary(results)));
}

function rangeText(range: BenchmarkResult["planned"]): string {
  if (range === undefined) return "";
  const [low, middle, high] = [range.low, range.middle, range.high].map((value) => value.toPrecision(3));
  return `   (planned: ${low} to ${high}, middle ${middle})`;
}
