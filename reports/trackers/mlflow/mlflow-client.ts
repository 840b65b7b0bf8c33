import { setTimeout as sleep } from "node:timers/promises";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Json } from "../../../src/contract/json.ts";
import { tryParseJson } from "../../../src/contract/json.ts";

/** A client of MLflow's REST API 2.0 (https://mlflow.org/docs/latest/rest-api.html). */
export interface MlflowClient {
  /**
   * Sends a call and returns its response. Retries transient failures (no connection, 429, 5xx, no response in 30 s)
   * with exponential backoff until the signal aborts. Rejects with `tracker.failed`, which contains the last response
   * of the server.
   */
  call(request: MlflowRequest): Promise<Json>;
}

/** One call. */
export interface MlflowRequest {
  readonly method: "GET" | "POST";
  /** The path of the endpoint, such as `runs/create`. */
  readonly endpoint: string;
  /** The body of a POST, or the query of a GET. */
  readonly fields: Readonly<Record<string, Json>>;
  readonly signal: AbortSignal;
}

const attemptMs = 30_000;
const firstWaitMs = 100;
const longestWaitMs = 16_000;

/** Creates a client of the server at `url`. `authorization` is the value of that header. */
export function mlflowClient(options: { readonly url: string; readonly authorization?: string }): MlflowClient {
  const base = options.url.replace(/\/+$/, "");
  const headers = {
    "content-type": "application/json",
    ...(options.authorization === undefined ? {} : { authorization: options.authorization }),
  };

  const attempt = async ({ method, endpoint, fields, signal }: MlflowRequest): Promise<Json> => {
    const query = method === "GET" ? `?${new URLSearchParams(fields as Record<string, string>)}` : "";
    const response = await fetch(`${base}/api/2.0/mlflow/${endpoint}${query}`, {
      method,
      headers,
      ...(method === "POST" ? { body: JSON.stringify(fields) } : {}),
      // Redirects are errors: they may lead to a login page, and credentials must go to this server only.
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]),
    }).catch((cause: unknown) => {
      throw new MlflowRefusal(`${base} cannot be reached: ${reasonOf(cause)}`, { transient: true });
    });
    const text = await response.text().catch(() => "");
    const answer = tryParseJson<Json>(text === "" ? "{}" : text);
    if (response.ok && answer !== undefined) return answer;
    const { error_code: code, message } = (answer ?? {}) as { readonly error_code?: string; readonly message?: string };
    throw new MlflowRefusal(
      `${endpoint} at ${base} gave ${response.status} ${(message ?? response.statusText).slice(0, 300)}`.trimEnd(),
      { transient: response.status === 429 || response.status >= 500, code },
    );
  };

  return {
    call: async (request) => {
      for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
        try {
          return await attempt(request);
        } catch (refusal) {
          if (!(refusal instanceof MlflowRefusal)) throw refusal;
          const tryAgain = refusal.transient && !request.signal.aborted;
          if (!tryAgain || !(await waited(wait, request.signal))) throw failure(refusal);
        }
      }
    },
  };
}

/** Returns MLflow's own error code, such as `RESOURCE_DOES_NOT_EXIST`, if the error is a response of the server. */
export function mlflowErrorCode(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof MlflowRefusal ? cause.code : undefined;
}

class MlflowRefusal extends Error {
  readonly transient: boolean;
  readonly code: string | undefined;

  constructor(message: string, { transient, code }: { readonly transient: boolean; readonly code?: string }) {
    super(message);
    this.transient = transient;
    this.code = code;
  }
}

function failure(refusal: MlflowRefusal): LyceumError {
  return new LyceumError({
    code: "tracker.failed",
    message: `${refusal.message}.`,
    hint: "Check that the server runs at this address, and whether it needs credentials.",
    cause: refusal,
  });
}

/** Waits. Returns false if the signal aborted. */
async function waited(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return await sleep(milliseconds, true, { signal, ref: true }).catch(() => false);
}

/** Returns the message of an error, or that of its cause, because `fetch failed` has no details. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return cause.message !== "" ? cause.message : String((cause as { code?: string }).code);
  return error.message;
}
