import type { Episode, EpisodeStatus, Group } from "../../contract/episode.ts";
import type { ErrorData } from "../../contract/errors/index.ts";

/** An event of a rollout. `group` is the index of the task in the order of the given tasks. */
export type RolloutEvent = EpisodeStartEvent | EpisodeEndEvent | GroupEndEvent | RolloutWarningEvent | RolloutEndEvent;

/** Sent when an episode begins. Episodes begin in task order. */
export interface EpisodeStartEvent {
  readonly type: "episode-start";
  readonly group: number;
  readonly sampleIndex: number;
  readonly task: Episode["task"];
}

/** Sent after an episode has ended, with any status. It does not yet include the rewards of `scoreGroup`. */
export interface EpisodeEndEvent {
  readonly type: "episode-end";
  readonly group: number;
  readonly episode: Episode;
}

/** Sent after all episodes of a task have ended and are scored. Groups end in any order. */
export interface GroupEndEvent {
  readonly type: "group-end";
  readonly group: number;
  readonly result: Group;
}

/** An error outside of episodes, such as an environment that could not be closed. */
export interface RolloutWarningEvent {
  readonly type: "warning";
  readonly error: ErrorData;
}

/** The last event. Aborted rollouts do not send it. */
export interface RolloutEndEvent {
  readonly type: "rollout-end";
  readonly groups: number;
  readonly episodes: Readonly<Record<EpisodeStatus, number>>;
  readonly turns: number;
  readonly durationMs: number;
}
