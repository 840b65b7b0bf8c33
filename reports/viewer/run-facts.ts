import { formatCount, formatDuration } from "../../src/core/text/format-numbers.ts";
import { frozenAgents } from "../training/frozen-agents.ts";
import type { RunRecord } from "../training/run-record.ts";

/** A fact about a run, such as its device. */
export type RunFact = readonly [name: string, value: string];

/**
 * Returns the facts about a run: its model, device, seed, time, tokens and what it wrote. Unknown ones are left out.
 */
export function runFacts({ start, end, steps, checkpoints, resumptions, elapsedMs }: RunRecord): RunFact[] {
  const total = (metric: string): number => steps.reduce((sum, { metrics }) => sum + (metrics[metric] ?? 0), 0);
  const [sampled, trained] = [total("tokens/sampled"), total("tokens/trained")];
  const facts: [name: string, value: string | undefined][] = [
    ["model", start?.model.name],
    ["frozen agents", start && frozenAgents(start).join(", ")],
    ["trainable", start && formatCount(start.model.trainableParameters)],
    ["device", start?.model.device],
    ["seed", start && String(start.seed)],
    ["time", elapsedMs > 0 ? formatDuration(elapsedMs) : undefined],
    ["resumed", resumptions === 0 ? undefined : resumptions === 1 ? "once" : `${resumptions} times`],
    ["tokens sampled", sampled > 0 ? formatCount(sampled) : undefined],
    ["tokens trained on", trained > 0 ? formatCount(trained) : undefined],
    ["last checkpoint", end?.checkpoint ?? checkpoints.at(-1)?.path],
    ["exported", end?.exported],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined && fact[1] !== "");
}
