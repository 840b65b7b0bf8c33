import type { Action } from "../../src/contract/action.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type Message, textMessage } from "../../src/contract/message.ts";
import type { ActRequest, ActResult, ModelCall, Policy, TokenUsage } from "../../src/contract/policy.ts";
import { deriveSeed } from "../../src/core/random/random.ts";
import type { RunProgram } from "./agent-call.ts";
import { CallBatches } from "./call-batches.ts";
import type { CaptureServer } from "./capture-server.ts";
import { causedFailure, isSameProgramError, ProgramError, programFailed } from "./program-error.ts";
import { emptyAnswers, repeatedAnswers } from "./repeated-answers.ts";

/** The name of the model for every program. */
const modelName = "lyceum";

interface ProgramOptions {
  readonly name: string;
  readonly model: Policy;
  readonly run: RunProgram;
  readonly timeoutMs: number;
  readonly maxModelCalls: number;
  readonly server: CaptureServer;
}

/** The end of one run of a program. */
interface Ran {
  readonly answer: string | Message | ProgramError;
  readonly calls: readonly ModelCall[];
  /** The error of the last model call, if that was not answered. */
  readonly modelError?: unknown;
}

/** Creates the policy that runs a program for each action. Closing it closes the server. */
export function programPolicy(options: ProgramOptions): Policy {
  const { name, model, server } = options;
  const batches = new CallBatches(model);
  return {
    specificationVersion: "v1",
    name: `${name} with ${model.name}`,
    accepts: model.accepts,
    act: async (request) => {
      request.signal?.throwIfAborted();
      const calls = batches.begin();
      try {
        return await act(request, { ...options, model: { ...model, act: calls.act } });
      } finally {
        calls.end();
      }
    },
    close: () => server.close(),
  };
}

async function act(request: ActRequest, options: ProgramOptions): Promise<ActResult> {
  const { name } = options;
  const { answer, calls, modelError } = await runOnce(request, options);
  const isTooLong = LyceumError.isInstance(modelError) && modelError.code === "policy.prompt-too-long";
  // A program may answer although its model failed. That answer says nothing about the model.
  if (modelError !== undefined && !(isTooLong && calls.length > 0)) throw modelError;
  const recorded = { calls, usage: usageOf(calls) };
  if (!(answer instanceof ProgramError)) return { action: actionOf(answer), ...recorded };
  if (calls.length === 0) {
    const hint = "It made no model call before, so its model is not the cause. Run it alone to find the error.";
    throw programFailed(name, answer, hint);
  }
  const again =
    isTooLong || (await failsAlike(answer, request, { ...options, model: repeatedAnswers(options.model, calls) }));
  if (!again) {
    const hint = "It does not fail again with the same answers of its model, so they are not the cause.";
    throw programFailed(name, answer, hint);
  }
  const isUnsure =
    !isTooLong && (await failsAlike(answer, request, { ...options, model: emptyAnswers(options.model) }));
  const action: Action = { message: textMessage("assistant", ""), finish: "error" };
  return { action, ...recorded, failure: causedFailure(name, answer, isUnsure ? "policy?" : "policy") };
}

/** Returns true if the program fails in the same way with the answers of another model. */
async function failsAlike(error: ProgramError, request: ActRequest, options: ProgramOptions): Promise<boolean> {
  const { answer, modelError } = await runOnce(request, options);
  return modelError === undefined && answer instanceof ProgramError && isSameProgramError(answer, error);
}

/** Runs the program with a session of its own. Rejects after an abort and at the time limit. */
async function runOnce(request: ActRequest, options: ProgramOptions): Promise<Ran> {
  const { run, timeoutMs, maxModelCalls, server } = options;
  const { agent, messages, tools = [], sampling, seed } = request;
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = request.signal === undefined ? limit : AbortSignal.any([request.signal, limit]);
  const model = new ObservedModel(options.model, request);
  const session = server.open({ policy: model.policy, agent, sampling, seed, maxModelCalls });
  let answer: Ran["answer"];
  try {
    answer = await run({
      baseURL: `${server.url}/v1`,
      anthropicBaseURL: server.url,
      apiKey: session.id,
      model: modelName,
      messages,
      tools,
      signal,
    });
  } catch (error) {
    request.signal?.throwIfAborted();
    if (limit.aborted) throw tooSlow(options);
    if (!(error instanceof ProgramError)) throw error;
    answer = error;
  } finally {
    model.stop();
    await session.close();
  }
  return { answer, calls: session.calls(), modelError: model.error };
}

/** Passes the calls of one run to a model, with the seeds of the run, and keeps the error of the last one. */
class ObservedModel {
  readonly policy: Policy;
  error: unknown;
  #calls = 0;
  #ended = false;

  constructor(model: Policy, { seed, episode }: Pick<ActRequest, "seed" | "episode">) {
    const act: Policy["act"] = async (call) => {
      // A program that names a seed would sample the same answers in every episode of a group.
      const asked = { ...call, seed: deriveSeed(seed, "call", this.#calls++), ...(episode && { episode }) };
      try {
        const result = await model.act(asked);
        if (!this.#ended) this.error = undefined;
        return result;
      } catch (error) {
        // A program may close a connection that it no longer needs.
        if (!this.#ended && !call.signal?.aborted) this.error = error;
        throw error;
      }
    };
    this.policy = { specificationVersion: "v1", name: model.name, accepts: model.accepts, act };
  }

  /** Ignores the calls that the end of the program aborts. */
  stop(): void {
    this.#ended = true;
  }
}

function actionOf(answer: string | Message): Action {
  const message = typeof answer === "string" ? textMessage("assistant", answer) : answer;
  return { message, finish: message.toolCalls === undefined ? "stop" : "tool-calls" };
}

/** Returns the sums of the token counts. Undefined if no call has them. */
function usageOf(calls: readonly ModelCall[]): TokenUsage {
  const sum = (count: (usage: TokenUsage) => number): number =>
    calls.reduce((total, { usage }) => total + (usage === undefined ? 0 : count(usage)), 0);
  return {
    promptTokens: sum(({ promptTokens }) => promptTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
  };
}

function tooSlow({ name, timeoutMs }: ProgramOptions): LyceumError {
  return new LyceumError({
    code: "timeout",
    message: `The agent program "${name}" did not end within ${timeoutMs} ms.`,
    hint: "It was killed, and the episode is unscored. Raise its time limit if it only needs longer.",
    data: { program: name, timeoutMs },
  });
}
