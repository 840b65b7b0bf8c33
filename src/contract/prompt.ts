import { type Message, textMessage } from "./message.ts";

/** What an environment may say to a model: a text (from the user), one message, or several. */
export type Prompt = string | Message | readonly Message[];

/** A prompt as messages; a bare text is a user's. */
export function promptMessages(prompt: Prompt): readonly Message[] {
  if (typeof prompt === "string") return [textMessage("user", prompt)];
  return isMessage(prompt) ? [prompt] : prompt;
}

function isMessage(prompt: Message | readonly Message[]): prompt is Message {
  return !Array.isArray(prompt);
}
