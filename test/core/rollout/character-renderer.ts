import type { Message, Role } from "../../../src/contract/message.ts";
import { textMessage, textOf } from "../../../src/contract/message.ts";
import type { Renderer } from "../../../src/core/tokens/renderer.ts";

const endOfTurn = 0;
const roles: readonly Role[] = ["system", "user", "assistant", "tool"];

/**
 * A small chat template over UTF-16 code units: role, text, end-of-turn. `breaks` decides if a conversation cannot be
 * extended.
 */
export function characterRenderer(breaks: (messageCount: number) => boolean = () => false): Renderer {
  const encode = (text: string): number[] => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i) + 8);
  const role = (name: Role): number => 1 + roles.indexOf(name);
  const render = (messages: readonly Message[]): number[] =>
    messages.flatMap((message) => [role(message.role), ...encode(textOf(message)), endOfTurn]);
  return {
    specificationVersion: "v1",
    name: "characters",
    accepts: ["text"],
    stopTokenIds: [endOfTurn],
    start: ({ messages }) => [...render(messages), role("assistant")],
    extend: ({ ids, messages, messageCount }) => {
      if (breaks(messageCount)) return "broken";
      const missing = ids.lastId === endOfTurn ? [] : [endOfTurn];
      return [...missing, ...render(messages.slice(messageCount)), role("assistant")];
    },
    complete: (message) => [...encode(textOf(message)), endOfTurn],
    parse: ({ ids, finish }) => ({
      message: textMessage("assistant", decodeCharacters(ids)),
      finish,
    }),
  };
}

/** The text of sampled ids, without end-of-turn. */
export function decodeCharacters(ids: readonly number[]): string {
  return String.fromCharCode(...ids.filter((id) => id >= 8).map((id) => id - 8));
}
