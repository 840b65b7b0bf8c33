import type { EnvironmentDefinition, EnvironmentSpec } from "../../contract/environment.ts";
import type { AgentEpisode, Episode } from "../../contract/episode.ts";
import type { ErrorData } from "../../contract/errors/index.ts";
import { isJsonObject, type Json } from "../../contract/json.ts";
import type { Message } from "../../contract/message.ts";
import { isReasoningOnly } from "./reasoning-only.ts";

/** The tolerance for rounding in sums of reward components, such as thirds. */
const rounding = 1e-9;

type Definition = { readonly spec: EnvironmentSpec } & Pick<EnvironmentDefinition, "environmentOf" | "scoreGroup">;

/** How many episodes are compared with others of their task. A mistake that repeats shows in the first ones. */
const comparedEpisodes = 2000;

/**
 * Finds mistakes of an environment that do not make episodes unscored: a reward outside the declared range, a tool with
 * a programming error, an action that makes the environment fail, an instance that fails to close, and equal episodes
 * that differ in their observations or rewards. Reports each of them once.
 */
export class EpisodeWarnings {
  readonly #environment: Definition;
  readonly #reported = new Set<string>();
  readonly #closeErrors: ErrorData[] = [];
  #compared = 0;

  constructor(environment: Definition) {
    this.#environment = environment;
  }

  /** Notes an instance that failed to close, for the next warnings. */
  closeFailed(error: ErrorData): void {
    this.#closeErrors.push(error);
  }

