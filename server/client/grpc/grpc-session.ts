import type { Client } from "@connectrpc/connect";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { EnvironmentService } from "../../grpc/generated/lyceum/v1/environment_pb.ts";
import { toWireActions } from "../../grpc/wire/actions.ts";
import { jsonField } from "../../grpc/wire/json-value.ts";
import { fromWireEpisode, fromWireResult } from "../../grpc/wire/steps.ts";
import type { EnvironmentSession } from "../../session/session.ts";
import type { GrpcCalls } from "./grpc-calls.ts";

/** The maximum time in milliseconds to wait for a session to close. */
const closeMs = 10_000;

/** Returns a session over gRPC. Its first reset opens it on the server. */
export function grpcSession(options: {
  readonly client: Client<typeof EnvironmentService>;
  readonly calls: GrpcCalls;
  readonly environment: string;
}): EnvironmentSession {
  const { client, calls, environment } = options;
  const release = calls.hold();
  let session = "";
  let closed: Promise<void> | undefined;
  const opened = (): string => {
    if (session === "") throw notOpen();
    return session;
  };
  const close = (): Promise<void> => {
    closed ??= (async () => {
      try {
        if (session === "") return;
        await calls.call("Close", (call) => client.close({ sessionId: session }, call), { callMs: closeMs });
      } catch {
        // The server closes a session that it cannot be asked to close, after a time without calls.
      } finally {
        release();
      }
    })();
    return closed;
  };
  return {
    reset: async ({ seed = 0, split, index, episodeId, signal } = {}) => {
      const request = {
        environmentId: environment,
        sessionId: session,
        split,
        episodeId,
        seed: BigInt(seed),
        index: index === undefined ? undefined : BigInt(index),
      };
      const response = await calls.call("Reset", (call) => client.reset(request, call), { signal });
      session = response.sessionId;
      return fromWireEpisode(response);
    },
    step: async ({ actions, stepId, signal }) => {
      const request = { sessionId: opened(), stepId, actions: toWireActions(actions) };
      return fromWireResult(await calls.call("Step", (call) => client.step(request, call), { signal }));
    },
    state: async () => {
      const request = { sessionId: opened() };
      const { episodeId, stepCount, done, state } = await calls.call(
        "GetState",
        (call) => client.getState(request, call),
        {},
      );
      return { episodeId, stepCount, done, ...jsonField("state", state) };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function notOpen(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "step was called before reset.",
    hint: "Call reset first.",
  });
}
