import type { Language } from "../../sandbox/execution.ts";
import { LyceumError, toErrorData } from "../../src/errors/index.ts";
import { textMessage, textOf } from "../../src/message/message.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { fenced, languageNames } from "./code-block.ts";
import { replyCode } from "./reply-code.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/** What an expert is to edit. */
export interface EditRequest {
  readonly language: Language;
  /** What the code is for. */
  readonly problem: string;
  /** The tests that may be shown, as source. */
  readonly tests: readonly string[];
  /** The code of the agent that reads the answer. */
  readonly code: string;
  /** What that code should define. */
  readonly name: string;
  /** Code of other agents that runs with it, by what it should define. */
  readonly others?: Readonly<Record<string, string>>;
  readonly seed: number;
  readonly signal?: AbortSignal;
}

/**
 * What an agent reads in the mode `expert_edits`: its code as the expert edited it, or that the expert failed, which is
 * nobody's fault and costs no reward. Rejects with the signal's reason alone.
 */
export async function expertEdits(expert: Policy, request: EditRequest): Promise<string> {
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
    if (code.trim() === "") return "The expert gave no edit.";
    return `An expert edited your code:\n\n${fenced(language, code)}`;
  } catch (error) {
    signal?.throwIfAborted();
    return `The expert could not be asked: ${toErrorData(error).message}`;
  }
}

function editPrompt({ language, problem, tests, code, name, others = {} }: EditRequest): string {
  return [
    `Here is a problem, and ${languageNames[language]} code that does not solve it yet.`,
    problem.includes("\n") ? fenced(language, problem) : problem,
    ...(tests.length === 0 ? [] : [`It should pass tests such as these:\n\n${fenced(language, tests.join("\n"))}`]),
    ...Object.entries(others).map(
      ([other, text]) => `It runs with this code for \`${other}\`:\n\n${fenced(language, text)}`,
    ),
    `The code to edit:\n\n${fenced(language, code)}`,
    `Put \`${name}\` right with as few changes as you can. Answer with one code block that holds the edited code.`,
  ].join("\n\n");
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
    hint: "Name its server as expert (http://127.0.0.1:8000/v1#model), give a policy in a program, or take another mode.",
  });
}
