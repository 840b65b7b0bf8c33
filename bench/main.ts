import type { Benchmark } from "./benchmark.ts";
import { decode } from "./decode.ts";
import { loraStep } from "./lora-step.ts";

/**
 * `npm run bench [-- --json] [-- --only PREFIX]`: every benchmark, one line per figure. With `--json`, one object a
 * line: name, value, unit, and the baseline that the figure is held against where there is one.
 */
const benchmarks: readonly Benchmark[] = [loraStep, decode];

const json = process.argv.includes("--json");
const only = process.argv[process.argv.indexOf("--only") + 1];
const wanted = process.argv.includes("--only") ? (only ?? "") : "";

for (const benchmark of benchmarks) {
  if (!benchmark.prefix.startsWith(wanted) && !wanted.startsWith(benchmark.prefix)) continue;
  for (const result of await benchmark.run()) {
    const { name, value, unit, baseline } = result;
    const against = baseline === undefined ? "" : `   (asked: ${baseline})`;
    console.log(
      json ? JSON.stringify(result) : `${name.padEnd(36)} ${value.toPrecision(4).padStart(10)} ${unit}${against}`,
    );
  }
}
