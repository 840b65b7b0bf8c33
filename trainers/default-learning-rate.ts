import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject, tryParseJson } from "../src/contract/json.ts";
import { createByteTokenizer } from "../src/core/tokens/byte-tokenizer.ts";
import type { Algorithm } from "./algorithms/index.ts";
import { readManifest } from "./checkpoint/checkpoint-manifest.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { locateModel } from "./model-place.ts";

/** What is trained: a model that began with random weights, every weight of another, or adapters on it. */
type TrainingKind = "scratch" | "full" | "lora";

type LearnsFrom = NonNullable<Algorithm["learnsFrom"]>;

/** By what is trained and what it learns from; docs/training.md says where each is from. */
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

/** The learning rate of a run whose config gives none, and what it is the default of, such as `LoRA, from rewards`. */
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
 * The kind of training of a model. A model from scratch stays one if another run goes on with it: its width is that of
 * the first run, and so is the learning rate that suits it.
 */
async function trainingKind({ scratch, path, adapter }: ModelConfig): Promise<TrainingKind> {
  return scratch !== undefined || (await isFromScratch(path!)) ? "scratch" : adapter.type;
}

async function isFromScratch(path: string): Promise<boolean> {
  const place = await locateModel(path);
  if (place.type === "team") return isFromScratch(Object.values(place.agents)[0]!);
  if (place.type === "checkpoint") {
    // A run that is resumed does not need the checkpoint that it began with: it may be gone.
    const { config } = await readManifest(place.folder).catch(() => ({ config: null }));
    const model = isJsonObject(config) && isJsonObject(config.model) ? config.model : {};
    if (isJsonObject(model.scratch)) return true;
    return typeof model.path === "string" && model.path !== path && isFromScratch(model.path);
  }
  // Beside an adapter, the base that is in no other file.
  const folder = existsSync(join(place.path, "base", "config.json")) ? join(place.path, "base") : place.path;
  const config = tryParseJson(await readFile(join(folder, "config.json"), "utf8").catch(() => ""));
  return isJsonObject(config) && config.vocab_size === createByteTokenizer().vocabularySize;
}
