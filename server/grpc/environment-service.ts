import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { SessionReset, SessionStepResult } from "../session/session.ts";
import type { HostedSession, SessionHost } from "../session/session-host.ts";
import { asCompleted } from "./as-completed.ts";
import { checkBatch } from "./check-batch.ts";
import type {
  EnvironmentService,
  ResetRequest,
  StepOutcomeSchema,
  StepRequest,
} from "./generated/lyceum/v1/environment_pb.ts";
import { stepSignal } from "./step-signal.ts";
import { fromWireActions } from "./wire/actions.ts";
import { toWireEnvironment, toWireTask } from "./wire/environments.ts";
import { toWireError } from "./wire/errors.ts";
import { invalidRequest } from "./wire/invalid-request.ts";
import { valueField } from "./wire/json-value.ts";
import { toWireEpisode, toWireResult } from "./wire/steps.ts";

/** The number of steps of one stream that run at a time. Further requests wait unread. */
const streamConcurrency = 256;
/** The maximum number of tasks in one answer. */
const listedTasks = 10_000;

/** Implements `lyceum.v1.EnvironmentService` on the sessions of a server. */
export function environmentService(host: SessionHost): ServiceImpl<typeof EnvironmentService> {
  const { runner } = host;
  const nameOf = (environment: string): string => environment || runner.environments[0]!.name;

  const step = async (request: StepRequest, context: HandlerContext): Promise<SessionStepResult> => {
    const { sessionId, stepId, actions } = request;
    return host.get(sessionId).step({
      actions: fromWireActions(actions),
      stepId,
      signal: stepSignal(context, stepId),
    });
  };
  const outcomeOf = async (request: StepRequest, context: HandlerContext): Promise<Outcome> => {
    const { sessionId, stepId } = request;
    try {
      const response = toWireResult(await step(request, context));
      return { sessionId, stepId, result: { case: "response", value: response } };
    } catch (error) {
      return { sessionId, stepId, result: { case: "error", value: toWireError(error) } };
    }
  };

  return {
    reset: async (request, { signal }) => {
      const { sessionId, environmentId } = request;
      if (sessionId !== "") return toWireEpisode(sessionId, await host.get(sessionId).reset(resetOf(request, signal)));
      const session = await host.open({ environment: nameOf(environmentId), signal });
      return toWireEpisode(session.id, await firstReset(session, resetOf(request, signal)));
    },
    step: async (request, context) => toWireResult(await step(request, context)),
    batchStep: async ({ requests }, context) => {
      checkBatch(requests);
      return { outcomes: await Promise.all(requests.map((request) => outcomeOf(request, context))) };
    },
    streamStep: async function* (requests, context) {
      const steps = asCompleted(requests, {
        concurrency: streamConcurrency,
        run: async ({ request }) => {
          if (request === undefined) throw invalidRequest("A message of the stream has no request.", "Set request.");
          return outcomeOf(request, context);
        },
      });
      for await (const outcome of steps) yield { outcome };
    },
    getState: async ({ sessionId }) => {
      const { episodeId, stepCount, done, state } = await host.get(sessionId).state();
      return { episodeId, stepCount, done, ...valueField("state", state) };
    },
    close: async ({ sessionId }) => {
      await openSession(host, sessionId)?.close();
      return {};
    },
    listEnvironments: () => ({ environments: runner.environments.map(toWireEnvironment) }),
    listTasks: async ({ environmentId, split, start, stop }, { signal }) => {
      const range = { start: Number(start), stop: Math.min(Number(stop), Number(start) + listedTasks) };
      const tasks = await runner.tasks({ environment: nameOf(environmentId), split, ...range, signal });
      return { tasks: tasks.map(toWireTask) };
    },
    health: () => ({
      ready: host.isOpen,
      activeSessions: host.activeSessions,
      maxSessions: host.maxSessions,
    }),
  };
}

type Outcome = MessageInitShape<typeof StepOutcomeSchema>;

function resetOf({ seed, split, index, episodeId }: ResetRequest, signal: AbortSignal): SessionReset {
  return {
    seed: seed === undefined ? undefined : Number(seed),
    index: index === undefined ? undefined : Number(index),
    split,
    episodeId,
    signal,
  };
}

/** Starts the first episode of a session. Closes the session if the client cannot receive its id. */
async function firstReset(session: HostedSession, options: SessionReset) {
  try {
    const episode = await session.reset(options);
    options.signal?.throwIfAborted();
    return episode;
  } catch (error) {
    await session.close().catch(() => {});
    throw error;
  }
}

function openSession(host: SessionHost, id: string): HostedSession | undefined {
  try {
    return host.get(id);
  } catch (error) {
    if (LyceumError.isInstance(error) && error.code === "server.unknown-session") return undefined;
    throw error;
  }
}
