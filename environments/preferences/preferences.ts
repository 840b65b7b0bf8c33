import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { filterTaskset } from "../../src/core/taskset/filter-taskset.ts";
import { haveSameContent, haveSameReasoning } from "../conversations/chat-message.ts";
import { unknownKeyWarning } from "../conversations/unknown-key-warning.ts";
import { anySplitOfOneFile, loadRows, optionalText, rowSplits } from "../shared/rows/row-file.ts";
import { type PreferenceTask, preferenceRowSchema } from "./preference-task.ts";

/** The options of the preferences environment. The schema describes each one. */
export type PreferencesOptions = Readonly<z.output<typeof schema>>;

const schema = z.strictObject({
  path: optionalText(
    "The file (JSONL or Parquet, used for all splits), a folder with one file per split, or a hub data set.",
  ),
  swapped: z.boolean().default(false).describe("Prefers the rejected answers instead, as a control in an experiment."),
});

const description = "Prompts with a chosen and a rejected answer, for offline preference optimization.";

/**
 * Creates an environment of preferences, one task each. The chosen answer has the reward 1, any other answer 0. The
 * demonstration is the chosen answer for even sample indices of a group and the rejected one for odd indices, so a
 * group of two is a pair. Files are read completely when tasks are loaded. Throws `data.malformed`, which names the
 * line, for an invalid row, and `data.out-of-range` for an empty file.
 */
export function preferencesEnvironment(
  options: Partial<PreferencesOptions> = {},
): EnvironmentDefinition<PreferenceTask> {
  const { path, swapped } = parseEnvironmentOptions("preferences", schema, options);
  const preferred = ({ chosen, rejected }: PreferenceTask) => (swapped ? rejected : chosen);
  const definition = defineEnvironment<PreferenceTask>({
    id: "preferences",
    description,
    splits: rowSplits(path),
    tasks: async (split, loading) => {
      const schema = preferenceRowSchema(unknownKeyWarning(path));
      const rows = await loadRows({ environment: "preferences", path, split, schema, ...loading });
      if (rows.length === 0) throw emptyFile(path!);
      return filterTaskset(rows, () => true, loading);
    },
    templateVariables: ({ templateVariables }) => templateVariables,
    reset: ({ task }) => task.messages,
    step: ({ task, action }) => {
      // Reasoning counts only if nothing else tells the answers apart.
      const isSame = haveSameContent(task.chosen, task.rejected) ? haveSameReasoning : haveSameContent;
      return { reward: Number(isSame(action.message, preferred(task))) };
    },
  });
  const environment: EnvironmentDefinition<PreferenceTask> = {
    ...definition,
    demonstratesPairs: true,
    demonstrate: (task, { sampleIndex } = { seed: 0 }) => {
      const other = preferred(task) === task.chosen ? task.rejected : task.chosen;
      return [{ agent: (sampleIndex ?? 0) % 2 === 0 ? preferred(task) : other }];
    },
  };
  return anySplitOfOneFile(environment, path);
}

function emptyFile(path: string): LyceumError {
  return new LyceumError({
    code: "data.out-of-range",
    message: `There are no preferences in ${path}.`,
    hint: 'Write one on each line: {"prompt": "...", "chosen": "...", "rejected": "..."}, or name another file.',
    data: { path },
  });
}

/** The registry entry of the preferences environment. */
export const preferencesEntry = defineEnvironmentEntry({
  id: "preferences",
  description,
  options: schema,
  create: (options) => preferencesEnvironment(options),
});
