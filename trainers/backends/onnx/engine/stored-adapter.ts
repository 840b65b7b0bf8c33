import { invalidConfig, LyceumError } from "../../../../src/contract/errors/index.ts";
import type { LoraSpec } from "../../../backend/training-backend.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import {
  adaptableLayers,
  isTarget,
  loraA,
  loraParameters,
  shortestTargets,
} from "../../../model-folders/architecture/lora-layers.ts";
import { moduleName, type ParameterSpec } from "../../../model-folders/architecture/parameters.ts";
import { readAdapterBase } from "../../../model-folders/weights/adapter-base-file.ts";
import { type PeftAdapterConfig, readPeftAdapter } from "../../../model-folders/weights/peft-adapter.ts";
import { ParameterBlock } from "../models/parameter-block.ts";
import { checkParameterMemory } from "../models/parameter-memory.ts";
import { baseHash } from "./base-hash.ts";
import type { BaseWeights } from "./base-store.ts";

/** An adapter from a PEFT folder that fits its base. */
export interface StoredAdapter {
  readonly folder: string;
  readonly config: PeftAdapterConfig;
  /** The adapter of every layer. Layers that the folder omits are zero. */
  readonly block: ParameterBlock;
  /** False if the folder omits layers of its targets. */
  readonly complete: boolean;
}

/**
 * Reads a PEFT adapter for a base. `more` are further parameters of the block, which stay zero. Throws `model.mismatch`
 * if the adapter was trained on other weights or has other shapes, and the errors of `readPeftAdapter`.
 */
export async function readStoredAdapter(
  folder: string,
  base: Pick<BaseWeights, "key" | "config" | "block">,
  more: readonly ParameterSpec[] = [],
): Promise<StoredAdapter> {
  const { config: stored, tensors } = await readPeftAdapter(folder);
  const { hash } = await readAdapterBase(folder);
  if (hash !== undefined && hash !== baseHash(base.block)) {
    throw mismatch({ folder, base, why: "it was trained on other weights" });
  }
  const config = { ...stored, targets: targetsOf(base.config, new Set(tensors.keys())) };
  const specs = loraParameters(base.config, config);
  checkParameterMemory([...specs, ...more], { trained: false });
  const block = new ParameterBlock([...specs, ...more]);
  for (const [name, { shape, data }] of tensors) {
    if (!block.has(name)) throw mismatch({ folder, base, why: `the model has no layer for its ${name}` });
    const wanted = block.shape(name);
    if (wanted.join() !== shape.join()) {
      const why = `its ${name} has the shape [${shape.join(", ")}], but the model needs [${wanted.join(", ")}]`;
      throw mismatch({ folder, base, why });
    }
    block.view(name).set(data);
  }
  return { folder, config, block, complete: specs.every(({ name }) => tensors.has(name)) };
}

/** Returns the layers of a block that have an adapter in at least one block. */
function targetsOf(config: DecoderConfig, tensors: ReadonlySet<string>): string[] {
  const blocks = Array.from({ length: config.layers }, (_, layer) => layer);
  const adapted = adaptableLayers(config).filter(({ name }) =>
    blocks.some((layer) => tensors.has(loraA(moduleName(config, layer, name)))),
  );
  return shortestTargets(config, adapted).toSorted();
}

/**
 * Throws `config.invalid` if an adapter cannot continue training with the requested settings: if rank, alpha or targets
 * differ, or if the adapter covers only some layers.
 */
export function checkContinued({ folder, config, complete }: StoredAdapter, lora: LoraSpec, base: DecoderConfig): void {
  const { rank, alpha } = config;
  const named = (targets: readonly string[]): string => {
    const layers = adaptableLayers(base).filter((layer) => isTarget(layer, targets));
    return shortestTargets(base, layers).toSorted().join(", ");
  };
  const own = { rank, alpha, targets: named(config.targets) };
  const asked = { rank: lora.rank, alpha: lora.alpha, targets: lora.targets && named(lora.targets) };
  for (const key of ["rank", "alpha", "targets"] as const) {
    if (asked[key] === undefined || asked[key] === own[key]) continue;
    throw invalidConfig(
      `The adapter ${folder} has ${key} ${own[key]}, but the config requests ${asked[key]}.`,
      `Remove model.adapter.${key} to continue training this adapter, or set model.adapter.start to merge to train a new adapter on the merged model.`,
      { folder, key },
    );
  }
  if (complete) return;
  throw invalidConfig(
    `The adapter ${folder} covers only some layers, so its training cannot be continued.`,
    "Set model.adapter.start to merge to train a new adapter on the merged model.",
    { folder },
  );
}

function mismatch(options: {
  readonly folder: string;
  readonly base: Pick<BaseWeights, "key">;
  readonly why: string;
}): LyceumError {
  const { folder, base, why } = options;
  const { folder: name = "from scratch" } = JSON.parse(base.key) as { readonly folder?: string };
  return new LyceumError({
    code: "model.mismatch",
    message: `The adapter ${folder} does not belong to the base model ${name}: ${why}.`,
    hint: "Name the model that it was trained on: --base MODEL, model.base in a config, base in a policy file.",
    data: { folder, base: name },
  });
}
