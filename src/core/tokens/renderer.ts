import type { Action } from "../../contract/action.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Message, PartType, ToolSpec } from "../../contract/message.ts";
import type { TokenPrefix } from "../../contract/token-prefix.ts";
import type { SettledParts } from "./settled-parts.ts";

/**
 * A model's template. Converts conversations to token ids and sampled ids to actions. Sampled ids are never re-encoded.
 */
export interface Renderer {
  readonly specificationVersion: "v1";
  readonly name: string;
  /** The part types that the template can express. */
  readonly accepts: readonly PartType[];
  /** The ids that end an assistant's turn. */
  readonly stopTokenIds: readonly number[];
  /** Returns the prompt of a conversation whose next message is the assistant's. */
  start(options: { readonly messages: readonly Message[]; readonly tools?: readonly ToolSpec[] }): number[];
  /**
   * Returns the ids to append to `ids` (a prompt and the completion sampled after it), so that the assistant can answer
   * `messages.slice(messageCount)`. They begin with the end-of-turn token if it is missing. Returns `"broken"` if the
   * template now renders the earlier conversation differently. Begin a new sequence with `start` then.
   */
  extend(options: {
    readonly ids: TokenPrefix;
    readonly messages: readonly Message[];
    /** The number of `messages` that the ids contain. The last of these is the assistant's. */
    readonly messageCount: number;
    readonly tools?: readonly ToolSpec[];
  }): readonly number[] | "broken";
  /**
   * Returns the ids that an assistant would sample for this message, including the end-of-turn token. For
   * demonstrations.
   */
  complete(message: Message): number[];
  /**
   * Parses sampled ids into an action. `finish` and `stopString` come from the sampler. `tools` are those of the
   * prompt: some templates write the values of calls without their types.
   */
  parse(options: {
    readonly ids: readonly number[];
    readonly finish: "stop" | "length";
    readonly stopString?: string;
    readonly tools?: readonly ToolSpec[];
  }): Action;
  /**
   * Returns the renderer of conversations that set these variables of the template, in addition to those of this
   * renderer. Absent if there is no template.
   */
  withVariables?(variables: JsonObject): Renderer;
  /**
   * Returns the reasoning and the text of an unfinished completion that further tokens cannot change. Those of the
   * finished completion, as `parse` returns them, begin with these. `text` is the decoded completion without a stop
   * token. Without this method, servers stream whole answers.
   */
  settledParts?(text: string): SettledParts;
}
