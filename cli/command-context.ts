import type { TerminalStream } from "../reports/training/live-block.ts";
import type { Catalog } from "./catalog.ts";

/** What a command runs with, besides its arguments. */
export interface CommandContext {
  readonly catalog: Catalog;
  readonly output: TerminalStream;
  /** The environment variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborts the command, so that it saves its work and ends. */
  readonly signal: AbortSignal;
}
