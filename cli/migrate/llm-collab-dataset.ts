import type { Json } from "../../src/contract/json.ts";
import { parseSplit, type Split, type SplitBound } from "../../src/core/taskset/split.ts";
import type { OldConfig } from "./old-config.ts";

/** A data set of LLM_Collab and its environment. */
export interface OldDataset {
  /** Its `dataset.type` in LLM_Collab. */
  readonly type: string;
  readonly environment: Readonly<Record<string, Json>>;
  /** The hub ids of the data that the environment loads by itself. */
  readonly hub: readonly string[];
  /** The split of the environment, if it has only one. It replaces any old split name. */
  readonly split?: string;
  /** The number of tasks by split, to convert passes to steps. */
  readonly sizes: Readonly<Record<string, number>>;
}

/**
 * The options of its environments with code. The tests of the reward are the tests of the feedback there, and all of
 * them count.
 */
export const codeOptions: Readonly<Record<string, Json>> = { reward: "comlrl", shareTests: true };

/** The data sets of LLM_Collab by `dataset.type`. */
const datasets: readonly OldDataset[] = [
  {
    type: "humaneval",
    environment: { id: "code", dataset: "humaneval", ...codeOptions },
    hub: ["openai/openai_humaneval"],
    split: "test",
    sizes: { test: 164 },
  },
  {
    type: "coophumaneval",
    environment: { id: "code", dataset: "coop-humaneval", ...codeOptions },
    hub: ["OpenMLRL/CoopHumanEval", "CoMLRL/CoopHumanEval", "LovelyBuggies/CoopHumanEval"],
    split: "test",
    sizes: { test: 82 },
  },
  {
    type: "mbpp",
    environment: { id: "code", dataset: "mbpp-coop", ...codeOptions },
    hub: ["OpenMLRL/MBPP", "CoMLRL/MBPP", "ryankamiri/mbpp"],
    sizes: {},
  },
  {
    type: "classeval",
    environment: { id: "class-completion", split: "parameters", ...codeOptions },
    hub: ["FudanSELab/ClassEval"],
    split: "test",
    sizes: { test: 100 },
  },
  { type: "tldr", environment: { id: "writing", form: "tldr", reward: "comlrl" }, hub: [], sizes: { train: 116_722 } },
  { type: "arxiv", environment: { id: "writing", form: "arxiv", reward: "comlrl" }, hub: [], sizes: {} },
];

/** Returns the data set of a config, by a part of its name or else by its type. */
export function datasetOf(config: OldConfig): OldDataset | undefined {
  const name = (config.text("dataset.name") ?? config.text("data.dataset_name") ?? "").toLowerCase();
  // One type was used for two data sets of the same form, so the name takes precedence.
  const named = ["coophumaneval", "humaneval", "mbpp", "classeval", "tldr", "arxiv"].find((part) =>
    name.includes(part),
  );
  const type = named ?? config.text("dataset.type")?.toLowerCase();
  return datasets.find((dataset) => dataset.type === type);
}

/**
 * Converts a split to Lyceum's notation: `180:200` of a data set with one split becomes `test[180:200]`. Throws
 * `config.invalid` for an invalid split.
 */
export function splitOf(value: Json, dataset: OldDataset | undefined): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  parseSplit(/^-?\d*:-?\d*$/.test(text) ? `test[${text}]` : text);
  const sliced = /^-?\d*:-?\d*$/.test(text) ? `${dataset?.split ?? "test"}[${text}]` : text;
  return dataset?.split === undefined ? sliced : sliced.replace(/^\w+/, dataset.split);
}

/**
 * Returns the number of tasks of a split. Returns undefined if neither the data set nor the slice determines it, or if
 * the split is invalid.
 */
export function splitSize(text: string, dataset: OldDataset | undefined): number | undefined {
  let split: Split;
  try {
    split = parseSplit(splitOf(text, dataset));
  } catch {
    return undefined;
  }
  const total = dataset?.sizes[split.name];
  const at = (bound: SplitBound | undefined, open: number | undefined): number | undefined => {
    if (bound === undefined) return open;
    if (bound.unit === "percent") return total === undefined ? undefined : Math.floor((total * bound.value) / 100);
    if (bound.value < 0) return total === undefined ? undefined : Math.max(0, total + bound.value);
    return total === undefined ? bound.value : Math.min(bound.value, total);
  };
  const [from, to] = [at(split.slice?.from, 0), at(split.slice?.to, total)];
  return from === undefined || to === undefined || to <= from ? undefined : to - from;
}
