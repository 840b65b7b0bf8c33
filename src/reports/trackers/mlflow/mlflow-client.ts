import { setTimeout as sleep } from "node:timers/promises";
import { LyceumError } from "../../../contract/errors/index.ts";
import type { Json } from "../../../contract/json.ts";
import { tryParseJson } from "../../../contract/json.ts";

/** Calls of MLflow's REST API 2.0 (https://mlflow.org/docs/latest/rest-api.html). */
export interface MlflowClient {
  /**
   * The answer to a call. What may pass (no connection, 429, 5xx, no answer in 30 s) is tried again, each time after a
   * wait twice as long, until the signal aborts. Rejects with `tracker.failed`, which says what the server last did.
   */
  call(request: MlflowRequest): Promise<Json>;
}

/** One call. */
export interface MlflowRequest {
  readonly method: "GET" | "POST";
  /** As in `runs/create`. */
  readonly endpoint: string;
  /** The body, or the query of a GET. */
  readonly fields: Readonly<Record<string, Json>>;
  readonly signal: AbortSignal;
}

const attemptMs = 30_000;
const firstWaitMs = 100;
const longestWaitMs = 16_000;

/** A client of the server at `url`. `authorization` is the value of that header. */
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
      // A redirect may be to a page that asks to sign in; credentials go to this server alone.
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
      { transient: response.status === 429 || response.status >= 500, ...(code === undefined ? {} : { code }) },
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

/** The error code that MLflow gave, such as `RESOURCE_DOES_NOT_EXIST`, where an error is one of its answers. */
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
    hint: "Look whether the server runs at this address, and whether it wants credentials.",
    cause: refusal,
  });
}

/** Waits; false where the signal ended it. */
async function waited(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return await sleep(milliseconds, true, { signal, ref: true }).catch(() => false);
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return cause.message !== "" ? cause.message : String((cause as { code?: string }).code);
  return error.message;
}
