import type { Action, AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, Observations, StepResult } from "../../contract/environment.ts";
import type { Message, ToolCall } from "../../contract/message.ts";
import { checkCount } from "../rollout/rollout-options.ts";
import { truncated } from "./time-limit.ts";
import { type Actions, type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/**
 * Limits each agent to `calls` native tool calls per episode. A call beyond the limit is not run: a `tool` message with
 * an explanation precedes the agent's next observation. The environment receives the action without such calls. An
 * action that has no calls left does not reach the environment, but counts as a turn. If other agents act in the same
 * step, it reaches the environment as text without calls.
 *
 * Calls that an environment parses from an agent's text are not counted.
 */
export function toolBudget<Task>(environment: EnvironmentDefinition<Task>, calls: number): EnvironmentDefinition<Task> {
  if (calls !== 0) checkCount("The budget of tool calls", calls);
  const { agents, maxTurns } = environment.spec;
  return wrapEnvironment(environment, {
    start: () => new BudgetedEpisode({ calls, agents, maxTurns, turn: 0, made: new Map(), over: new Set() }),
  });
}

interface Budget {
  readonly calls: number;
  readonly agents: readonly AgentId[];
  readonly maxTurns: number;
  readonly turn: number;
  /** The number of calls of each agent so far. */
  readonly made: ReadonlyMap<AgentId, number>;
  /** The agents whose episode has ended. */
  readonly over: ReadonlySet<AgentId>;
}

class BudgetedEpisode implements WrappedEpisode {
  readonly #budget: Budget;
  readonly #made: Map<AgentId, number>;
  readonly #over: Set<AgentId>;
  #turn: number;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#made = new Map(budget.made);
    this.#over = new Set(budget.over);
    this.#turn = budget.turn;
  }

  copy(): WrappedEpisode {
    return new BudgetedEpisode({ ...this.#budget, turn: this.#turn, made: this.#made, over: this.#over });
  }

  async step(actions: Actions, inner: (actions: Actions) => Promise<StepResult>): Promise<StepResult> {
    const refused = new Map<AgentId, readonly ToolCall[]>();
    const passed = Object.fromEntries(
      Object.entries(actions).map(([agent, action]) => [agent, this.#within(agent, action, refused)]),
    );
    const names = Object.keys(actions);
    const lone = names.length === 1 ? names[0]! : undefined;
    const isRefused = lone !== undefined && refused.has(lone) && passed[lone]!.message.toolCalls === undefined;
    this.#turn += 1;
    const result = isRefused ? refusedStep(lone) : await inner(passed);
    for (const [agent, step] of Object.entries(result.agents)) {
      if (step.terminated || step.truncated) this.#over.add(agent);
    }
    const { agents, maxTurns, calls } = this.#budget;
    const shown = { ...result, observations: answered(result.observations, { refused, calls }) };
    if (this.#turn < maxTurns || Object.keys(shown.observations).length === 0) return shown;
    return truncated(
      shown,
      agents.filter((agent) => !this.#over.has(agent)),
    );
  }

  /** Removes the calls beyond the budget from an action and adds them to `refused`. */
  #within(agent: AgentId, action: Action, refused: Map<AgentId, readonly ToolCall[]>): Action {
    const asked = action.message.toolCalls ?? [];
    const made = this.#made.get(agent) ?? 0;
    const allowed = asked.slice(0, Math.max(0, this.#budget.calls - made));
    this.#made.set(agent, made + allowed.length);
    if (allowed.length === asked.length) return action;
    refused.set(agent, asked.slice(allowed.length));
    const { toolCalls: _, ...message } = action.message;
    if (allowed.length > 0) return { ...action, message: { ...message, toolCalls: allowed } };
    return { ...action, message, finish: action.finish === "tool-calls" ? "stop" : action.finish };
  }
}

/** Returns the result of a step that did not reach the environment. */
function refusedStep(agent: AgentId): StepResult {
  return {
    observations: { [agent]: { messages: [], context: "append" } },
    agents: { [agent]: { terminated: false, truncated: false } },
  };
}

/**
 * Adds the replies to refused calls to the observations. A new conversation contains no such calls and gets no replies.
 */
function answered(
  observations: Observations,
  { refused, calls }: { refused: ReadonlyMap<AgentId, readonly ToolCall[]>; calls: number },
): Observations {
  const shown: Record<AgentId, Observations[AgentId]> = { ...observations };
  for (const [agent, beyond] of refused) {
    const observation = observations[agent];
    if (observation === undefined || observation.context === "replace") continue;
    shown[agent] = {
      ...observation,
      messages: [...beyond.map((call) => refusal(call, calls)), ...observation.messages],
    };
  }
  return shown;
}

function refusal({ id, name }: ToolCall, calls: number): Message {
  const text = `Not run: this episode allows ${calls} tool calls, and they are used up. Answer without tools.`;
  return { role: "tool", toolCallId: id, name, content: [{ type: "text", text }] };
}
