import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject, tryParseJson } from "../../src/contract/json.ts";
import { createByteTokenizer } from "../../src/core/tokens/byte-tokenizer.ts";
import type { Algorithm } from "../algorithms/index.ts";
import { readManifest } from "../checkpoint/checkpoint-manifest.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { locateModel } from "../models/model-location.ts";

/** What is trained: a model that started with random weights, every weight of a pretrained model, or adapters. */
type TrainingKind = "scratch" | "full" | "lora";

type LearnsFrom = NonNullable<Algorithm["learnsFrom"]>;

/** Default learning rates, by what is trained and what it learns from. docs/training.md has their sources. */
const rates: Readonly<Record<TrainingKind, Readonly<Record<LearnsFrom, number>>>> = {
  scratch: { demonstrations: 1e-3, preferences: 1e-4, rewards: 3e-4 },
  full: { demonstrations: 2e-5, preferences: 1e-6, rewards: 1e-6 },
  lora: { demonstrations: 2e-4, preferences: 1e-5, rewards: 1e-4 },
};

const kindTexts: Readonly<Record<TrainingKind, string>> = {
  scratch: "a model from scratch",
  full: "training every weight",
  lora: "LoRA",
};

/**
 * Returns the learning rate of a run whose config has none, and a description of the default, such as `LoRA, from
 * rewards`.
 */
export async function defaultLearningRate(options: {
  readonly model: ModelConfig;
  readonly algorithm: Pick<Algorithm, "learnsFrom">;
}): Promise<{ readonly learningRate: number; readonly defaultOf: string; readonly fromScratch: boolean }> {
  const { model, algorithm } = options;
  const { learnsFrom = "rewards" } = algorithm;
  const kind = await trainingKind(model);
  return {
    learningRate: rates[kind][learnsFrom],
    defaultOf: `${kindTexts[kind]}, from ${learnsFrom}`,
    fromScratch: kind === "scratch",
  };
}

/**
 * Returns the kind of training. A model from scratch remains one if another run continues it: its width is still that
 * of the first run, so the same learning rate suits it.
 */
async function trainingKind({ scratch, path, adapter }: ModelConfig): Promise<TrainingKind> {
  return scratch !== undefined || (await isFromScratch(path!)) ? "scratch" : adapter.type;
}

async function isFromScratch(path: string): Promise<boolean> {
  const place = await locateModel(path);
  if (place.type === "team") return isFromScratch(Object.values(place.agents)[0]!);
  if (place.type === "checkpoint") {
    // A resumed run does not need the checkpoint that it started from. It may be deleted.
    const { config } = await readManifest(place.folder).catch(() => ({ config: null }));
    const model = isJsonObject(config) && isJsonObject(config.model) ? config.model : {};
    if (isJsonObject(model.scratch)) return true;
    return typeof model.path === "string" && model.path !== path && isFromScratch(model.path);
  }
  // An adapter's folder may include its base model in `base/`.
  const folder = existsSync(join(place.path, "base", "config.json")) ? join(place.path, "base") : place.path;
  const config = tryParseJson(await readFile(join(folder, "config.json"), "utf8").catch(() => ""));
  return isJsonObject(config) && config.vocab_size === createByteTokenizer().vocabularySize;
}
