import { basename } from "node:path";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { isJsonObject, type Json } from "../../src/contract/json.ts";
import type { PolicySpecification } from "../../src/core/policy/policy-specification.ts";
import type { ProgramSpecification } from "../../src/core/policy/program-specification.ts";
import { canonicalJson } from "../../src/core/taskset/canonical-json.ts";
import { contentHash } from "../../src/core/taskset/content-hash.ts";
import { withoutSecretValues } from "../../src/core/text/secrets.ts";
import { type AlgorithmDefinition, algorithms } from "../algorithms/index.ts";
import { type TrainingConfig, trainingConfigSchema } from "../config/training-config.ts";
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

/** Returns the identity of a run as JSON: its config, with the environment's id and options under `environment`. */
export function runIdentity(options: {
  readonly config: TrainingConfig;
  readonly environment: string;
  readonly environmentOptions: Readonly<Record<string, unknown>>;
  /** What is recorded of the policies of frozen agents. Those of the config by default. */
  readonly policies?: Readonly<Record<string, PolicySpecification>>;
  /** What is recorded of the programs of trained agents. Those of the config by default. */
  readonly programs?: Readonly<Record<string, string | ProgramSpecification>>;
  /** What is recorded of the policy that the model plays against in evaluations. That of the config by default. */
  readonly opponent?: PolicySpecification | undefined;
}): Json {
  const { config, policies = config.agents.policies, opponent = config.evaluation.opponent } = options;
  const environment = { id: options.environment, ...options.environmentOptions };
  const agents = { ...config.agents, policies, programs: options.programs ?? config.agents.programs };
  const evaluation = { ...config.evaluation, opponent };
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

/**
 * Throws `checkpoint.unusable`, with every key that differs, if a checkpoint belongs to another run. `known` are the
 * algorithms that the config may name.
 */
export function checkSameRun(
  checkpoint: Checkpoint,
  identity: Json,
  known: readonly AlgorithmDefinition[] = algorithms.list(),
): void {
  const { path, manifest } = checkpoint;
  const theirs = flatten(withDefaults(manifest.config, known));
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

/** Adds the defaults of keys that an earlier version did not record. */
function withDefaults(recorded: Json, known: readonly AlgorithmDefinition[]): Json {
  if (!isJsonObject(recorded) || !isJsonObject(recorded.training)) return recorded;
  const { environment, ...config } = recorded;
  const { notDecayed, batchesEndWithEpochs, ...training } = recorded.training;
  const complete = trainingConfigSchema(known).safeParse({ ...config, training }).data;
  if (complete === undefined) return recorded;
  const whole = { ...complete, environment, training: { ...complete.training, notDecayed, batchesEndWithEpochs } };
  return JSON.parse(JSON.stringify(whole)) as Json;
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
  } else if (/^algorithm\.id$|^agents\.programs\..+\.module$/.test(path) && typeof value === "string") {
    // The path of a file depends on the folder of the config or of the command.
    into.set(path, canonicalJson(basename(value)));
  } else {
    into.set(path, canonicalJson(value));
  }
  return into;
}
