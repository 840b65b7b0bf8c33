import { z } from "zod";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { messageLimits, parseLimitedJson } from "../../src/core/network/limited-json.ts";
import { openEnvError } from "./error.ts";
import { answerRpc, type RpcContext } from "./mcp.ts";
import { checked, type OpenEnvSession } from "./openenv-session.ts";

/** A message from the server. */
export interface ServerMessage {
  readonly type: "observation" | "state" | "mcp" | "error";
  readonly data: unknown;
}

const envelope = z.strictObject({ type: z.string(), data: z.unknown().optional() });

/**
 * Answers one message of a WebSocket. Every message but `close` has exactly one answer, and failures are answers too:
 * OpenEnv's messages have no ids, so that a missing or an additional answer would shift all later ones. Returns
 * undefined for `close`.
 */
export async function answerMessage(
  text: string,
  options: { readonly session: OpenEnvSession; readonly rpc: RpcContext; readonly signal: AbortSignal },
): Promise<ServerMessage | undefined> {
  const { session, rpc, signal } = options;
  try {
    const parsed = parseLimitedJson(text, messageLimits);
    if (parsed === undefined) {
      return { type: "error", data: { message: "The message is not JSON.", code: "INVALID_JSON" } };
    }
    const { type, data } = checked(envelope, parsed, "message");
    switch (type) {
      case "reset":
        return { type: "observation", data: await session.reset(data, { signal }) };
      case "step":
        return { type: "observation", data: await session.step(data, { signal }) };
      case "state":
        return { type: "state", data: await session.state() };
      case "mcp":
        return { type: "mcp", data: await answerRpc(() => data, rpc) };
      case "close":
        return undefined;
      default:
        return { type: "error", data: { ...unknownType(type), code: "UNKNOWN_TYPE" } };
    }
  } catch (error) {
    return { type: "error", data: openEnvError(error) };
  }
}

function unknownType(type: string): { readonly message: string } {
  const shown = type.length > 60 ? `${type.slice(0, 60)}...` : type;
  return { message: `Unknown message type: ${shown}. The types are reset, step, state, mcp and close.` };
}

/** The error of a client that sends messages faster than they are answered. */
export function tooManyMessages(maximum: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `More than ${maximum} messages wait for an answer.`,
    hint: "Wait for the answer to a message before the next one.",
  });
}
