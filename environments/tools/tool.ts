import { z } from "zod";
import type { Json } from "../../src/json.ts";
import type { ToolSpec } from "../../src/message/message.ts";
import type { EpisodeFolder } from "./episode-folder.ts";

/** What the calls of one episode share. Tools that keep something between calls key it by this object. */
export interface ToolEpisode {
  /** The episode's own folder. */
  readonly folder: EpisodeFolder;
  /** Seeds what is random in a tool. */
  readonly seed: number;
}

/** What a tool's function is given beside its input. */
export interface ToolContext {
  readonly episode: ToolEpisode;
  /** Aborted when the call's time is over; what the function waits for must end then. */
  readonly signal: AbortSignal;
}

/** Something a model may call. Its input is checked by the schema before the function sees it. */
export interface Tool<Parameters extends z.ZodType = z.ZodType> {
  /** Letters, digits, `_` and `-`. */
  readonly name: string;
  /** What it does and gives, for the model. */
  readonly description: string;
  readonly parameters: Parameters;
  /** True for what asks a service: one that does not answer in time is down, which is no fault of the model's. */
  readonly asksService?: boolean;
  /**
   * What it answers: text, or a value shown as JSON. What it throws is told to the model, except a
   * `sandbox.unavailable`, `sandbox.closed` or `data.unavailable` error: then the episode is unscored.
   */
  call(input: z.output<Parameters>, context: ToolContext): string | Json | Promise<string | Json>;
}

/** A tool, with the type of its input inferred from its schema. */
export function defineTool<Parameters extends z.ZodType>(tool: Tool<Parameters>): Tool {
  return tool as unknown as Tool;
}

/** A tool as a model is told of it. */
export function toToolSpec({ name, description, parameters }: Tool): ToolSpec {
  const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: "input", unrepresentable: "any" });
  return { name, description, parameters: schema as Json };
}
