import type { Message } from "./message.ts";

const roles: readonly unknown[] = ["system", "user", "assistant", "tool"];

/**
 * Returns why a value is not a {@link Message}, such as "has no list of parts as content". Returns undefined for a
 * valid message. Needed because environments and policies may be plain JavaScript or use external data.
 */
export function messageProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return `is ${value === null ? "null" : `of type ${typeof value}`}`;
  const { role, content, toolCalls } = value as Partial<Message>;
  if (!roles.includes(role)) return `has the role ${JSON.stringify(role)}`;
  if (!Array.isArray(content)) return "has no list of parts as content";
  if (!content.every(isPart)) return "has a part that is neither text, reasoning nor image";
  if (toolCalls !== undefined && !Array.isArray(toolCalls)) return "has toolCalls that are not a list";
  return undefined;
}

function isPart(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { type, text, mediaType, data } = value as Readonly<Record<string, unknown>>;
  if (type === "image") return typeof mediaType === "string" && typeof data === "string";
  return (type === "text" || type === "reasoning") && typeof text === "string";
}
