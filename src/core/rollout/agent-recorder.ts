import type { AgentId } from "../../contract/action.ts";
import type { Observation } from "../../contract/environment.ts";
import type { AgentEpisode, AgentTurn, MessageNode, NodeTokens } from "../../contract/episode.ts";
import { type ErrorData, LyceumError } from "../../contract/errors/index.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Message, ToolSpec } from "../../contract/message.ts";
import type { ActResult, ActTokens, Policy, PreviousTokens } from "../../contract/policy.ts";
import { addRewards, isReward, type Reward, rewardText, scored, type UnscoredReward } from "../../contract/reward.ts";
import type { SamplingSettings } from "../../contract/sampler.ts";
import type { TokenPrefix } from "../../contract/token-prefix.ts";
import { contractError } from "../environment/environment-error.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { actionProblem } from "./action-problem.ts";
import { observationProblem } from "./contract-problem.ts";
import { recordCalls } from "./record-calls.ts";
import { recordCompletion, recordPrompt } from "./record-tokens.ts";

/** Records the observations, actions and rewards of one agent in an episode, and its conversation. */
export class AgentRecorder {
  readonly agent: AgentId;
  readonly policy: Policy;
  tools: readonly ToolSpec[] | undefined;
  templateVariables: JsonObject | undefined;
  previous: PreviousTokens | undefined;
  sampledTokens = 0;
  terminated = false;
  truncated = false;
  readonly #environment: string;
  #messages: Message[] = [];
  readonly #nodes: MessageNode[] = [];
  readonly #turns: AgentTurn[] = [];
  /** The parent of the next message's node. */
  #tip: number | null = null;
  /** Rewards from before the first action. */
  #early: Reward | undefined;

  constructor(options: { readonly agent: AgentId; readonly policy: Policy; readonly environment: string }) {
    this.agent = options.agent;
    this.policy = options.policy;
    this.#environment = options.environment;
  }

