import type { Action, AgentId } from "../../contract/action.ts";
import type { EnvironmentDefinition, Observations, StepResult } from "../../contract/environment.ts";
import type { Message, ToolCall } from "../../contract/message.ts";
import { checkCount } from "../rollout/rollout-options.ts";
import { truncated } from "./time-limit.ts";
import { type Actions, type WrappedEpisode, wrapEnvironment } from "./wrap-environment.ts";

/**
 * At most `calls` native tool calls of each agent an episode. A call beyond them is not run: it is answered with a
 * `tool` message that says so, ahead of what the agent is shown next. The environment gets an action without such
 * calls; an action of which no call is left does not reach it at all, and takes a turn of the episode. Where other
 * agents act in the same step, it does reach it, as a text without calls.
 *
 * Calls that an environment reads from an agent's text itself are not counted.
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
  /** The calls of each agent so far. */
  readonly made: ReadonlyMap<AgentId, number>;
  /** Whose episode has ended. */
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

  begin(observations: Observations): Observations {
    return observations;
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
    const held = lone !== undefined && refused.has(lone) && passed[lone]!.message.toolCalls === undefined;
    this.#turn += 1;
    const result = held ? waiting(lone) : await inner(passed);
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

  /** The action without the calls beyond the budget, which are noted. */
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

/** The result of a step that the environment was not asked for. */
function waiting(agent: AgentId): StepResult {
  return {
    observations: { [agent]: { messages: [], context: "append" } },
    agents: { [agent]: { terminated: false, truncated: false } },
  };
}

/** The observations with the answers to refused calls; a conversation that begins anew has no such calls in it. */
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
  const text = `Not run: this episode allows ${calls} tool calls, and they are spent. Answer without tools.`;
  return { role: "tool", toolCallId: id, name, content: [{ type: "text", text }] };
}
