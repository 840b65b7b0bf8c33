import { type Message, textMessage } from "./message.ts";

/** A prompt of an environment: a text (as a user message), one message, or several messages. */
export type Prompt = string | Message | readonly Message[];

/** Converts a prompt to messages. A text becomes a user message. */
export function promptMessages(prompt: Prompt): readonly Message[] {
  if (typeof prompt === "string") return [textMessage("user", prompt)];
  return isMessage(prompt) ? [prompt] : prompt;
}

function isMessage(prompt: Message | readonly Message[]): prompt is Message {
  return !Array.isArray(prompt);
}
