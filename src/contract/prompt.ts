import { type Message, textMessage } from "./message.ts";

/**
 * A prompt of an environment: a text (as a user message), one message, or several messages.
 *
 * @example
 * import { type Prompt, textMessage } from "lyceum";
 * const short: Prompt = "What is 2 + 2?";
 * const long: Prompt = [textMessage("system", "Answer with a number."), textMessage("user", short)];
 * long.length; // => 2
 */
export type Prompt = string | Message | readonly Message[];

/** Converts a prompt to messages. A text becomes a user message. */
export function promptMessages(prompt: Prompt): readonly Message[] {
  if (typeof prompt === "string") return [textMessage("user", prompt)];
  return isMessage(prompt) ? [prompt] : prompt;
}

function isMessage(prompt: Message | readonly Message[]): prompt is Message {
  return !Array.isArray(prompt);
}
