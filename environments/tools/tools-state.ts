import type { EpisodeFolder } from "./episode-folder.ts";

/** What the calls of one episode share. Tools that keep something between calls key it by this object. */
export interface ToolsState {
  /** The episode's own folder. */
  readonly folder: EpisodeFolder;
  /** Seeds what is random in a tool. */
  readonly seed: number;
}
