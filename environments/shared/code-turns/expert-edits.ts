import type { Language } from "../../../sandbox/execution.ts";
import { LyceumError, toErrorData } from "../../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { PolicySpecification } from "../../../src/core/policy/policy-specification.ts";
import { fenced, languageNames } from "./code-block.ts";
import { replyCode } from "./reply-code.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/** The request for an expert's edit. */
export interface EditRequest {
  readonly language: Language;
  /** The problem that the code solves. */
  readonly problem: string;
  /** The source code of the visible tests. An expert never sees hidden tests. */
  readonly tests: readonly string[];
  /** The code of the agent that gets the edit. */
  readonly code: string;
  /** The names that the code should define. */
  readonly names: readonly string[];
  /** True if the names are methods of a class. */
  readonly methods?: boolean;
  /** The code of other agents that runs with it, and the names that it should define. */
  readonly others?: readonly { readonly code: string; readonly names: readonly string[] }[];
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/** The result of a request to an expert. */
export interface ExpertEdit {
  /** The agent's feedback: its code after the expert's edit, or a note that the expert failed. */
  readonly text: string;
  /** True if the request failed or the answer has no code. */
  readonly failed: boolean;
}

/**
 * Asks an expert to edit one agent's code, in the mode `expert_edits`. A failure of the expert does not affect the
 * reward. Rejects only with the signal's reason.
 */
export async function expertEdits(expert: Policy, request: EditRequest): Promise<ExpertEdit> {
  const { language, seed, signal } = request;
  try {
    const { action } = await expert.act({
      agent: "expert",
      messages: [textMessage("user", editPrompt(request))],
      sampling: { temperature: 0.3, maxTokens: 2048 },
      seed,
      signal,
    });
    const code = replyCode(textOf(action.message), { language, names: request.names, methods: request.methods });
    if (code.trim() === "") return { text: "The expert returned no edit.", failed: true };
    return { text: `An expert edited your code:\n\n${fenced(language, code)}`, failed: false };
  } catch (error) {
    signal?.throwIfAborted();
    return { text: `The expert could not be asked: ${toErrorData(error).message}`, failed: true };
  }
}

function editPrompt({ language, problem, tests, code, names, others = [] }: EditRequest): string {
  return [
    `Here is a problem, and ${languageNames[language]} code that does not solve it yet.`,
    problem.includes("\n") ? fenced(language, problem) : problem,
    ...(tests.length === 0 ? [] : [`It should pass tests such as these:\n\n${fenced(language, tests.join("\n"))}`]),
    ...others.map((other) => `It runs with this code for ${quoted(other.names)}:\n\n${fenced(language, other.code)}`),
    `The code to edit:\n\n${fenced(language, code)}`,
    `Correct ${quoted(names)} with as few changes as possible. Answer with one code block that contains the edited code.`,
  ].join("\n\n");
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** Returns the metrics of a turn's edits: the share of edits that failed. */
export function expertMetrics(edits: readonly ExpertEdit[]): { readonly expertFailed: number } {
  return { expertFailed: edits.filter(({ failed }) => failed).length / edits.length };
}

/**
 * Returns the policy that the options name, for the registry entry of an environment: the expert, if the mode uses one.
 */
export function namedExpert({ mode, expert }: Pick<CodeTurnOptions, "mode" | "expert">): {
  readonly expert: PolicySpecification | undefined;
} {
  return { expert: mode === "expert_edits" ? expert : undefined };
}

/** Returns the expert if the mode uses one. Throws `config.invalid` if it is missing. */
export function requiredExpert(
  id: string,
  { mode }: Pick<CodeTurnOptions, "mode">,
  expert: Policy | undefined,
): Policy | undefined {
  if (mode !== "expert_edits" || expert !== undefined) return mode === "expert_edits" ? expert : undefined;
  throw new LyceumError({
    code: "config.invalid",
    message: `The mode expert_edits of "${id}" needs an expert, but none is given.`,
    hint: "Name it as expert in the config, such as openai:gpt-5-mini or http://127.0.0.1:8000/v1#model, pass a policy to the environment, or use another mode.",
  });
}