  /** Returns the new warnings of these episodes. */
  of(episodes: readonly Episode[]): readonly string[] {
    const found: string[] = [];
    const report = (kind: string, warning: string | undefined): void => {
      if (warning === undefined || this.#reported.has(kind)) return;
      this.#reported.add(kind);
      found.push(warning);
    };
    if (!this.#reported.has("range")) report("range", rangeWarning(episodes, this.#environment));
    for (const { tool, warning } of episodes.flatMap(brokenTools)) report(`tool ${tool}`, warning);
    for (const { cause, warning } of episodes.flatMap(causedFailures)) report(`failure ${cause}`, warning);
    for (const { cause, warning } of episodes.flatMap(taskFailures)) report(`task ${cause}`, warning);
    if (!this.#reported.has("unequal") && this.#compared < comparedEpisodes) {
      report("unequal", unequalWarning(episodes, this.#environment));
      this.#compared += episodes.length;
    }
    for (const { cause, warning } of episodes.flatMap(silentAnswers)) report(`silent ${cause}`, warning);
    for (const error of this.#closeErrors.splice(0)) {
      const hint = error.code === "timeout" ? ` ${error.hint}` : "";
      report(`close ${locationOf(error)}`, `${error.message.replace(/\.?$/, ".")}${hint} This warning is shown once.`);
    }
    if (!this.#reported.has("server")) report("server", serverWarning(episodes));
    return found;
  }
}

/** Finds answers that consist of reasoning alone. Environments read them as empty. */
function silentAnswers({ task, agents }: Episode): { readonly cause: string; readonly warning: string }[] {
  return Object.entries(agents).flatMap(([agent, played]) =>
    played.turns.flatMap((acted) => {
      if (!isReasoningOnly(played, acted)) return [];
      const { turn, finish } = acted;
      const isCut = finish === "length";
      const remedy = isCut
        ? "It reached the limit of tokens: raise it (--max-tokens, sampling.maxTokens), or let the model reason less."
        : "If the model does this often, its server may take the answer for reasoning: check the server's reasoning parser, or turn reasoning off.";
      const warning =
        `Task "${task.id}", turn ${turn}: the answer of agent "${agent}" is reasoning alone, without a text or a tool ` +
        `call, so that it counts as an empty answer. ${remedy} This warning is shown once.`;
      return [{ cause: isCut ? "cut" : "ended", warning }];
    }),
  );
}

/** Warns of the first episode that was restarted because its server lost it. */
function serverWarning(episodes: readonly Episode[]): string | undefined {
  for (const { task, info = [], lost = [] } of episodes) {
    const restarted = info.flatMap((each) =>
      isJsonObject(each) && isJsonObject(each.restarted) ? [each.restarted] : [],
    );
    const reason = lost[0]?.message ?? restarted[0]?.reason;
    if (reason === undefined) continue;
    return (
      `Task "${task.id}": the environment's server lost the episode, which was restarted from its seed. ${String(reason)} ` +
      "The trace records each restart. This warning is shown once."
    );
  }
  return undefined;
}

/** Warns of the first reward outside the range of its environment, or of the task's environment in a mixture. */
function rangeWarning(episodes: readonly Episode[], { spec, environmentOf }: Definition): string | undefined {
  for (const { task, agents } of episodes) {
    const { id, rewardRange } = environmentOf?.(task.id)?.spec ?? spec;
    const [low, high] = rewardRange;
    for (const [agent, { reward }] of Object.entries(agents)) {
      if (reward.status !== "scored") continue;
      const slack = rounding * Math.max(1, Math.abs(reward.value));
      if (reward.value >= low - slack && reward.value <= high + slack) continue;
      return (
        `Environment "${id}" gave agent "${agent}" ${reward.value} in task "${task.id}", outside of its rewardRange ` +
        `[${low}, ${high}]. Accuracy and charts go by that range: declare rewardRange as it is, or change the reward. ` +
        "This warning is shown once."
      );
    }
  }
  return undefined;
}

/**
 * Warns of the first two episodes of a task in a deterministic environment, with the same seed, that begin with other
 * messages, or in which the same answers have other rewards.
 */
function unequalWarning(
  episodes: readonly Episode[],
  { spec, environmentOf, scoreGroup }: Definition,
): string | undefined {
  const begun = new Map<string, string>();
  const earned = new Map<string, string>();
  for (const episode of episodes) {
    const { task, seed, agents, status, limit, lost } = episode;
    const { id, deterministic } = environmentOf?.(task.id)?.spec ?? spec;
    if (!deterministic || status === "failed" || status === "aborted" || limit === "time" || lost !== undefined)
      continue;
    const played = Object.entries(agents).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const place = `${task.hash} ${seed}`;
    const start = JSON.stringify(played.map(([agent, { nodes, turns }]) => [agent, firstMessages(nodes, turns)]));
    if ((begun.get(place) ?? start) !== start) {
      return unequal(id, task.id, "begins with other messages in another episode of the same task and seed");
    }
    begun.set(place, start);
    if (scoreGroup !== undefined || played.some(([, { reward }]) => reward.status !== "scored")) continue;
    const answers = JSON.stringify(
      played.map(([agent, { nodes, turns }]) => [agent, turns.map(({ node }) => nodes[node]?.message)]),
    );
    const rewards = played
      .map(([, { reward }]) => (reward.status === "scored" ? String(Number(reward.value.toPrecision(9))) : ""))
      .join();
    const key = `${place} ${limit} ${answers}`;
    const other = earned.get(key);
    if (other !== undefined && other !== rewards) {
      return unequal(id, task.id, `gives the same answers the rewards ${other} and ${rewards} in two episodes`);
    }
    earned.set(key, rewards);
  }
  return undefined;
}

/** Returns the messages of the first turn before the agent's action. */
function firstMessages(nodes: AgentEpisode["nodes"], turns: AgentEpisode["turns"]): readonly Message[] {
  const actions = new Set(turns.map(({ node }) => node));
  return nodes.filter(({ id, turn }) => turn === 0 && !actions.has(id)).map(({ message }) => message);
}

function unequal(environment: string, task: string, what: string): string {
  return (
    `Environment "${environment}", task "${task}": ${what}. A state that episodes share, a changed task or a random number ` +
    "without the seed does that, and training learns from the difference. Find it with lyceum check, or declare " +
    "deterministic: false. This warning is shown once."
  );
}

/**
 * Finds tools that threw a TypeError or a ReferenceError, which programming errors cause and a model's input rarely
 * does.
 */
function brokenTools({ task, info = [] }: Episode): { readonly tool: string; readonly warning: string }[] {
  return info.flatMap((of, turn) =>
    toolErrorsIn(of).flatMap(({ tool, message, at }) => {
      if (!/^(Type|Reference)Error: /.test(message)) return [];
      const place = at === undefined ? "" : ` (${at})`;
      const warning =
        `Task "${task.id}", turn ${turn}: the tool "${tool}" threw ${message.split("\n")[0]}${place}. The model reads it ` +
        "as an error of its call. This warning is shown once for each tool.";
      return [{ tool, warning }];
    }),
  );
}

/** Finds failures that an action caused in each attempt. The environment lacks a check there. */
function causedFailures({ task, agents }: Episode): { readonly cause: string; readonly warning: string }[] {
  return Object.entries(agents).flatMap(([agent, { reward }]) => {
    if (reward.status !== "scored" || reward.failure === undefined) return [];
    const { code, message, hint, data } = reward.failure;
    const place = message.startsWith("Task ") ? "" : `Task "${task.id}": `;
    const isUnsure = isJsonObject(data) && data.failureCause === "policy?";
    const isOfProgram = code === "program.failed";
    const remedy = isOfProgram
      ? "Catch the error in the program, and let it answer. "
      : code === "environment.contract" && hint !== undefined
        ? `${hint} `
        : "Catch the error in the environment, and give the answer the reward that it deserves. ";
    const doubt = isOfProgram
      ? "Empty answers of the model make it fail in the same way: the program itself may be at fault. "
      : "An empty answer fails in the same way: if no answer is read without it, the task is at fault, and a demonstration would show it. ";
    const warning =
      `${place}${message.replace(/\.?$/, ".")} The same answer of agent "${agent}" fails each time, so it earns the ` +
      `lowest reward. ${remedy}${isUnsure ? doubt : ""}This warning is shown once for each place.`;
    return [{ cause: locationOf(reward.failure), warning }];
  });
}

/** Episodes of tasks whose own demonstration fails as the answer did. */
function taskFailures({ error }: Episode): { readonly cause: string; readonly warning: string }[] {
  if (!isJsonObject(error?.data) || error.data.failureCause !== "task") return [];
  const warning =
    `${error.message.replace(/\.?$/, ".")} The demonstration of the task fails in the same way, so the task is at fault and ` +
    "not the answer: its episodes are unscored. Correct the environment or the task, or leave the task out. This " +
    "warning is shown once for each place.";
  return [{ cause: locationOf(error), warning }];
}

function locationOf({ message, data }: ErrorData): string {
  return isJsonObject(data) && typeof data.location === "string" ? data.location : message;
}

/** Returns the errors of tools in the info of a step. */
export function toolErrorsIn(
  info: Json,
): readonly { readonly tool: string; readonly message: string; readonly at?: string }[] {
  if (!isJsonObject(info) || !Array.isArray(info.toolErrors)) return [];
  return info.toolErrors.flatMap((error) => {
    if (!isJsonObject(error) || typeof error.tool !== "string" || typeof error.message !== "string") return [];
    const { tool, message, at } = error;
    return [{ tool, message, ...(typeof at === "string" ? { at } : {}) }];
  });
}
