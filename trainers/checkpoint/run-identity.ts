import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { canonicalJson } from "../../src/core/taskset/canonical-json.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { withoutSecretValues } from "../../src/core/text/url-secrets.ts";
import type { TrainingConfig } from "../config/training-config.ts";
import type { Checkpoint } from "./find-checkpoints.ts";

/**
 * The keys that may change when a run is resumed: its length, what it reports and writes, and the hardware. All other
 * keys determine the weights.
 */
const changeable: readonly string[] = [
  "checkpoint",
  "evaluation",
  "export",
  "probe",
  "rollout.concurrency",
  "rollout.trace",
  "model.device",
  "model.deviceIndex",
  "model.threads",
  "training.steps",
  "training.epochs",
  "training.sampleEvery",
];

/**
 * Returns the identity of a run as JSON: its config, with the environment's id and options under `environment`. A
 * frozen policy or an opponent that the config does not name is recorded by its own name.
 */
export function runIdentity(options: {
  readonly config: TrainingConfig;
  readonly environment: string;
  readonly environmentOptions: Readonly<Record<string, unknown>>;
  /** The policies of frozen agents. */
  readonly policies?: Readonly<Record<string, Policy>>;
  /** The policy that the model plays against in evaluations. */
  readonly opponent?: Policy;
}): Json {
  const { config, policies = {}, opponent } = options;
  const environment = { id: options.environment, ...options.environmentOptions };
  const names = Object.fromEntries(Object.entries(policies).map(([agent, { name }]) => [agent, name]));
  const agents = { ...config.agents, policies: { ...names, ...config.agents.policies } };
  const evaluation = opponent === undefined ? config.evaluation : { opponent: opponent.name, ...config.evaluation };
  const { weightDecay, epochs } = config.training;
  const training = {
    ...config.training,
    // Earlier versions decayed every parameter. Such a run cannot be resumed.
    ...(weightDecay > 0 ? { notDecayed: ["biases", "norms"] } : {}),
    // The batches differ from those of a run that is counted in steps.
    ...(epochs === undefined ? {} : { batchesEndWithEpochs: true }),
  };
  return withoutSecretValues(JSON.parse(JSON.stringify({ environment, ...config, training, agents, evaluation })));
}

/** Returns the content hash of the parts of a run's identity that the weights depend on. */
export function configHash(identity: Json): string {
  return contentHash(Object.fromEntries(flatten(identity)));
}

/** Throws `checkpoint.unusable`, with every key that differs, if a checkpoint belongs to another run. */
export function checkSameRun(checkpoint: Checkpoint, identity: Json): void {
  const { path, manifest } = checkpoint;
  const theirs = flatten(manifest.config);
  const ours = flatten(identity);
  const differences = [...new Set([...theirs.keys(), ...ours.keys()])]
    .filter((key) => theirs.get(key) !== ours.get(key))
    .map((key) => ({ key, checkpoint: theirs.get(key) ?? "absent", config: ours.get(key) ?? "absent" }));
  if (differences.length === 0) return;
  const list = differences.map(({ key, checkpoint: was, config }) => `${key} (was ${was}, is ${config})`).join(", ");
  throw new LyceumError({
    code: "checkpoint.unusable",
    message: `The checkpoint ${path} belongs to another run. It differs in ${list}.`,
    hint: "Change these back to resume, or start a new run in another output folder.",
    data: { path, differences },
  });
}

/** Returns true if two runs have the same evaluation settings. */
export function sameEvaluation(a: Json, b: Json): boolean {
  const [of, like] = [a, b].map((identity) => canonicalJson((identity as { evaluation?: Json }).evaluation ?? null));
  return of === like;
}

/** Returns the dotted paths of all leaves that must not change, with their values as JSON text. */
function flatten(value: Json, path = "", into: Map<string, string> = new Map()): Map<string, string> {
  if (changeable.includes(path)) return into;
  if (isJsonObject(value)) {
    for (const [key, child] of Object.entries(value)) flatten(child, path === "" ? key : `${path}.${key}`, into);
  } else {
    into.set(path, canonicalJson(value));
  }
  return into;
}
