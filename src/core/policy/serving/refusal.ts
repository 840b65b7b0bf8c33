import { type ErrorCode, LyceumError } from "../../../contract/errors/index.ts";
import { type Json, tryParseJson } from "../../../contract/json.ts";
import { namesMaxTokens, type RefusalKind, refusalKind, refusedField } from "./refusal-kind.ts";
import { RequestFailure } from "./request-failure.ts";
import { requestedWaitMs } from "./retry-wait.ts";

/** The request that a server refused. */
interface Refused {
  readonly url: URL;
  readonly model: string;
  /** The fields of the request that can be left out. None by default. */
  readonly fields?: readonly string[];
}

/** Returns the failure for an answer without a completion: transient or permanent. */
export function refusal(
  answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
    readonly body: string;
  },
  request: Refused,
): RequestFailure {
  const { status, headers, body } = answer;
  const { fields = [] } = request;
  const json = tryParseJson<Json>(body);
  // A body that is not JSON may be the page of a proxy.
  const text = shortened(messageIn(json) ?? body);
  const waitMs = requestedWaitMs({ headers, body: json, text });
  const kind = refusalKind({ status, text, body, waits: waitMs !== undefined, fields });
  const made = (code: ErrorCode, hint: string, reason = reasonOf(kind, status)): LyceumError =>
    new LyceumError({
      code,
      message: `${request.url.origin} answered with status ${status}${text === "" ? "." : `: ${text}`}`,
      hint,
      data: { reason, status },
    });
  const ofAll: Partial<Record<RefusalKind, LyceumError>> = {
    forbidden: made("policy.unauthorized", hintFor("key", request)),
    configuration: made("policy.rejected", hintFor(kind, { ...request, status, text }), "configuration"),
    "max-tokens": made("policy.rejected", hintFor("max-tokens", request), "configuration"),
  };
  const hint = hintFor(kind, { ...request, status, text });
  return new RequestFailure({
    error: made(codes[kind], hint),
    transient: kind === "temporary" && headers["x-should-retry"] !== "false",
    retryAfterMs: waitMs,
    ifNoneAnswered: ofAll[kind],
  });
}

const codes: Readonly<Record<RefusalKind, ErrorCode>> = {
  key: "policy.unauthorized",
  credit: "policy.unauthorized",
  content: "policy.rejected",
  forbidden: "policy.rejected",
  "too-long": "policy.prompt-too-long",
  "max-tokens": "policy.rejected",
  temporary: "policy.unavailable",
  configuration: "policy.rejected",
  request: "policy.rejected",
};

function reasonOf(kind: RefusalKind, status: number): string {
  if (kind === "content") return "content-filter";
  return status === 429 ? "rate-limit" : "status";
}

function hintFor(
  kind: RefusalKind,
  { url, model, fields = [], status, text = "" }: Refused & { readonly status?: number; readonly text?: string },
): string {
  const lower = "lower --max-tokens (sampling.maxTokens in a config or a program)";
  switch (kind) {
    case "key":
      return `Pass the key for ${url.host} as apiKey; on the command line in LYCEUM_API_KEY, or the variable that apiKeyVariable names.`;
    case "credit":
      return `The account at ${url.host} has no credit left, or its limit is reached.`;
    case "content":
      return "The server refuses the content of this prompt, so the episode is unscored. Other prompts are not affected.";
    case "forbidden":
      return "The server does not say why. If it refuses every prompt, check the key and what it may be used for.";
    case "too-long":
      return `Raise the server's context length, or remove tasks that do not fit${
        namesMaxTokens(text) ? `. Prompt and answer must fit together, so you can also ${lower}` : ""
      }.`;
    case "max-tokens":
      return `The answer may be longer than the model writes: ${lower}.`;
    case "temporary":
      return "The failure may be temporary. Check the server's log, or send fewer requests at once.";
    case "configuration":
    case "request":
      return requestHint({ url, model, fields, status, text });
  }
}

function requestHint({
  url,
  model,
  fields = [],
  status = 0,
  text,
}: Refused & { status?: number; text: string }): string {
  const field = refusedField(text, fields);
  if (field !== undefined) {
    return `Leave the field out: omit: [${field}] in a program or a policy file, -M omit=[${field}] on the command line.`;
  }
  if (status === 404) {
    return `Check that ${url.origin} serves the model "${model}" and that the address is the start of its API (most addresses end in /v1).`;
  }
  if (status >= 300 && status < 400) return "Use the address that it redirects to.";
  return "The server rejects this request: change what its message describes.";
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 400 ? `${line.slice(0, 400)}...` : line;
}

/**
 * Servers use `{ error: { message, type, code } }`, `{ error }`, `{ message }` or `{ detail }`, Google in a list, and
 * MiniMax `{ base_resp: { status_msg } }`.
 */
function messageIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return messageIn(value[0]);
  if (typeof value !== "object" || value === null) return undefined;
  const { error, message, detail, code, type, base_resp, status_msg } = value as Readonly<Record<string, unknown>>;
  if (error !== undefined && error !== null && error !== "") return messageIn(error);
  if (base_resp !== undefined) return messageIn(base_resp);
  if (typeof status_msg === "string") return status_msg;
  if (typeof message === "string") {
    const kind = typeof code === "string" ? code : type;
    return typeof kind === "string" ? `${message} (${kind})` : message;
  }
  return typeof detail === "string" ? detail : undefined;
}
