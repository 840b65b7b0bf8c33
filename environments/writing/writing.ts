import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { anySplitOfOneFile, loadRowsOrDataset, optionalText, rowOptions, rowSplits } from "../shared/rows/row-file.ts";
import abstracts from "./abstracts.json" with { type: "json" };
import posts from "./posts.json" with { type: "json" };
import summaries from "./summaries.json" with { type: "json" };
import { type Writer, writingPrompts } from "./writing-prompts.ts";
import { greatestReward, writingReward } from "./writing-reward.ts";

/** The options of the writing environment. The schema describes each one. */
export type WritingOptions = Readonly<z.output<typeof schema>>;

/** A text to write about. */
export interface WritingTask {
  readonly source: string;
}

const schema = z.strictObject({
  form: z
    .enum(["tldr", "arxiv"])
    .default("tldr")
    .describe("tldr: a pair of summaries. arxiv: the two parts of an introduction."),
  reward: z
    .enum(["default", "comlrl"])
    .default("default")
    .describe("The reward preset. comlrl does not compare the texts with the source."),
  path: rowOptions.path,
  dataset: optionalText("A hub data set, used if no path is given. Defaults to the built-in texts."),
  revision: rowOptions.revision,
  field: z.string().min(1).optional().describe("The field of a row that contains the text."),
});

const description =
  "Two agents write about a source: a short and a detailed summary, or the halves of an introduction.";

/**
 * Creates the writing environment. The agents `first` and `second` write simultaneously. Neither sees the other's text,
 * and both get the reward of the pair. Sources are built in, or come from files at `path` or from the hub data set
 * `dataset`. `hub` configures the access to the hub, for tests and mirrors.
 */
export function writingEnvironment(
  options: Partial<WritingOptions> = {},
  { hub }: EnvironmentResources<never> = {},
): EnvironmentDefinition<WritingTask> {
  const parsed = parseEnvironmentOptions("writing", schema, options);
  const { form, reward: preset, path, dataset, revision } = parsed;
  const field = parsed.field ?? { tldr: "prompt", arxiv: "abstract_text" }[form];
  const rowSchema = z.object({ [field]: z.string().min(1) });
  const environment = defineParallelEnvironment<Writer, WritingTask>({
    id: "writing",
    description,
    agents: ["first", "second"],
    splits: splitsOf(parsed),
    tasks: async (split, { signal }) => {
      if (path === undefined && dataset === undefined) {
        const texts = form === "tldr" ? posts : abstracts;
        return texts.filter((_, i) => (i % 5 === 2) === (split === "test")).map((text) => ({ source: text }));
      }
      const data = { path, dataset: dataset ?? "", revision, split, schema: rowSchema };
      const rows = await loadRowsOrDataset({ ...data, hub, signal });
      return mapTaskset(rows, (row) => ({ source: sourceText(row[field]!) }), `writing/${split}`);
    },
    rewardRange: [0, greatestReward[preset]],
    reset: ({ task: { source } }) => writingPrompts(form, source),
    step: ({ task: { source }, texts }) => {
      const pair = [texts.first.trim(), texts.second.trim()] as const;
      const { components, copied, unsupported } = writingReward({ form, preset, texts: pair, source });
      return { components, info: { copied, unsupported } };
    },
    // There are no demonstrations of introductions, nor for a reward that ignores the source.
    demonstrate: ({ source }) => {
      const pair = form === "tldr" && preset === "default" ? summaries[posts.indexOf(source)] : undefined;
      return pair && [pair];
    },
  });
  return anySplitOfOneFile(environment, parsed.path);
}

/** Removes the mark of the following summary, with which each post of the data set ends. */
function sourceText(text: string): string {
  return text.replace(/\s*TL;DR:?\s*$/i, "").trim();
}

function splitsOf({ form, path, dataset }: WritingOptions): readonly string[] {
  if (path !== undefined || dataset === undefined) return rowSplits(path);
  return form === "arxiv" ? ["train", "val"] : ["train", "validation", "test"];
}

/** The registry entry of the writing environment. */
export const writingEntry = defineEnvironmentEntry({
  id: "writing",
  description,
  options: schema,
  create: (options) => writingEnvironment(options),
});
