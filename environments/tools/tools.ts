import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { textMessage } from "../../src/contract/message.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import type { EnvironmentResources } from "../../src/core/environment/environment-resources.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { extractTag } from "../../src/core/parsers/extract-tag.ts";
import { anySplitOfOneFile } from "../shared/rows/row-file.ts";
import { sameAnswer } from "./same-answer.ts";
import type { SearchEngine } from "./search-tool.ts";
import { createToolBox, type OpenTools } from "./tool-box.ts";
import { type ToolsOptions, toolsOptionsSchema } from "./tools-options.ts";
import { toolsReward } from "./tools-reward.ts";
import type { ToolsState } from "./tools-state.ts";
import type { ToolsTask } from "./tools-task.ts";
import { customTasks, generatedTasks } from "./tools-taskset.ts";

const description = "Questions that need tools: a calculator, a search, files, interpreters, or your own tools.";

const instruction =
  "Answer the question, with tools if they help. Give the answer alone, on its own, between tags: <answer>42</answer>";

/** The resources of the tools environment. */
export interface ToolsResources extends EnvironmentResources<never> {
  /** The search engine of `web_search`, instead of the option's engine. */
  readonly engine?: SearchEngine;
}

/**
 * Creates the tools environment. An agent gets a question, calls tools, and answers between `<answer>` tags. The reward
 * depends on the answer, the required tools and the number of turns; see `toolsReward`. If the infrastructure of a tool
 * fails, the episode is unscored. Throws `config.invalid` for invalid options.
 */
export function toolsEnvironment(
  options: Partial<ToolsOptions> = {},
  resources: ToolsResources = {},
): EnvironmentDefinition<ToolsTask> {
  const parsed = parseEnvironmentOptions("tools", toolsOptionsSchema, options);
  const { path, protocol, maxTurns } = parsed;
  const { tools, open, names } = createToolBox(parsed, resources);
  const hasServers = parsed.mcp.length > 0;
  const runsCode = parsed.tools.some((name) => name === "python" || name === "javascript");
  const environment = defineEnvironment<ToolsTask, ToolsState, OpenTools>({
    id: "tools",
    description,
    splits: path === undefined ? ["train", "test"] : ["train"],
    tasks: async (split, { signal }) =>
      path === undefined
        ? generatedTasks({ ...parsed, split: split === "test" ? "test" : "train" })
        : customTasks(path, { tools: await names(), signal }),
    maxTurns,
    rewardRange: [0, 1],
    statesCorrect: true,
    // The run time of code depends on the machine, and external tools may not be deterministic.
    deterministic: !runsCode && !hasServers && parsed.engine === "offline" && Object.keys(resources).length === 0,
    open,
    reset: async ({ task, opened, random }) => {
      const folder = await opened.newFolder();
      for (const [file, text] of Object.entries(task.files ?? {})) await folder.write(file, text);
      return {
        prompt: [textMessage("system", instruction), textMessage("user", task.question)],
        state: { folder, seed: random.integer(0, 2 ** 31) },
      };
    },
    // The tools of a server are known only after connecting.
    tools: hasServers ? (opened) => opened.tools : tools,
    toolProtocol: protocol,
    toolLimits: { callMs: 1000 * parsed.callSeconds, resultCharacters: parsed.outputCharacters },
    afterCalls: remark,
    step: async ({ task, text, turn, calls, opened }) => {
      const turns = turn + 1;
      // An answer in a message with calls does not count.
      const answer = calls.at(-1)?.turn === turn ? undefined : extractTag(text, "answer");
      if (answer === undefined && turns < maxTurns) {
        const nothing = "There is no call and no answer in this message. Call a tool, or answer.";
        return { reply: `${nothing} ${remark({ turnsLeft: maxTurns - turns })}` };
      }
      await opened.removeFolder();
      const correct = answer !== undefined && sameAnswer(answer, task.answer);
      const used = new Set(calls.flatMap(({ name, ok }) => (ok ? [name] : [])));
      const components = toolsReward({
        answered: answer !== undefined,
        correct,
        required: task.tools,
        used,
        turns,
        fewestTurns: task.solution?.length ?? (task.tools.length === 0 ? 1 : 2),
        maxTurns,
      });
      return { components, correct, info: { answer: answer ?? null, correct, used: [...used] } };
    },
    groupOf: ({ kind }) => kind,
    demonstrate: ({ solution }) => (solution === undefined || solution.length > maxTurns ? undefined : solution),
  });
  return anySplitOfOneFile(environment, path);
}

function remark({ turnsLeft }: { readonly turnsLeft: number }): string {
  return `${turnsLeft === 1 ? "The next message is the last: give" : "Go on, or give"} the answer as <answer>...</answer>.`;
}

/** The registry entry of the tools environment. */
export const toolsEntry = defineEnvironmentEntry({
  id: "tools",
  description,
  options: toolsOptionsSchema,
  neverFromLog: ["mcp", "engineUrl"],
  create: (options) => toolsEnvironment(options),
});
