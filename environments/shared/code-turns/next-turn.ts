import type { Language } from "../../../sandbox/execution.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { type EditRequest, expertEdits, expertMetrics } from "./expert-edits.ts";
import { revisionContext, revisionPrompt } from "./revision-prompt.ts";
import { withMetrics } from "./turn-info.ts";
import type { CodeTurnOptions } from "./turn-options.ts";

/** An agent's first prompt, its code of a turn, and its prompt for the next turn. */
export interface AgentCode<Agent extends string = string> {
  readonly agent: Agent;
  readonly original: string;
  readonly code: string;
  /** The names that the code should define. */
  readonly names: readonly string[];
  readonly ask: string;
}

/** A turn in which agents wrote code. */
export interface CodeTurn<Agent extends string = string> {
  readonly options: Pick<CodeTurnOptions, "mode" | "history" | "originalPrompt" | "previousResponse">;
  readonly language: Language;
  readonly agents: readonly AgentCode<Agent>[];
}

/** Asks each agent to revise its code. `feedback` has a text for each agent, in their order; none by default. */
export function revisions<Agent extends string>(
  { options, language, agents }: CodeTurn<Agent>,
  feedback: readonly string[] = [],
): { readonly replies: Readonly<Record<Agent, string>>; readonly context: "append" | "replace" } {
  const replies = agents.map(({ agent, original, code, ask }, place) => {
    const parts = { language, original, code, ask, feedback: feedback[place] ?? "" };
    return [agent, revisionPrompt(options, parts)] as const;
  });
  return { replies: Object.fromEntries(replies) as Record<Agent, string>, context: revisionContext(options) };
}

/**
 * Returns the result of a turn after which the agents revise their code, with the feedback of the option `mode`: none,
 * an expert's edits of each agent's code, or that of `feedback`. `graded` is the rest of the result. Edits add their
 * metrics to `info`. Rejects with the signal's reason.
 */
export async function nextTurn<Agent extends string, Graded extends object>(
  turn: CodeTurn<Agent>,
  given: {
    readonly expert: Policy | undefined;
    readonly request: Pick<EditRequest, "problem" | "tests" | "seed" | "signal">;
    readonly graded: Graded;
    readonly info: { readonly turn: number; readonly metrics: Readonly<Record<string, number | boolean>> };
    readonly feedback: () => Promise<readonly string[]>;
  },
) {
  const { options, language, agents } = turn;
  const { expert, request, graded, info, feedback } = given;
  if (options.mode === "plain") return { ...revisions(turn), ...graded };
  if (options.mode !== "expert_edits" || expert === undefined) {
    return { ...revisions(turn, await feedback()), ...graded };
  }
  const edits = await Promise.all(
    agents.map((own) => {
      const others = agents.filter((other) => other !== own);
      return expertEdits(expert, { ...request, language, code: own.code, names: own.names, others });
    }),
  );
  const edited = edits.map(({ text }) => text);
  return { ...revisions(turn, edited), ...graded, info: withMetrics(info, expertMetrics(edits)) };
}
