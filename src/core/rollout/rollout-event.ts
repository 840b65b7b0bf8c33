import type { Episode, EpisodeStatus, Group } from "../../contract/episode.ts";
import type { ErrorData } from "../../contract/errors/index.ts";

/** What a rollout tells while it goes on. `group` is the place of a task in the order that the tasks were given in. */
export type RolloutEvent = EpisodeStartEvent | EpisodeEndEvent | GroupEndEvent | WarningEvent | RolloutEndEvent;

/** An episode begins. Episodes begin in task order. */
export interface EpisodeStartEvent {
  readonly type: "episode-start";
  readonly group: number;
  readonly member: number;
  readonly task: Episode["task"];
}

/** An episode has ended, however it ended. Rewards of `scoreGroup` are not in it yet. */
export interface EpisodeEndEvent {
  readonly type: "episode-end";
  readonly group: number;
  readonly episode: Episode;
}

/** All episodes of a task have ended and are scored. Groups end in any order. */
export interface GroupEndEvent {
  readonly type: "group-end";
  readonly group: number;
  readonly result: Group;
}

/** Something went wrong that belongs to no episode: an environment that could not be closed. */
export interface WarningEvent {
  readonly type: "warning";
  readonly error: ErrorData;
}

/** The last event of a rollout that was not aborted. */
export interface RolloutEndEvent {
  readonly type: "rollout-end";
  readonly groups: number;
  readonly episodes: Readonly<Record<EpisodeStatus, number>>;
  readonly turns: number;
  readonly durationMs: number;
}
