import { randomUUID } from "node:crypto";
import type { Context } from "hono";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { Json } from "../../src/contract/json.ts";
import { clientErrorData } from "../http/client-error-data.ts";

/** The time between signs of life of a stream, in milliseconds. ORS's client waits for 30 seconds. */
const pingMs = 10_000;

/** The length of a part of a result, in characters. */
const partLength = 4_096;

/** The maximum number of running calls, and of results that are kept for a client that lost its connection. */
const maxCalls = 16;

/** The calls of one session, by the ids by which a client that lost its connection asks for their results again. */
export class RunningCalls {
  readonly #calls = new Map<string, { readonly result: Promise<Json>; ended: boolean }>();

  /** Starts a call and returns its id. Throws `server.capacity` if 16 calls run. */
  start(run: () => Promise<Json>): string {
    if ([...this.#calls.values()].filter(({ ended }) => !ended).length >= maxCalls) throw tooManyCalls();
    const id = randomUUID();
    const call = { result: run(), ended: false };
    const end = (): void => {
      call.ended = true;
    };
    call.result.then(end, end);
    this.#calls.set(id, call);
    for (const [old, { ended }] of this.#calls) if (this.#calls.size > maxCalls && ended) this.#calls.delete(old);
    return id;
  }

  /** Returns the result of a call. Throws `server.invalid-request` for an unknown id. */
  result(id: string): Promise<Json> {
    const call = this.#calls.get(id);
    if (call === undefined) throw unknownCall();
    return call.result;
  }
}

/**
 * Answers with the events of a call: `task_id`, then `chunk` and `end` with its result as JSON, or `error`. The call
 * goes on if the connection is lost.
 */
export function streamCall(context: Context, { id, result }: { readonly id: string; readonly result: Promise<Json> }) {
  return streamSSE(context, async (stream) => {
    await stream.writeSSE({ event: "task_id", data: id });
    const ping = setInterval(() => void stream.write(": ping\n\n").catch(() => {}), pingMs);
    try {
      await writeResult(stream, await result);
    } catch (error) {
      const { message, hint } = clientErrorData(error);
      await stream.writeSSE({ event: "error", data: hint === undefined ? message : `${message} ${hint}` });
    } finally {
      clearInterval(ping);
    }
  });
}

async function writeResult(stream: SSEStreamingApi, result: Json): Promise<void> {
  let rest = JSON.stringify(result);
  // ORS's client removes spaces at the start of a part. Without spaces and surrogates, a text can be cut anywhere.
  if (rest.length > partLength) {
    rest = rest.replaceAll(/[^\x21-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  }
  for (; rest.length > partLength; rest = rest.slice(partLength)) {
    await stream.writeSSE({ event: "chunk", data: rest.slice(0, partLength) });
  }
  await stream.writeSSE({ event: "end", data: rest });
}

function tooManyCalls(): LyceumError {
  return new LyceumError({
    code: "server.capacity",
    message: `The session runs ${maxCalls} calls already.`,
    hint: "Wait for their results.",
  });
}

function unknownCall(): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: "The session has no call with this task_id.",
    hint: "Its result was deleted. Call again without a task_id.",
  });
}
