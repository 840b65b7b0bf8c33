import { defineEnvironment, type StepOutcome } from "../../src/environment/define-environment.ts";
import type { EnvironmentDefinition } from "../../src/environment/environment.ts";
import type { EnvironmentEntry } from "../../src/environment/registry.ts";
import { unscored } from "../../src/environment/reward.ts";
import { toErrorData } from "../../src/errors/index.ts";
import { textMessage } from "../../src/message/message.ts";
import { callTool } from "./call-tool.ts";
import { sameAnswer } from "./same-answer.ts";
import type { SearchEngine } from "./search-tool.ts";
import { type Tool, type ToolEpisode, toToolSpec } from "./tool.ts";
import { createToolBox, type HeldTools } from "./tool-box.ts";
import { readToolMessage, toolInstruction, toolReply } from "./tool-message.ts";
import { parseToolsOptions, type ToolsOptions, toolsOptionsSchema } from "./tools-options.ts";
import { toolsReward } from "./tools-reward.ts";
import type { ToolsTask } from "./tools-task.ts";
import { generatedTasks, ownTasks } from "./tools-taskset.ts";

const description = "Questions that need tools: a calculator, a search, files, interpreters, or tools of your own.";

/** Calls of one message that are carried out; those beyond are refused. */
const maximumCalls = 8;

interface State {
  readonly episode: ToolEpisode;
  /** Tools that gave a result. */
  readonly used: Set<string>;
}

/** What a program may give beside the options. */
export interface ToolsExtras {
  /** Tools beside those of the option `tools`. */
  readonly tools?: readonly Tool[];
  /** What `web_search` asks, in place of the option's engine. */
  readonly engine?: SearchEngine;
}

/**
 * The tools environment: an agent is asked a question, calls tools, and answers between `<answer>` tags. The reward is
 * for the right answer, the required tools and few turns; see `toolsReward`. A tool whose infrastructure fails leaves
 * the episode unscored. Throws `config.invalid` where the options are not what the schema asks for.
 */
export function toolsEnvironment(
  options: Partial<ToolsOptions> = {},
  extras: ToolsExtras = {},
): EnvironmentDefinition<ToolsTask> {
  const parsed = parseToolsOptions(options);
  const { path, protocol, maxTurns } = parsed;
  const { tools, open, names } = createToolBox(parsed, extras);
  const limits = { callMs: 1000 * parsed.callSeconds, outputCharacters: parsed.outputCharacters };
  const hasServers = parsed.mcp.length > 0;
  const runsCode = parsed.tools.some((name) => name === "python" || name === "javascript");
  return defineEnvironment<ToolsTask, State, HeldTools>({
    id: "tools",
    description,
    splits: path === undefined ? ["train", "test"] : ["train"],
    tasks: async (split, { signal }) =>
      path === undefined
        ? generatedTasks({ ...parsed, split: split === "test" ? "test" : "train" })
        : ownTasks(path, { tools: await names(), signal }),
    maxTurns,
    rewardRange: [0, 1],
    statesCorrect: true,
    // How long code takes is the machine's affair, and what others' tools do is theirs.
    deterministic: !runsCode && !hasServers && parsed.engine === "offline" && Object.keys(extras).length === 0,
    // A server's tools are known only when it is connected.
    ...(protocol === "native"
      ? { tools: hasServers ? (held) => held.tools.map(toToolSpec) : tools.map(toToolSpec) }
      : {}),
    open,
    reset: async ({ task, held, random }) => {
      const folder = await held.newFolder();
      for (const [file, text] of Object.entries(task.files ?? {})) await folder.write(file, text);
      return {
        messages: [
          textMessage("system", toolInstruction(protocol, held.tools.map(toToolSpec))),
          textMessage("user", task.question),
        ],
        state: { episode: { folder, seed: random.integer(0, 2 ** 31) }, used: new Set() },
      };
    },
    step: async ({ task, state, action, turn, held, signal }): Promise<StepOutcome<State>> => {
      const message = readToolMessage(action);
      const { calls, problems } = message;
      const asks = calls.length > 0 || problems.length > 0;
      const answer = asks ? undefined : message.answer;
      const turns = turn + 1;
      if (answer !== undefined || turns >= maxTurns) {
        await held.removeFolder();
        const correct = answer !== undefined && sameAnswer(answer, task.answer);
        const components = toolsReward({
          answered: answer !== undefined,
          correct,
          required: task.tools,
          used: state.used,
          turns,
          fewestTurns: task.solution?.length ?? (task.tools.length === 0 ? 1 : 2),
          maxTurns,
        });
        return { components, correct, info: { answer: answer ?? null, correct, used: [...state.used] } };
      }
      const results: string[] = [];
      try {
        for (const [index, call] of calls.entries()) {
          if (index >= maximumCalls) {
            results.push(`Error: at most ${maximumCalls} calls in one message. Make this one in the next.`);
            continue;
          }
          const context = { episode: state.episode, ...(signal === undefined ? {} : { signal }) };
          const result = await callTool({ tools: held.tools, limits }, call, context);
          if (result.ok) state.used.add(call.name);
          results.push(result.text);
        }
      } catch (error) {
        signal?.throwIfAborted();
        await held.removeFolder();
        const data = toErrorData(error);
        return { reward: unscored(data.message, data) };
      }
      const notes = [
        ...problems.slice(0, maximumCalls).map((problem) => `Error: ${problem}. ${callForm}`),
        ...(asks ? [] : ["There is no call and no answer in this message. Call a tool, or answer."]),
        ...(asks && message.answer !== undefined ? ["An answer beside calls does not count. Give it alone."] : []),
        `${maxTurns - turns === 1 ? "The next message is the last: give" : "Go on, or give"} the answer as <answer>...</answer>.`,
      ];
      return { reply: toolReply({ message, results, notes }) };
    },
    demonstrate: ({ solution }) => (solution === undefined || solution.length > maxTurns ? undefined : solution),
  });
}

const callForm = 'A call is JSON: <tool_call>{"name": "...", "arguments": {...}}</tool_call>';

/** The registry's entry of the tools environment. */
export const toolsEntry: EnvironmentEntry = {
  id: "tools",
  description,
  options: toolsOptionsSchema,
  create: (options) => toolsEnvironment(options),
};
