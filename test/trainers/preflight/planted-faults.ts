import { copyFile, mkdtemp, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Sample, Sampler } from "../../../src/contract/sampler.ts";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { modelChecksumsFile } from "../../../trainers/model-folders/weights/model-checksums.ts";

/** A fault between sampler and trainer, and the check that must find it. */
export interface PlantedFault {
  readonly check: "logprobs" | "update" | "sync" | "restore";
  /** A part of the cause that the check names. */
  readonly cause: RegExp;
  readonly change: (model: Model) => Partial<Model>;
}

/** Faults that every backend can have. */
export const plantedFaults: Readonly<Record<string, PlantedFault>> = {
  "a sampler without log-probabilities, which count as 0": {
    check: "logprobs",
    cause: /different weights, positions, temperatures/,
    change: (model) => ({
      snapshot: async () =>
        changedSampler(await model.snapshot(), (sample) => ({ ...sample, logprobs: sample.ids.map(() => 0) })),
    }),
  },
  "a sampler with another temperature": {
    check: "logprobs",
    cause: /temperatures/,
    change: (model) => ({
      snapshot: async () => {
        const sampler = await model.snapshot();
        return {
          ...methodsOf(sampler),
          sample: (requests, options) =>
            sampler.sample(
              requests.map((request) => ({ ...request, settings: { ...request.settings, temperature: 0.7 } })),
              options,
            ),
        };
      },
    }),
  },
  "a trainer that reads its tokens one position too late": {
    check: "logprobs",
    cause: /positions/,
    change: (model) => ({
      forward: (data, options) =>
        model.forward(
          data.map((datum) => ({ ...datum, tokens: Int32Array.from([0, ...datum.tokens.slice(0, -1)]) })),
          options,
        ),
    }),
  },
  "weights that never reach the sampler": {
    check: "sync",
    cause: /do not reach the sampler/,
    change: (model) => {
      let first: Promise<Sampler> | undefined;
      return {
        snapshot: async () => {
          first ??= model.snapshot();
          return { ...methodsOf(await first), close: async () => {} };
        },
      };
    },
  },
  "an optimizer step that does nothing": {
    check: "update",
    cause: /does not reach the weights/,
    change: (model) => ({ optimStep: async () => ({ gradientNorm: 1, version: model.version }) }),
  },
  "a checkpoint that is not loaded": {
    check: "restore",
    cause: /would not continue from the saved weights/,
    change: () => ({ load: async () => {} }),
  },
};

/**
 * A fault of models with adapters: the sampler lacks the adapter of one linear layer. Reads the layer's part of the
 * adapter's file as zeros. The files stay in `folder`.
 */
export function missingLayer(
  backend: TrainingBackend,
  options: { readonly base: string; readonly layer: RegExp; readonly folder: string },
): PlantedFault {
  return {
    check: "sync",
    cause: /layers of the adapter may be missing/,
    change: (model) => ({
      snapshot: async () => {
        const path = join(await mkdtemp(join(options.folder, "layer-")), "adapter");
        await model.export(path, "peft");
        await rm(join(path, modelChecksumsFile));
        await zeroTensor(join(path, "adapter_model.safetensors"), options.layer);
        const source = { type: "pretrained", path, base: options.base } as const;
        const damaged = await backend.openModel({ source, trainable: { type: "frozen" } });
        return damaged.snapshot();
      },
    }),
  };
}

/** Overwrites the first tensor whose name matches with zeros. */
async function zeroTensor(path: string, name: RegExp): Promise<void> {
  await copyFile(path, `${path}.whole`);
  await using file = await open(path, "r+");
  const length = Buffer.alloc(8);
  await file.read(length, 0, 8, 0);
  const size = Number(length.readBigUInt64LE());
  const header = Buffer.alloc(size);
  await file.read(header, 0, size, 8);
  const tensors = JSON.parse(header.toString()) as Record<string, { readonly data_offsets: [number, number] }>;
  const found = Object.entries(tensors).find(([tensor]) => name.test(tensor));
  if (found === undefined) throw new Error(`No tensor matches ${name}: ${Object.keys(tensors).join(", ")}`);
  const [start, end] = found[1].data_offsets;
  await file.write(Buffer.alloc(end - start), 0, end - start, 8 + size + start);
}

export function changedSampler(sampler: Sampler, change: (sample: Sample) => Sample): Sampler {
  return {
    ...methodsOf(sampler),
    sample: async function* (requests, options) {
      for await (const sample of sampler.sample(requests, options)) yield change(sample);
    },
  };
}

function methodsOf(sampler: Sampler): Sampler {
  return {
    specificationVersion: "v1",
    version: sampler.version,
    sample: (requests, options) => sampler.sample(requests, options),
    close: () => sampler.close(),
  };
}
