import { LyceumError } from "../../src/errors/index.ts";
import type { Json } from "../../src/json.ts";
import { canonicalJson } from "../../src/taskset/canonical-json.ts";
import { contentHash } from "../../src/taskset/content-hash.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import type { Checkpoint } from "./find-checkpoints.ts";

/**
 * The keys that may change when a run is resumed: how long it goes on, what it reports and writes, and what it runs
 * on. All others determine the weights.
 */
const changeable: readonly string[] = [
  "checkpoint",
  "evaluation",
  "export",
  "rollout",
  "model.device",
  "model.threads",
  "training.steps",
  "training.sampleEvery",
];

/** The content hash of the parts of a config that the weights depend on. */
export function configHash(config: TrainingConfig): string {
  return contentHash(Object.fromEntries(flatten(toJson(config))));
}

/** A config as JSON: keys without a value are left out. */
export function toJson(config: TrainingConfig): Json {
  return JSON.parse(JSON.stringify(config)) as Json;
}

/** Throws `checkpoint.unusable`, naming every key that differs, where a checkpoint comes from another run. */
export function checkSameRun(checkpoint: Checkpoint, run: { config: TrainingConfig; environment: string }): void {
  const { path, manifest } = checkpoint;
  const theirs = flatten(manifest.config);
  const ours = flatten(toJson(run.config));
  const differences = [...new Set([...theirs.keys(), ...ours.keys()])]
    .filter((key) => theirs.get(key) !== ours.get(key))
    .map((key) => ({ key, checkpoint: theirs.get(key) ?? "absent", config: ours.get(key) ?? "absent" }));
  if (manifest.environment !== run.environment) {
    differences.unshift({ key: "environment", checkpoint: manifest.environment, config: run.environment });
  }
  if (differences.length === 0) return;
  const list = differences.map(({ key, checkpoint: was, config }) => `${key} (was ${was}, is ${config})`).join(", ");
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint ${path} belongs to another run. It differs in ${list}.`,
    hint: "Change these back to resume, or start a new run in another output folder.",
    data: { path, differences },
  });
}

/** Dotted paths of the leaves that count, with their values as JSON text. */
function flatten(value: Json, path = "", into: Map<string, string> = new Map()): Map<string, string> {
  if (changeable.includes(path)) return into;
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    for (const [key, child] of Object.entries(value)) flatten(child, path === "" ? key : `${path}.${key}`, into);
  } else {
    into.set(path, canonicalJson(value));
  }
  return into;
}
