import assert from "node:assert/strict";
import type { ConformanceCase } from "../../src/core/conformance-case.ts";
import type { ModelSpec, TrainingBackend } from "../backend/training-backend.ts";
import { exampleData, type ModelRules, type ModelSubject, trainStep } from "./model-subject.ts";
import { passRules } from "./pass-rules.ts";
import { stepRules } from "./step-rules.ts";
import { valueHeadRules } from "./value-head-rules.ts";

/** A backend under test. */
export interface BackendSubject {
  /** Returns the backend that the cases share. The caller closes it after the last case. */
  readonly backend: () => TrainingBackend | Promise<TrainingBackend>;
  /** Creates another backend. The suite closes it. */
  readonly create: () => TrainingBackend | Promise<TrainingBackend>;
  /**
   * Small trainable models, one for each kind that the backend supports, such as full and LoRA. Their vocabulary has
   * the ids 33 to 126.
   */
  readonly specs: Readonly<Record<string, ModelSpec>>;
  /** The tolerance between two computations of the same log-probability. 1e-4 by default, for float32 engines. */
  readonly tolerance?: number;
}

/**
 * The conformance suite of a training backend, for each of its kinds of models. It compares every loss and its gradient
 * with reference values, and covers sampling, checkpoints and value heads. Cases about what the backend's capabilities
 * lack pass.
 *
 * @example
 * import { createOnnxBackend } from "lyceum/onnx";
 * import { backendConformance } from "lyceum/trainers/testing";
 * await using backend = await createOnnxBackend({ device: "cpu" });
 * const config = {
 *   model_type: "llama",
 *   vocab_size: 263,
 *   hidden_size: 32,
 *   intermediate_size: 64,
 *   num_hidden_layers: 2,
 *   num_attention_heads: 4,
 *   max_position_embeddings: 64,
 *   initializer_range: 0.2,
 * };
 * const source = { type: "scratch", config, seed: 1 } as const;
 * const cases = backendConformance({
 *   backend: () => backend,
 *   create: () => createOnnxBackend({ device: "cpu" }),
 *   specs: { full: { source, trainable: { type: "full" } } },
 * });
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function backendConformance(subject: BackendSubject): ConformanceCase[] {
  const rules: ModelRules = { ...passRules, ...stepRules };
  return Object.entries(subject.specs).flatMap(([kind, spec]) => [
    ...Object.entries(rules).map(([name, check]) => ({
      name: `${kind}: ${name}`,
      run: async () => check(await modelSubject(subject, spec)),
    })),
    { name: `${kind}: closes twice without harm`, run: () => closesTwice(subject, spec) },
    { name: `${kind}, value head: is refused if the backend has none`, run: () => opensValueHead(subject, spec) },
    ...Object.entries(valueHeadRules).map(([name, check]) => ({
      name: `${kind}, value head: ${name}`,
      run: async () => {
        const model = await modelSubject(subject, { ...spec, valueHead: true });
        if (model.backend.capabilities.valueHead) await check(model);
      },
    })),
  ]);
}

async function modelSubject({ backend, tolerance = 1e-4 }: BackendSubject, spec: ModelSpec): Promise<ModelSubject> {
  const opened = await backend();
  const open = () => opened.openModel(spec);
  const openTrained = async (steps = 3) => {
    const model = await open();
    for (let i = 0; i < steps; i++) await trainStep(model, exampleData(i));
    return model;
  };
  return { backend: opened, spec, tolerance, open, openTrained };
}

async function closesTwice({ create }: BackendSubject, spec: ModelSpec): Promise<void> {
  const backend = await create();
  const model = await backend.openModel(spec);
  await model.close();
  await model.close();
  await backend.close();
  await backend.close();
}

async function opensValueHead(subject: BackendSubject, spec: ModelSpec): Promise<void> {
  const { backend, open } = await modelSubject(subject, { ...spec, valueHead: true });
  const { losses, valueHead } = backend.capabilities;
  if (valueHead) await (await open()).close();
  else await assert.rejects(open(), { code: "backend.unsupported" });
  assert.equal(losses.includes("value"), valueHead);
}
