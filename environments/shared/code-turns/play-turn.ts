import type { Language } from "../../../sandbox/execution.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { ErrorData } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { type Reward, unscored } from "../../../src/contract/reward.ts";
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

/** What the code of a turn is worth. */
export interface JudgedTurn<Earned extends object> {
  /** The part of the result with the rewards. */
  readonly earned: Earned;
  /** True if the code solves the task. */
  readonly correct: boolean;
  /** True if no code can earn more, so that the episode ends. `correct` by default. */
  readonly isTop?: boolean;
  readonly info: { readonly [key: string]: Json } & { readonly metrics: Readonly<Record<string, number | boolean>> };
  /** Returns the feedback for each agent, in their order. */
  readonly feedback: () => Promise<readonly string[]>;
}

/** A turn that is judged, and the sandbox that runs its code. */
export interface TurnRun {
  readonly sandbox: Sandbox;
  /** From 0. */
  readonly turn: number;
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
}

/** How a turn is played. */
interface PlayOptions<Earned extends object> {
  readonly isLast: boolean;
  readonly rewardEveryTurn?: boolean;
  readonly expert: Policy | undefined;
  readonly request: Pick<EditRequest, "problem" | "tests" | "seed" | "signal">;
  readonly judge: () => Promise<JudgedTurn<Earned> | { readonly error: ErrorData }>;
  /** Returns the result of a turn that could not be judged. By default all agents have this reward. */
  readonly unscored?: (reward: Reward) => object;
}

/**
 * Plays a turn: judges its code, then ends the episode or asks the agents to revise their code, with the feedback of the
 * option `mode`: none, an expert's edits of each agent's code, or that of the judged turn. The last turn and one that
 * cannot earn more end the episode. Other turns have rewards only with `rewardEveryTurn`, and are not judged if nobody
 * sees the judgment. Rejects with the signal's reason.
 */
export async function playTurn<Agent extends string, Earned extends object>(
  turn: CodeTurn<Agent>,
  options: PlayOptions<Earned>,
) {
  const { isLast, rewardEveryTurn = false, unscored: result = (reward: Reward) => ({ reward }) } = options;
  if (turn.options.mode === "plain" && !isLast && !rewardEveryTurn) return revisions(turn);
  const judged = await options.judge();
  if ("error" in judged) return result(unscored(judged.error.message, judged.error));
  const { earned, correct, isTop = correct, info } = judged;
  if (isLast || (isTop && !rewardEveryTurn)) return { ...earned, correct, info };
  const graded = { correct, info, ...(rewardEveryTurn ? earned : {}) };
  const { texts, metrics } = await feedbackOf(turn, { ...options, ...judged });
  return { ...revisions(turn, texts), ...graded, info: withMetrics(info, metrics) };
}

/** Returns the feedback for each agent. An expert's edits have metrics. */
async function feedbackOf<Agent extends string>(
  { options, language, agents }: CodeTurn<Agent>,
  given: Pick<PlayOptions<object>, "expert" | "request"> & Pick<JudgedTurn<object>, "feedback">,
) {
  const { expert, request, feedback } = given;
  if (options.mode === "plain") return { texts: [], metrics: {} };
  if (options.mode !== "expert_edits" || expert === undefined) return { texts: await feedback(), metrics: {} };
  const edits = await Promise.all(
    agents.map((own) => {
      const others = agents.filter((other) => other !== own);
      return expertEdits(expert, { ...request, language, code: own.code, names: own.names, others });
    }),
  );
  return { texts: edits.map(({ text }) => text), metrics: expertMetrics(edits) };
}

/** Asks each agent to revise its code. `feedback` has a text for each agent, in their order; none by default. */
function revisions<Agent extends string>(
  { options, language, agents }: CodeTurn<Agent>,
  feedback: readonly string[] = [],
): { readonly replies: Readonly<Record<Agent, string>>; readonly context: "append" | "replace" } {
  const replies = agents.map(({ agent, original, code, ask }, place) => {
    const parts = { language, original, code, ask, feedback: feedback[place] ?? "" };
    return [agent, revisionPrompt(options, parts)] as const;
  });
  return { replies: Object.fromEntries(replies) as Record<Agent, string>, context: revisionContext(options) };
}
