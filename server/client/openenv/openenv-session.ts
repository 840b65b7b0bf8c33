import { z } from "zod";
import { type ErrorData, fromErrorData, LyceumError } from "../../../src/contract/errors/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../src/contract/json.ts";
import type { EnvironmentSession } from "../../session/session.ts";
import { answerError, connectionError } from "../remote-error.ts";
import type { RemoteSettings } from "../remote-options.ts";
import type { ObservationData, OpenEnvDialect } from "./dialect.ts";
import { OpenEnvSocket, type SocketAnswer } from "./openenv-socket.ts";

const observationData = z.object({
  observation: z.record(z.string(), z.json()),
  reward: z.union([z.number(), z.boolean().transform(Number)]).nullish(),
  done: z.boolean().default(false),
});

/** Returns a session over a WebSocket. Its first reset connects. */
export function openEnvSession(options: {
  /** The address of the WebSocket. */
  readonly url: string;
  readonly shown: string;
  readonly environment: string;
  readonly settings: RemoteSettings;
  readonly dialect: OpenEnvDialect;
}): EnvironmentSession {
  const { url, shown, environment, settings, dialect } = options;
  let socket: OpenEnvSocket | undefined;

  const ask = async (
    message: { readonly type: string; readonly data?: Json },
    { expected = "observation", signal }: { readonly expected?: string; readonly signal?: AbortSignal | undefined },
  ): Promise<JsonObject> => {
    if (socket === undefined) throw connectionError(shown, "the session is not connected.");
    const answer = await socket.request(message, { signal });
    if (answer.type === "error") throw errorOf(answer, { shown, environment, call: message.type });
    if (answer.type !== expected) {
      socket.close();
      throw answerError(shown, `it answers ${message.type} by "${answer.type}".`);
    }
    return answer.data;
  };
  const read = <T>(data: JsonObject, interpret: (data: ObservationData) => T): T => {
    try {
      const parsed = observationData.parse(data);
      return interpret({ ...parsed, reward: parsed.reward ?? null });
    } catch (error) {
      const problem = error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message;
      throw answerError(shown, problem, error);
    }
  };
  const close = async (): Promise<void> => {
    socket?.close();
  };
  return {
    reset: async (reset = {}) => {
      const { signal } = reset;
      if (socket?.isOpen !== true) socket = await OpenEnvSocket.connect(url, { shown, settings, signal });
      const data = await ask({ type: "reset", data: dialect.reset(reset) }, { signal });
      return read(data, (answer) => dialect.episode(answer, reset));
    },
    step: async ({ actions, stepId, signal }) =>
      read(await ask({ type: "step", data: dialect.step(actions, { stepId }) }, { signal }), (answer) =>
        dialect.result(answer),
      ),
    state: async () => {
      const { episode_id: id, step_count: steps, ...state } = await ask({ type: "state" }, { expected: "state" });
      return {
        ...(typeof id === "string" ? { episodeId: id } : {}),
        stepCount: typeof steps === "number" ? steps : 0,
        done: state.done === true,
        state,
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the error of a server's error message. A Lyceum server sends its own error with it. */
function errorOf(
  { data }: SocketAnswer,
  { shown, environment, call }: { readonly shown: string; readonly environment: string; readonly call: string },
): LyceumError {
  const { error, message, code } = data;
  if (isJsonObject(error) && typeof error.code === "string" && typeof error.message === "string") {
    return fromErrorData(error as unknown as ErrorData);
  }
  const text = typeof message === "string" ? message : JSON.stringify(data);
  if (code === "CAPACITY_REACHED") {
    return new LyceumError({ code: "server.capacity", message: text, hint: "Wait until a session closes." });
  }
  if (code === "EXECUTION_ERROR" || code === "VALIDATION_ERROR") {
    const { errors } = data;
    return new LyceumError({
      code: "environment.failed",
      message: `Environment "${environment}" failed in ${call}: ${text}${errors === undefined ? "" : ` ${JSON.stringify(errors)}`}`,
      hint: `The error comes from the environment on ${shown}.`,
      data: { environment, call, location: text },
    });
  }
  return answerError(shown, `it refuses ${call}: ${text}`);
}
