import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import type { Json } from "../../src/contract/json.ts";
import type { LossTerm } from "../../trainers/backend/loss-term.ts";
import type { AdamParams } from "../../trainers/backend/training-backend.ts";
import { runPython } from "./python.ts";
import type { PlainDatum } from "./sequences.ts";
import { readTensorFile, type Tensor } from "./tensor-file.ts";

/** A checkpoint folder, and a PEFT adapter folder on it. */
export interface ModelFolders {
  readonly checkpoint: string;
  readonly adapter?: string;
}

/** The results of transformers for one model. */
export interface ForwardReference {
  /** One per sequence, (tokens, vocabulary) row by row. */
  readonly logits: readonly Float32Array[];
  /** For each datum, over all of its targets. */
  readonly logprobs: readonly number[][];
  readonly entropy: readonly number[][];
  /** For each sequence, if requested: the rounding error of these float32 logits. */
  readonly rounding: readonly number[];
}

/** Logits of sequences, and log-probabilities and entropies of data, by transformers in float32. One per job. */
export async function forwardReference(
  jobs: readonly (ModelFolders & {
    readonly ids?: readonly number[][];
    readonly data?: readonly PlainDatum[];
    readonly measureRounding?: boolean;
  })[],
): Promise<ForwardReference[]> {
  await using folder = await temporaryFolder();
  const request = jobs.map((job, index) => ({
    ids: [],
    data: [],
    ...job,
    logitsFile: join(folder.path, `${index}.safetensors`),
  }));
  const response = await call<{ jobs: Omit<ForwardReference, "logits">[] }>("forward", { jobs: request });
  return await Promise.all(
    response.jobs.map(async (scores, index) => {
      const logits = await readTensorFile(request[index]!.logitsFile);
      const sequences = request[index]!.ids.map((_, sequence) => logits.get(String(sequence))!.data);
      return { ...scores, logits: sequences };
    }),
  );
}

/** Dropout of an adapter with given masks. */
export interface FixedDropout {
  readonly rate: number;
  /** By module and datum: for each token the inputs that are kept, 0 or 1. */
  readonly masks: Readonly<Record<string, readonly (readonly number[])[][]>>;
}

/**
 * Gradients of all parameters, or of the adapter and a value head, by PyTorch autograd, and the sum of each loss term.
 */
export async function gradientReference(
  jobs: readonly (ModelFolders & {
    readonly valueHead?: { readonly weight: readonly number[]; readonly bias: number };
    readonly dropout?: FixedDropout;
    readonly data: readonly PlainDatum[];
    readonly terms: readonly LossTerm[];
  })[],
): Promise<{ readonly terms: readonly number[]; readonly gradients: Map<string, Tensor> }[]> {
  await using folder = await temporaryFolder();
  const request = jobs.map((job, index) => ({ ...job, gradientsFile: join(folder.path, `${index}.safetensors`) }));
  const response = await call<{ jobs: { terms: number[] }[] }>("gradients", { jobs: request });
  return await Promise.all(
    response.jobs.map(async ({ terms }, index) => ({
      terms,
      gradients: await readTensorFile(request[index]!.gradientsFile),
    })),
  );
}

/** The results of PyTorch's AdamW for one model. */
export interface TrainingReference {
  /** Before each step. */
  readonly losses: readonly number[];
  /** Before clipping. */
  readonly gradientNorms: readonly number[];
  /** After the last step, one per sequence. */
  readonly logits: readonly Float32Array[];
}

/** The same steps of PyTorch's AdamW, on the same data each time. */
export async function trainingReference(
  jobs: readonly (ModelFolders & {
    readonly data: readonly PlainDatum[];
    readonly terms: readonly LossTerm[];
    readonly steps: number;
    readonly adam: AdamParams;
    readonly ids: readonly number[][];
  })[],
): Promise<TrainingReference[]> {
  await using folder = await temporaryFolder();
  const request = jobs.map((job, index) => ({ ...job, logitsFile: join(folder.path, `${index}.safetensors`) }));
  const response = await call<{ jobs: Omit<TrainingReference, "logits">[] }>("train", { jobs: request });
  return await Promise.all(
    response.jobs.map(async (metrics, index) => {
      const logits = await readTensorFile(request[index]!.logitsFile);
      return { ...metrics, logits: request[index]!.ids.map((_, sequence) => logits.get(String(sequence))!.data) };
    }),
  );
}

/** A greedy continuation, and the difference of the top two logits at each of its steps. */
export interface GreedyReference {
  readonly ids: readonly number[];
  readonly gaps: readonly number[];
}

/** Greedy continuations of each prompt of each job, by transformers. */
export async function greedyReference(
  jobs: readonly (ModelFolders & { readonly prompts: readonly number[][]; readonly tokens: number })[],
): Promise<GreedyReference[][]> {
  const { jobs: continuations } = await call<{ jobs: GreedyReference[][] }>("greedy", { jobs });
  return continuations;
}

/** A LoRA adapter that peft writes, with random halves that are not zero. */
export interface AdapterToMake {
  readonly checkpoint: string;
  readonly folder: string;
  readonly rank: number;
  readonly alpha: number;
  readonly targets: readonly string[];
  /** 0 by default. */
  readonly dropout?: number;
  readonly seed: number;
  /** Other settings of peft's LoraConfig. */
  readonly more?: Readonly<Record<string, Json>>;
}

/** Writes adapters by peft's save_pretrained. */
export async function makeAdapters(adapters: readonly AdapterToMake[]): Promise<void> {
  await call("make_adapters", { adapters });
}

/**
 * The type as which transformers loads a folder by itself, and whether its weights are those of another folder, rounded
 * to that type.
 */
export async function loadedTypes(
  folders: readonly { readonly folder: string; readonly exact: string }[],
): Promise<{ readonly dtype: string; readonly equal: boolean }[]> {
  return call<{ dtype: string; equal: boolean }[]>("loaded_types", { folders });
}

/** A new folder that is removed with its content when it is disposed. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "lyceum-interop-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

function call<Response>(script: string, request: object): Promise<Response> {
  // Interfaces are not assignable to Json, which has an index signature. Everything here is plain data.
  return runPython<Response>({ environment: inject("interop").environment, script, request: request as never });
}
