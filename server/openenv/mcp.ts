import { z } from "zod";
import type { ToolSpec } from "../../src/contract/message.ts";
import { clientErrorData } from "../http/client-error-data.ts";
import type { OpenEnvSession } from "./openenv-session.ts";

const requestSchema = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
});

/** An answer of JSON-RPC 2.0. */
export interface RpcAnswer {
  readonly jsonrpc: "2.0";
  readonly id: string | number | null;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What a request of MCP can reach. */
export interface RpcContext {
  /** The session of the connection, or the one that `session_id` in the parameters names. Throws if there is none. */
  session(id: string | undefined): OpenEnvSession;
  /** The tools of that session, or else those that the environment always has. */
  tools(id: string | undefined): readonly ToolSpec[];
  createSession(): Promise<string>;
  closeSession(id: string): Promise<void>;
}

/** The codes of JSON-RPC 2.0 that a client can expect. */
const rpcCodes = { invalidRequest: -32_600, unknownMethod: -32_601, invalidParameters: -32_602, failed: -32_000 };

/**
 * Answers OpenEnv's requests of MCP: `tools/list`, `tools/call`, `openenv/session/create` and `openenv/session/close`.
 * `read` returns the request. Never throws: each failure is an error of JSON-RPC.
 */
export async function answerRpc(read: () => unknown, context: RpcContext): Promise<RpcAnswer> {
  let id: RpcAnswer["id"] = null;
  try {
    const request = requestSchema.safeParse(read());
    if (!request.success) return failure(null, rpcCodes.invalidRequest, "The message is no request of JSON-RPC 2.0.");
    const { method, params } = request.data;
    id = request.data.id ?? null;
    const sessionId = typeof params.session_id === "string" ? params.session_id : undefined;
    switch (method) {
      case "openenv/session/create":
        return { jsonrpc: "2.0", id, result: { session_id: await context.createSession() } };
      case "openenv/session/close": {
        if (sessionId === undefined) return failure(id, rpcCodes.invalidParameters, "session_id is missing.");
        await context.closeSession(sessionId);
        return { jsonrpc: "2.0", id, result: { session_id: sessionId, closed: true } };
      }
      case "tools/list": {
        const tools = context.tools(sessionId).map(({ name, description, parameters }) => ({
          name,
          description,
          inputSchema: parameters,
        }));
        return { jsonrpc: "2.0", id, result: { tools } };
      }
      case "tools/call": {
        const { name, arguments: given = {} } = params;
        if (typeof name !== "string") return failure(id, rpcCodes.invalidParameters, "name is missing.");
        const session = context.session(sessionId);
        const { episode_id } = await session.state();
        if (episode_id === null) await session.reset({});
        const { observation } = await session.step({ type: "call_tool", tool_name: name, arguments: given });
        return { jsonrpc: "2.0", id, result: toolResult(observation) };
      }
      default:
        return failure(id, rpcCodes.unknownMethod, `There is no method "${method}".`);
    }
  } catch (thrown) {
    const { message: text, hint, code, data } = clientErrorData(thrown);
    return failure(id, rpcCodes.failed, hint === undefined ? text : `${text} ${hint}`, { code, data });
  }
}

/** The result of a tool in MCP's form and in OpenEnv's. */
function toolResult({ tool_name, result, error }: Readonly<Record<string, unknown>>): unknown {
  const failed = error !== null && error !== undefined;
  const text = failed ? (error as { readonly message: string }).message : String(result ?? "");
  return {
    content: [{ type: "text", text }],
    isError: failed,
    tool_name,
    result: result ?? null,
    error: error ?? null,
  };
}

function failure(id: RpcAnswer["id"], code: number, message: string, data?: unknown): RpcAnswer {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}
