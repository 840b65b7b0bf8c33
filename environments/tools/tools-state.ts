import type { EpisodeFolder } from "./episode-folder.ts";

/** The state that all calls of an episode share. Tools that keep data between calls use this object as the key. */
export interface ToolsState {
  /** The episode's folder. */
  readonly folder: EpisodeFolder;
  /** The seed of random choices in tools. */
  readonly seed: number;
}
