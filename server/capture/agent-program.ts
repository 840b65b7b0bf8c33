import type { AgentProgram } from "../../src/contract/agent-program.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Message } from "../../src/contract/message.ts";
import { messageProblem } from "../../src/contract/message-problem.ts";
import { boundedWait } from "../../src/core/rollout/bounded-wait.ts";
import type { AgentCall, RunProgram } from "./agent-call.ts";
import { captureServer } from "./capture-server.ts";
import { asProgramError, ProgramError } from "./program-error.ts";
import { programPolicy } from "./program-policy.ts";
import { runProcess } from "./program-process.ts";

/** A program as a function. Returns the text or the message of the action. */
export type AgentFunction = (call: AgentCall) => string | Message | Promise<string | Message>;

/** The options of {@link agentProgram}: `function` or `command`. */
export interface AgentProgramOptions extends Pick<AgentProgram, "demonstrate"> {
  readonly function?: AgentFunction | undefined;
  /**
   * A program and its arguments. It reads the conversation from its standard input, as `{"messages": [...], "tools":
   * [...]}`, and writes its answer to its standard output. `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `ANTHROPIC_BASE_URL`,
   * `ANTHROPIC_API_KEY` and `LYCEUM_MODEL` have the address, the key and the name of the model.
   */
  readonly command?: readonly string[] | undefined;
  /** The working directory of the command. That of this process by default. */
  readonly cwd?: string | undefined;
  /** Further environment variables of the command. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The name in logs. That of the function, or the command, by default. */
  readonly name?: string | undefined;
  /** The longest time of one run in milliseconds. Five minutes by default. */
  readonly timeoutMs?: number | undefined;
  /** The maximum number of model calls of one run. Further ones get a text that asks to stop. 100 by default. */
  readonly maxModelCalls?: number | undefined;
}

/**
 * Makes a program that calls a model through a base URL and a key a policy, so that it can be evaluated and trained
 * without changes. Each action runs the program once. Its model calls are recorded with their exact tokens, and training
 * treats them as the tokens of the action.
 *
 * A program that fails after model calls runs again with the same answers. If it fails again in the same way, its agent
 * earns the lowest reward. Otherwise, and if it fails before its first call, the episode is unscored with
 * `program.failed`, and after the time limit with `timeout`. Throws `config.invalid` for wrong options.
 *
 * @example
 * import { rolloutEpisode, scriptedPolicy } from "lyceum";
 * import { mathEnvironment } from "lyceum/environments";
 * import { agentProgram } from "lyceum/server";
 * const program = agentProgram({
 *   function: async ({ baseURL, apiKey, model, messages }) => {
 *     const question = messages.flatMap(({ content }) => content).flatMap((part) => (part.type === "text" ? part.text : []));
 *     const response = await fetch(`${baseURL}/chat/completions`, {
 *       method: "POST",
 *       headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
 *       body: JSON.stringify({ model, messages: [{ role: "user", content: question.join(" ") }] }),
 *     });
 *     const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
 *     return choices[0]!.message.content;
 *   },
 * });
 * const policy = await program.open(scriptedPolicy(["no idea"]));
 * const environment = mathEnvironment({ tasks: "arithmetic" });
 * const task = await (await environment.tasks("test")).get(0);
 * const episode = await rolloutEpisode({ environment, policies: policy, task, seed: 1 });
 * await policy.close?.();
 * episode.agents.agent!.turns[0]!.calls!.length; // => 1
 */
export function agentProgram(options: AgentProgramOptions): AgentProgram {
  const { run, name } = programOf(options);
  const { timeoutMs = 300_000, maxModelCalls = 100, demonstrate } = options;
  return {
    specificationVersion: "v1",
    name,
    ...(demonstrate === undefined ? {} : { demonstrate }),
    open: async (model) => {
      // A session for each running program. The rollout limits their number.
      const server = await captureServer({ maxSessions: Number.POSITIVE_INFINITY });
      return programPolicy({ name, model, run, timeoutMs, maxModelCalls, server });
    },
  };
}

function programOf(options: AgentProgramOptions): { readonly run: RunProgram; readonly name: string } {
  const { function: call, command, cwd, env } = options;
  if ((call === undefined) === (command === undefined)) throw invalid("either a function or a command");
  if (call !== undefined) return { run: functionRun(call), name: options.name ?? (call.name || "function") };
  const [program, ...args] = command!;
  if (!program || ![program, ...args].every((part) => typeof part === "string")) {
    throw invalid("a command with at least one word");
  }
  const run: RunProgram = ({ messages, tools, signal, ...access }) =>
    runProcess({
      command: [program, ...args],
      env: { ...variables(access), ...env },
      cwd,
      input: JSON.stringify({ messages, tools }),
      signal,
    });
  return { run, name: options.name ?? command!.join(" ") };
}

function functionRun(call: AgentFunction): RunProgram {
  return async (given) => {
    const called = async (): Promise<string | Message> => call(given);
    try {
      // A function may ignore its signal.
      const answer = await boundedWait(called(), { signal: given.signal });
      const problem = typeof answer === "string" ? undefined : messageProblem(answer);
      if (problem === undefined) return answer;
      throw new ProgramError(`returned a value that is neither a text nor a message: it ${problem}`);
    } catch (error) {
      given.signal.throwIfAborted();
      throw asProgramError(error);
    }
  };
}

/** The environment variables by which clients of both protocols find the model. */
function variables({
  baseURL,
  anthropicBaseURL,
  apiKey,
  model,
}: Pick<AgentCall, "baseURL" | "anthropicBaseURL" | "apiKey" | "model">): Readonly<Record<string, string | undefined>> {
  return {
    OPENAI_BASE_URL: baseURL,
    OPENAI_API_BASE: baseURL,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: anthropicBaseURL,
    ANTHROPIC_API_KEY: apiKey,
    ANTHROPIC_AUTH_TOKEN: undefined,
    LYCEUM_MODEL: model,
  };
}

function invalid(expected: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `An agent program needs ${expected}.`,
    hint: 'Pass for example agentProgram({ command: ["sh", "agent.sh"] }).',
  });
}
