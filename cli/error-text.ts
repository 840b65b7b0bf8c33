import { LyceumError, toErrorData } from "../src/contract/errors/index.ts";
import { withoutUrlSecrets } from "../src/core/text/secrets.ts";
import { visibleText } from "../src/core/text/visible-text.ts";

/**
 * Formats an error for people: its code and message, then the hint. With `debug`, the stack and its causes follow.
 * Positions in a config are part of the message. Secrets in URLs are hidden. The lines of a message after the
 * first are indented, so that no text from outside looks like a message of its own.
 */
export function errorText(error: unknown, options: { readonly debug: boolean }): string {
  const { code, message } = toErrorData(error);
  const known = LyceumError.isInstance(error);
  // An abort by the user is not an error.
  const lines = [code === "aborted" ? message : `error${known ? `[${error.code}]` : ""}: ${message}`];
  if (known) {
    if (error.hint !== undefined) lines.push(`  ${error.hint}`);
  } else if (!options.debug) {
    lines.push("  Run it again with --debug to print the stack.");
  }
  const told = lines.join("\n").replace(/\n(?! )/g, "\n  ");
  return visibleText(withoutUrlSecrets([told, ...(options.debug ? stacks(error) : [])].join("\n")));
}

function stacks(error: unknown): string[] {
  const lines: string[] = [];
  const seen = new Set<unknown>();
  for (let current = error; current instanceof Error && !seen.has(current); current = current.cause) {
    seen.add(current);
    lines.push(`${current === error ? "" : "caused by: "}${current.stack ?? current.message}`);
    const kept = current.cause === undefined ? keptStack(current) : undefined;
    if (kept !== undefined) lines.push(`caused by: ${kept}`);
  }
  return lines;
}

/** Returns the stack of the cause that an error kept when it became data. */
function keptStack(error: Error): string | undefined {
  const data = LyceumError.isInstance(error) ? error.data : undefined;
  if (typeof data !== "object" || data === null || !("stack" in data)) return undefined;
  return typeof data.stack === "string" ? data.stack : undefined;
}
