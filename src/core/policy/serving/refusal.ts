import { type ErrorCode, LyceumError } from "../../../contract/errors/index.ts";
import { tryParseJson } from "../../../contract/json.ts";
import { RequestFailure } from "./request-failure.ts";
import { retryAfterMs } from "./retry-after.ts";

/** Returns the failure for an answer without a completion: transient or permanent. */
export function refusal(
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    readonly body: string;
  },
  { url, model }: { readonly url: URL; readonly model: string },
): RequestFailure {
  const { status, headers, body } = answer;
  const text = errorText(body);
  const { code, hint } = verdict({ status, text: text.toLowerCase(), url, model });
  const error = new LyceumError({
    code,
    message: `${url.origin} answered with status ${status}${text === "" ? "." : `: ${text}`}`,
    hint,
    data: { reason: status === 429 ? "rate-limit" : "status", status },
  });
  return new RequestFailure({
    error,
    transient: code === "policy.unavailable",
    retryAfterMs: retryAfterMs(headers),
  });
}

function verdict({
  status,
  text,
  url,
  model,
}: {
  readonly status: number;
  readonly text: string;
  readonly url: URL;
  readonly model: string;
}): { readonly code: ErrorCode; readonly hint: string } {
  if (status === 401 || status === 403) {
    const where = "as apiKey; on the command line in LYCEUM_API_KEY, or the variable that apiKeyVariable names";
    return { code: "policy.unauthorized", hint: `Pass the key for ${url.host} ${where}.` };
  }
  if (status === 402 || text.includes("insufficient_quota") || text.includes("exceeded your current quota")) {
    return { code: "policy.unauthorized", hint: `The account at ${url.host} has no credit left.` };
  }
  if (isTransient(status)) {
    return {
      code: "policy.unavailable",
      hint: "The failure may be temporary. Check the server's log, or send fewer requests at once.",
    };
  }
  if (isTooLong(text)) {
    return {
      code: "policy.prompt-too-long",
      hint: "Raise the server's context length, or remove tasks that do not fit.",
    };
  }
  if (status === 404) {
    return {
      code: "policy.rejected",
      hint: `Check that ${url.origin} serves the model "${model}" and that the address is the start of its API (most addresses end in /v1).`,
    };
  }
  if (status >= 300 && status < 400) return { code: "policy.rejected", hint: "Use the address that it redirects to." };
  return { code: "policy.rejected", hint: "The server rejects this request: change what its message describes." };
}

/** 408 timeout, 409 lock, 425 too early, 429 rate limit, 5xx server errors except 501 (not implemented). */
function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

/** The messages of vLLM, llama.cpp, SGLang, TGI and OpenAI for a prompt that does not fit. */
function isTooLong(text: string): boolean {
  return (
    text.includes("context_length_exceeded") ||
    text.includes("exceed_context_size") ||
    text.includes("maximum context length") ||
    text.includes("context length is only") ||
    text.includes("available context size") ||
    (text.includes("inputs tokens + max_new_tokens") && text.includes("must be <="))
  );
}

/** Returns the error message in a body, or else the body itself, shortened. */
function errorText(body: string): string {
  // A body that is not JSON may be the page of a proxy.
  const text = messageIn(tryParseJson(body)) ?? body;
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 400 ? `${line.slice(0, 400)}...` : line;
}

/** Servers use `{ error: { message, type, code } }`, `{ error }`, `{ message }` or `{ detail }`. */
function messageIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, detail, code, type } = value as Readonly<Record<string, unknown>>;
  if (error !== undefined && error !== null) return messageIn(error);
  if (typeof message === "string") {
    const kind = typeof code === "string" ? code : type;
    return typeof kind === "string" ? `${message} (${kind})` : message;
  }
  return typeof detail === "string" ? detail : undefined;
}
