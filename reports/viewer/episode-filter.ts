import { withOuterGroups } from "../../src/core/task-groups.ts";
import { withoutUndefined } from "../../src/core/without-undefined.ts";
import type { EpisodeRow } from "./episode-row.ts";

/** Which episodes are shown, and in which order. Every part is optional. An absent part selects all. */
export interface EpisodeFilter {
  readonly outcome?: (typeof outcomes)[number];
  /** For trainings: a step or a range of steps, such as `12`, `10-20`, `10-`. */
  readonly step?: string;
  /** An agent that acted. If there are several agents, rewards are then those of this agent. */
  readonly agent?: string;
  /** Inclusive bounds of the reward. Unscored episodes are outside of every range. */
  readonly min?: number;
  readonly max?: number;
  /** A part of a task's id, in any case. After `=`, the whole id. */
  readonly task?: string;
  readonly level?: string;
  /** A text of the transcript, in any case. */
  readonly text?: string;
  /** The order in which they were played by default. */
  readonly order?: (typeof orders)[number];
}

/**
 * `scored` and `unscored` are all episodes. Failed episodes are unscored, unless an agent's action caused the failure.
 * `reasoning-only`: one of its answers is reasoning alone. The others are statuses.
 */
export const outcomes = [
  "scored",
  "unscored",
  "correct",
  "wrong",
  "completed",
  "truncated",
  "failed",
  "aborted",
  "reasoning-only",
] as const;

/** `best` and `worst` by reward, `longest` by tokens (by turns if tokens are unknown), `slowest` by time. */
export const orders = ["newest", "task", "best", "worst", "longest", "slowest"] as const;

/** Returns a filter for an address. Empty parts are omitted. */
export function filterParameters(filter: EpisodeFilter): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  return parameters;
}

/** Returns the filter of an address. Invalid parts are ignored, so that any address opens a page. */
export function parseFilter(parameters: URLSearchParams): EpisodeFilter {
  const text = (name: string): string | undefined => parameters.get(name) || undefined;
  const number = (name: string): number | undefined => {
    const value = text(name);
    return value === undefined || !Number.isFinite(Number(value)) ? undefined : Number(value);
  };
  const oneOf = <T extends string>(name: string, names: readonly T[]): T | undefined =>
    names.find((candidate) => candidate === parameters.get(name));
  const parts = {
    outcome: oneOf("outcome", outcomes),
    step: stepRange(text("step")) && text("step"),
    agent: text("agent"),
    min: number("min"),
    max: number("max"),
    task: text("task"),
    level: text("level"),
    text: text("text"),
    order: oneOf("order", orders),
  };
  return withoutUndefined(parts);
}

/** Returns the rows that a filter selects, in its order. Ignores the filter's text, because rows have no texts. */
export function filterRows<Row extends EpisodeRow>(rows: readonly Row[], filter: EpisodeFilter): Row[] {
  const { order, agent } = filter;
  const steps = stepRange(filter.step);
  const passing = rows.filter((row) => passes(row, { ...filter, steps }));
  if (order === undefined) return passing;
  if (order === "newest") return passing.reverse();
  return passing.sort(compareRows(agent)[order]);
}

/** Returns the reward of an episode: of all of its agents, or of one agent. */
export function rewardOf({ reward, rewards }: EpisodeRow, agent: string | undefined): number | null {
  if (agent === undefined || rewards === undefined) return reward;
  return Object.hasOwn(rewards, agent) ? rewards[agent]! : null;
}

interface StepRange {
  readonly from: number;
  readonly to: number;
}

/** Returns the steps of a text such as `12`, `10-20`, `10-` or `-20`. Undefined for any other text. */
function stepRange(text: string | undefined): StepRange | undefined {
  const [, from = "", dash, to = ""] = /^\s*(\d*)\s*(?:([-–])\s*(\d*))?\s*$/.exec(text ?? "") ?? [];
  if (from === "" && to === "") return undefined;
  return {
    from: Number(from),
    to: to !== "" ? Number(to) : dash === undefined ? Number(from) : Number.POSITIVE_INFINITY,
  };
}

function passes(row: EpisodeRow, filter: EpisodeFilter & { readonly steps: StepRange | undefined }): boolean {
  const { outcome, steps, agent, min, max, task, level } = filter;
  if (outcome !== undefined && !hasOutcome(row, outcome)) return false;
  if (steps !== undefined && !(row.step !== undefined && row.step >= steps.from && row.step <= steps.to)) return false;
  if (agent !== undefined && row.rewards !== undefined && !Object.hasOwn(row.rewards, agent)) return false;
  const reward = min === undefined && max === undefined ? null : rewardOf(row, agent);
  if (min !== undefined && (reward === null || reward < min)) return false;
  if (max !== undefined && (reward === null || reward > max)) return false;
  if (level !== undefined && !withOuterGroups(row.level).includes(level)) return false;
  if (task === undefined) return true;
  return task.startsWith("=") ? row.task.id === task.slice(1) : row.task.id.toLowerCase().includes(task.toLowerCase());
}

function hasOutcome(row: EpisodeRow, outcome: (typeof outcomes)[number]): boolean {
  switch (outcome) {
    case "scored":
      return row.reward !== null;
    case "unscored":
      return row.reward === null;
    case "correct":
    case "wrong":
      return row.outcome === outcome;
    case "reasoning-only":
      return row.reasoningOnly === true;
    default:
      return row.status === outcome;
  }
}

type Order = (one: EpisodeRow, other: EpisodeRow) => number;

/** Unscored episodes are last in both orders. */
const byReward =
  (sign: 1 | -1, agent: string | undefined): Order =>
  (one, other) => {
    const [first, second] = [rewardOf(one, agent), rewardOf(other, agent)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    return sign * (first - second);
  };

/** Episodes of a task are adjacent, in the order in which they were played. */
const byTask: Order = (one, other) =>
  one.task.index - other.task.index || (one.step ?? 0) - (other.step ?? 0) || one.sampleIndex - other.sampleIndex;

function compareRows(agent: string | undefined): Record<Exclude<(typeof orders)[number], "newest">, Order> {
  return {
    task: byTask,
    best: byReward(-1, agent),
    worst: byReward(1, agent),
    longest: (one, other) => (other.tokens ?? 0) - (one.tokens ?? 0) || other.turns - one.turns,
    slowest: (one, other) => other.durationMs - one.durationMs,
  };
}
