import { type ErrorCode, LyceumError } from "../../../contract/errors/index.ts";
import { tryParseJson } from "../../../contract/json.ts";
import { RequestFailure } from "./request-failure.ts";
import { retryAfterMs } from "./retry-after.ts";

/** The failure that an answer without a completion stands for: one that may pass, or one that will not. */
export function refusal(
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    readonly body: string;
  },
  { url, model }: { readonly url: URL; readonly model: string },
): RequestFailure {
  const { status, headers, body } = answer;
  const said = errorText(body);
  const { code, hint } = verdict({ status, said: said.toLowerCase(), url, model });
  const error = new LyceumError({
    code,
    message: `${url.origin} answered with status ${status}${said === "" ? "." : `: ${said}`}`,
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
  said,
  url,
  model,
}: {
  readonly status: number;
  readonly said: string;
  readonly url: URL;
  readonly model: string;
}): { readonly code: ErrorCode; readonly hint: string } {
  if (status === 401 || status === 403) {
    const where = "as apiKey; on the command line in LYCEUM_API_KEY, or the variable that apiKeyVariable names";
    return { code: "policy.unauthorized", hint: `Give the key that ${url.host} asks for ${where}.` };
  }
  if (status === 402 || said.includes("insufficient_quota") || said.includes("exceeded your current quota")) {
    return { code: "policy.unauthorized", hint: `The account at ${url.host} has nothing left to spend.` };
  }
  if (isTransient(status)) {
    return {
      code: "policy.unavailable",
      hint: "The failure may pass. Look at the server's log, or ask less at once.",
    };
  }
  if (saysTooLong(said)) {
    return {
      code: "policy.prompt-too-long",
      hint: "Raise the server's context length, or leave out tasks that do not fit.",
    };
  }
  if (status === 404) {
    return {
      code: "policy.rejected",
      hint: `Does ${url.origin} serve the model "${model}", and does its API begin there (most addresses end in /v1)?`,
    };
  }
  if (status >= 300 && status < 400) return { code: "policy.rejected", hint: "Give the address that it redirects to." };
  return { code: "policy.rejected", hint: "The server takes no such request: change what it complains of." };
}

/** 408 a timeout, 409 a lock, 425 too early, 429 a rate, 5xx the server's own fault (but 501: there is no such thing). */
function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || (status >= 500 && status !== 501);
}

/** How vLLM, llama.cpp, SGLang, TGI and OpenAI say that a prompt does not fit. */
function saysTooLong(said: string): boolean {
  return (
    said.includes("context_length_exceeded") ||
    said.includes("exceed_context_size") ||
    said.includes("maximum context length") ||
    said.includes("context length is only") ||
    said.includes("available context size") ||
    (said.includes("inputs tokens + max_new_tokens") && said.includes("must be <="))
  );
}

/** What the body says, shortened: the message of its error, else the body itself. */
function errorText(body: string): string {
  // What is no JSON may be the page of a proxy.
  const text = messageIn(tryParseJson(body)) ?? body;
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 400 ? `${line.slice(0, 400)}...` : line;
}

/** `{ error: { message, type, code } }`, `{ error }`, `{ message }` or `{ detail }`, as servers differ. */
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
