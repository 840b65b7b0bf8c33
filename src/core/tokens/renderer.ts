import type { Action } from "../../contract/action.ts";
import type { Message, PartType, ToolSpec } from "../../contract/message.ts";

/**
 * A model's template: conversations to token ids and sampled ids back to actions. It never re-encodes what was
 * sampled.
 */
export interface Renderer {
  readonly name: string;
  /** The part types that the template can express. */
  readonly accepts: readonly PartType[];
  /** Ids that end an assistant's turn. */
  readonly stopTokenIds: readonly number[];
  /** The prompt of a conversation whose next message is the assistant's. */
  start(options: { readonly messages: readonly Message[]; readonly tools?: readonly ToolSpec[] }): number[];
  /**
   * The ids to append to `ids` (a prompt, then what was sampled after it) so that the assistant can answer
   * `messages.slice(messageCount)`; a missing end-of-turn token comes first. `"broken"` when the template renders
   * the earlier conversation differently now: then begin a new sequence with `start`.
   */
  extend(options: {
    readonly ids: readonly number[];
    readonly messages: readonly Message[];
    /** How many of `messages` the ids stand for; the last of these is the assistant's. */
    readonly messageCount: number;
    readonly tools?: readonly ToolSpec[];
  }): readonly number[] | "broken";
  /** The ids an assistant would have sampled for this message, end-of-turn token included: for demonstrations. */
  complete(message: Message): number[];
  /** The action behind sampled ids. `finish` and `stopString` come from the sampler. */
  parse(options: {
    readonly ids: readonly number[];
    readonly finish: "stop" | "length";
    readonly stopString?: string;
  }): Action;
}
