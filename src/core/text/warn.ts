import { visibleLine } from "./visible-text.ts";

/** The longest warning in characters. Texts from outside can have any length. */
const longest = 2_000;

/**
 * Writes a warning of this process on one line of its log, and makes control characters visible. Use it for everything
 * that a library reports outside of results and errors: the text can be from an environment, a server or a client.
 */
export function warn(type: string, message: string): void {
  const shown = message.length > longest ? `${message.slice(0, longest)}…` : message;
  process.emitWarning(visibleLine(shown), { type });
}