  /** Returns an independent copy of the record so far. */
  copy(): AgentRecorder {
    const copy = new AgentRecorder({ agent: this.agent, policy: this.policy, environment: this.#environment });
    copy.#messages = [...this.#messages];
    copy.tools = this.tools;
    copy.templateVariables = this.templateVariables;
    copy.previous = this.previous;
    copy.sampledTokens = this.sampledTokens;
    copy.terminated = this.terminated;
    copy.truncated = this.truncated;
    copy.#nodes.push(...this.#nodes);
    copy.#turns.push(...this.#turns);
    copy.#tip = this.#tip;
    copy.#early = this.#early;
    return copy;
  }

  /** Returns the conversation so far, oldest message first, as a list that later turns do not change. */
  conversation(): readonly Message[] {
    return [...this.#messages];
  }

  /** The nodes of the conversation, oldest first. */
  get nodes(): readonly MessageNode[] {
    return this.#nodes;
  }

  /** The actions so far, oldest first. */
  get turns(): readonly AgentTurn[] {
    return this.#turns;
  }

  get hasActed(): boolean {
    return this.#turns.length > 0;
  }

  get hasReward(): boolean {
    return this.#early !== undefined || this.#turns.some(({ reward }) => reward !== undefined);
  }

  /**
   * Adds an observation to the conversation. Throws `environment.contract` if the observation is invalid, and
   * `policy.unsupported-input` if the policy does not accept its parts.
   */
  observe(observation: Observation, turn: number): void {
    if (this.terminated || this.truncated) {
      throw this.#broken(`observed agent "${this.agent}" after its end`, "Observe only agents that still play.");
    }
    const problem = observationProblem(this.agent, observation);
    if (problem !== undefined) {
      throw this.#broken(problem, "An observation is { messages, context }, with a message or more.");
    }
    const { messages, context } = observation;
    for (const message of messages) this.#checkParts(message);
    if (context === "replace") {
      this.#tip = null;
      this.previous = undefined;
      this.#messages = [];
    }
    this.tools = observation.tools;
    this.templateVariables = observation.templateVariables;
    for (const message of messages) {
      this.#messages.push(message);
      this.#addNode(message, turn);
    }
  }

  /**
   * Adds an action and its tokens to the conversation. Throws `policy.failed` if the result is invalid.
   */
  act(result: ActResult, options: { readonly turn: number; readonly sampling: SamplingSettings }): void {
    const problem = actionProblem(result?.action);
    if (problem !== undefined) throw this.#unlikely(problem);
    const { action, tokens, usage } = result;
    const { turn, sampling } = options;
    if (result.failure !== undefined && !isErrorData(result.failure)) {
      throw this.#unlikely("a failure that is not the data of an error");
    }
    const calls = recordCalls(result, { sampling, unlikely: this.#unlikely });
    const sampledTokens = calls?.sampledTokens ?? tokens?.completionIds?.length ?? usage?.completionTokens ?? 0;
    if (!(sampledTokens >= 0)) throw this.#unlikely(`${sampledTokens} sampled tokens`);
    const prompt = tokens === undefined ? undefined : this.#addPromptTokens(tokens);
    const node = this.#addNode(
      action.message,
      turn,
      tokens === undefined ? undefined : recordCompletion(tokens, sampling, this.#unlikely),
    );
    this.#messages.push(action.message);
    this.#turns.push({
      turn,
      node,
      finish: action.finish,
      ...actionDetails(result),
      ...(calls === undefined ? {} : { calls: calls.records }),
    });
    this.sampledTokens += sampledTokens;
    this.previous = prompt && { ids: prompt.append(tokens!.completionIds), messageCount: this.#messages.length };
  }

  /** Adds a reward to the last action. A reward before the first action only counts in the sum. */
  reward(reward: Reward): void {
    if (!isReward(reward)) {
      throw this.#broken(
        `gave agent "${this.agent}" the reward ${rewardText(reward)}`,
        "A reward is scored (finite numbers) or unscored: use scored(value) or unscored(reason).",
      );
    }
    const last = this.#turns.length - 1;
    const turn = this.#turns[last];
    if (turn === undefined) this.#early = sum(this.#early, reward);
    else this.#turns[last] = { ...turn, reward: sum(turn.reward, reward) };
  }

  /**
   * Adds a reward with `failure` to the last action, so that the sum becomes `lowest`. Returns that reward. Returns
   * undefined if the sum is already unscored.
   */
  fail(lowest: number, failure: ErrorData): Reward | undefined {
    const before = this.#sum();
    if (before?.status === "unscored") return undefined;
    const value = lowest - (before?.value ?? 0);
    const reward: Reward = { status: "scored", value, components: { failure: value }, failure };
    this.reward(reward);
    return reward;
  }

  /** Returns the finished record. `unscored` replaces the sum of the rewards. */
  finish(unscored?: UnscoredReward): AgentEpisode {
    return {
      policy: this.policy.name,
      nodes: this.#nodes,
      turns: this.#turns,
      ...(this.templateVariables === undefined ? {} : { templateVariables: this.templateVariables }),
      reward: unscored ?? this.#sum() ?? scored(0, {}),
      terminated: this.terminated,
      truncated: this.truncated,
    };
  }

  #sum(): Reward | undefined {
    let reward = this.#early;
    for (const turn of this.#turns) if (turn.reward !== undefined) reward = sum(reward, turn.reward);
    return reward;
  }

  #addNode(message: Message, turn: number, tokens?: NodeTokens): number {
    const id = this.#nodes.length;
    const node = { id, parent: this.#tip, turn, message };
    this.#nodes.push(tokens === undefined ? node : { ...node, tokens });
    this.#tip = id;
    return id;
  }

  /**
   * Assigns the tokens of the prompt since the last action to the last message of the observation. Returns the whole
   * prompt.
   */
  #addPromptTokens(tokens: ActTokens): TokenPrefix {
    const prompt = recordPrompt(tokens, this.previous?.ids, this.#unlikely);
    const last = this.#nodes.length - 1;
    this.#nodes[last] = { ...this.#nodes[last]!, tokens: prompt.tokens };
    return prompt.whole;
  }

  #checkParts(message: Message): void {
    for (const { type } of message.content) {
      if (this.policy.accepts.includes(type)) continue;
      throw new LyceumError({
        code: "policy.unsupported-input",
        message: `Environment "${this.#environment}" sent a part of type "${type}" to agent "${this.agent}", but its policy "${this.policy.name}" only accepts ${this.policy.accepts.join(", ")}.`,
        hint: "Use a policy that accepts such parts, or an environment that does not send them.",
        data: { part: type, accepts: [...this.policy.accepts] },
      });
    }
  }

  #broken(problem: string, rule: string): LyceumError {
    return contractError({ environment: this.#environment, problem, rule });
  }

  readonly #unlikely = (what: string): LyceumError =>
    new LyceumError({
      code: "policy.failed",
      message: `Policy "${this.policy.name}" answered agent "${this.agent}" with ${what}.`,
      hint: "This is an error in the policy: its tokens must be exactly those that the model read and sampled.",
    });
}

/** Returns the error of an action that the policy marked as an error without a cause in its answers, else undefined. */
export function actionError({ action, failure }: ActResult, recorder: AgentRecorder): LyceumError | undefined {
  if (action.finish !== "error" || failure !== undefined) return undefined;
  return new LyceumError({
    code: "policy.failed",
    message: `Policy "${recorder.policy.name}" ended the action of agent "${recorder.agent}" with an error.`,
    hint: "The trace has the text that was generated before. The episode is unscored, because the model is not the cause.",
  });
}

function isErrorData(value: ErrorData): boolean {
  return (
    typeof value === "object" && [value?.name, value?.code, value?.message].every((text) => typeof text === "string")
  );
}

/** The optional fields of an action's turn in the trace. */
function actionDetails({
  action: { parseErrors },
  finishReason,
  usage,
  latencyMs,
  retries,
  logprobs,
}: ActResult): Pick<AgentTurn, "parseErrors" | "finishReason" | "usage" | "latencyMs" | "retries" | "logprobs"> {
  return withoutUndefined({ parseErrors, finishReason, usage, latencyMs, retries, logprobs });
}

function sum(first: Reward | undefined, second: Reward): Reward {
  return first === undefined ? second : addRewards(first, second);
}
