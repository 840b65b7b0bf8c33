import { z } from "zod";
import type { EnvironmentDefinition, EnvironmentSpec } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { loadTasks } from "../../src/core/environment/task-source.ts";
import { filterTaskset } from "../../src/core/taskset/filter-taskset.ts";
import { mapTaskset } from "../../src/core/taskset/map-taskset.ts";
import { anySplitOfOneFile, loadRows, optionalText, rowSplits } from "../shared/rows/row-file.ts";
import { ConversationEnvironment } from "./conversation-environment.ts";
import {
  answerPositions,
  type ConversationRow,
  type ConversationTask,
  conversationRowSchema,
} from "./conversation-task.ts";
import { unknownKeyWarning } from "./unknown-key-warning.ts";

/** The options of the conversations environment. The schema describes each one. */
export type ConversationsOptions = Readonly<z.output<typeof schema>>;

const schema = z.strictObject({
  path: optionalText(
    "The chat file (JSONL or Parquet, used for all splits), a folder with one file per split, or a hub data set.",
  ),
  minReward: z.number().optional().describe("Selects conversations with at least this reward."),
  maxReward: z.number().optional().describe("Selects conversations with at most this reward."),
  agent: z.string().min(1).optional().describe("Selects conversations of this agent, if the file has several agents."),
  maxTurns: z
    .int()
    .min(1)
    .default(32)
    .describe("The maximum number of answers per conversation. Later ones are left out."),
});

const description = "Conversations of a chat file, replayed turn by turn, for supervised fine-tuning.";

/** Tolerance for rounding errors in rewards that are sums, such as of thirds. */
const rounding = 1e-9;

/**
 * Creates an environment of recorded conversations, one task each. It replays the messages to the assistant, and its
 * demonstration is the assistant's answers. The reward is the share of answers that match the recorded ones. Files are
 * read completely when tasks are loaded. Throws `data.malformed`, which names the line, for an invalid row, and
 * `data.out-of-range` if no conversation matches the options.
 */
export function conversationsEnvironment(
  options: Partial<ConversationsOptions> = {},
): EnvironmentDefinition<ConversationTask> {
  const parsed = parseEnvironmentOptions("conversations", schema, options);
  const { path, maxTurns } = parsed;
  const id = "conversations";
  const spec: EnvironmentSpec = {
    id,
    agents: ["agent"],
    maxTurns,
    rewardRange: [0, 1],
    deterministic: true,
    description,
  };
  const environment: EnvironmentDefinition<ConversationTask> = {
    specificationVersion: "v1",
    spec,
    ...loadTasks<ConversationTask>({
      id,
      splits: rowSplits(path),
      source: async (split, loading) => {
        const schema = conversationRowSchema(unknownKeyWarning(path));
        const rows = await loadRows({ environment: id, path, split, schema, ...loading });
        const kept = await filterTaskset(rows, (row) => isWanted(row, parsed), loading);
        if (kept.length === 0) throw nothingLeft(path!, rows.length);
        return mapTaskset(kept, ({ messages, completion, unlearnt, tools, templateVariables }) => ({
          messages,
          ...(completion === undefined ? {} : { completion }),
          ...(unlearnt === undefined ? {} : { unlearnt }),
          ...(tools === undefined ? {} : { tools }),
          ...(templateVariables === undefined ? {} : { templateVariables }),
        }));
      },
    }),
    create: async () => new ConversationEnvironment(spec),
    demonstrate: (task) => answerPositions(task, maxTurns).map((place) => ({ agent: task.messages[place]! })),
  };
  return anySplitOfOneFile(environment, path);
}

function isWanted({ reward, agent }: ConversationRow, wanted: Omit<ConversationsOptions, "path">): boolean {
  const { minReward, maxReward } = wanted;
  if (wanted.agent !== undefined && agent !== wanted.agent) return false;
  if (minReward === undefined && maxReward === undefined) return true;
  if (reward === undefined) return false;
  return (
    reward >= (minReward ?? Number.NEGATIVE_INFINITY) - rounding &&
    reward <= (maxReward ?? Number.POSITIVE_INFINITY) + rounding
  );
}

function nothingLeft(path: string, rows: number): LyceumError {
  return new LyceumError({
    code: "data.out-of-range",
    message:
      rows === 0
        ? `There are no conversations in ${path}.`
        : `None of the ${rows} conversations in ${path} has the requested agent and reward.`,
    hint:
      rows === 0
        ? 'Write one on each line: {"messages": [{"role": "user", "content": "..."}, ...]}, as lyceum collect does, or {"prompt": "...", "completion": "..."}.'
        : "Change minReward, maxReward or agent. A row without a reward is outside of every range.",
    data: { path, rows },
  });
}

/** The registry's entry of the conversations environment. */
export const conversationsEntry = defineEnvironmentEntry({
  id: "conversations",
  description,
  options: schema,
  create: (options) => conversationsEnvironment(options),
});
