import { LyceumError } from "../../../contract/errors/index.ts";
import { RequestFailure } from "./request-failure.ts";

/**
 * Creates the failure for an answer that is not a valid completion. `problem` follows "it", such as "is not JSON". A
 * retry may help. With `charged`, an equal failure of the retry ends the retries.
 */
export function malformed(problem: string, cause?: unknown, charged = false): RequestFailure {
  const error = new LyceumError({
    code: "policy.unavailable",
    message: `The server's answer cannot be used: it ${problem}.`,
    hint: "Check the server and any proxy before it.",
    data: { reason: "malformed" },
    cause,
  });
  return new RequestFailure({ error, transient: true, charged });
}

/** Creates the failure for an answer that the server's content filter cut or replaced, or for a prompt that it blocked. */
export function contentFiltered(what: "ended the answer" | "blocked the prompt" = "ended the answer"): RequestFailure {
  const error = new LyceumError({
    code: "policy.rejected",
    message: `The server's content filter ${what}.`,
    hint: "The answer is not the model's own, so the episode is unscored.",
    data: { reason: "content-filter" },
  });
  return new RequestFailure({ error, transient: false });
}

/** Creates the failure for an answer without the requested log-probabilities. A retry would not help. */
export function withoutLogprobs(): RequestFailure {
  const error = new LyceumError({
    code: "policy.rejected",
    message: "The server's answer contains no log-probabilities, but the request asked for them.",
    hint: "Start the server with log-probabilities enabled (vLLM: --max-logprobs of at least 1; other servers may need a newer version), or turn them off: set logprobs and tokenIds to false (on the command line: -M logprobs=false -M tokenIds=false).",
    data: { reason: "no-logprobs" },
  });
  return new RequestFailure({ error, transient: false });
}
