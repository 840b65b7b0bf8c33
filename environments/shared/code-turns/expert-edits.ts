import type { Language } from "../../../sandbox/execution.ts";
import { LyceumError, toErrorData } from "../../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import type { PolicySpecification } from "../../../src/core/policy/policy-specification.ts";
import { fenced, languageNames } from "./code-block.ts";
import { replyCode } from "./reply-code.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/** What an expert is to edit. */
export interface EditRequest {
  readonly language: Language;
  /** What the code is for. */
  readonly problem: string;
  /** The visible tests, as source: an expert sees no hidden one. */
  readonly tests: readonly string[];
  /** The code of the agent that reads the answer. */
  readonly code: string;
  /** What that code should define. */
  readonly names: readonly string[];
  /** Code of other agents that runs with it, and what it should define. */
  readonly others?: readonly { readonly code: string; readonly names: readonly string[] }[];
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/** What came of asking an expert. */
export interface ExpertEdit {
  /** What the agent reads: its code as the expert edited it, or that the expert failed. */
  readonly text: string;
  /** True if the expert could not be asked or answered without code. */
  readonly failed: boolean;
}

/**
 * Asks an expert to edit the code of one agent, in the mode `expert_edits`. An expert that fails costs no reward. Rejects
 * with the signal's reason alone.
 */
export async function expertEdits(expert: Policy, request: EditRequest): Promise<ExpertEdit> {
  const { language, seed, signal } = request;
  try {
    const { action } = await expert.act({
      agent: "expert",
      messages: [textMessage("user", editPrompt(request))],
      sampling: { temperature: 0.3, maxTokens: 2048 },
      seed,
      ...(signal === undefined ? {} : { signal }),
    });
    const code = replyCode(textOf(action.message), language);
    if (code.trim() === "") return { text: "The expert gave no edit.", failed: true };
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
    `Put ${quoted(names)} right with as few changes as you can. Answer with one code block that holds the edited code.`,
  ].join("\n\n");
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** What the info of a turn says of its edits, for the metrics of a training run: the share that the expert failed to give. */
export function expertMetrics(edits: readonly ExpertEdit[]): { readonly expertFailed: number } {
  return { expertFailed: edits.filter(({ failed }) => failed).length / edits.length };
}

/** The policy that code options name, for the entry of an environment: the expert, if the mode asks for one. */
export function namedExpert({ mode, expert }: Pick<CodeTurnOptions, "mode" | "expert">): {
  readonly expert: PolicySpecification | undefined;
} {
  return { expert: mode === "expert_edits" ? expert : undefined };
}

/** The expert where the mode asks for one. Throws `config.invalid` where it does and there is none. */
export function requiredExpert(
  id: string,
  { mode }: Pick<CodeTurnOptions, "mode">,
  expert: Policy | undefined,
): Policy | undefined {
  if (mode !== "expert_edits" || expert !== undefined) return mode === "expert_edits" ? expert : undefined;
  throw new LyceumError({
    code: "config.invalid",
    message: `The mode expert_edits of "${id}" needs an expert, and there is none.`,
    hint: "Name it as expert in a config, such as openai:gpt-5-mini or http://127.0.0.1:8000/v1#model, give its policy in a program, or take another mode.",
  });
}
