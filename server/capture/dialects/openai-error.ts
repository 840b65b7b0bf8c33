import type { DialectError } from "./dialect.ts";

/** Returns the body of an error in the form of OpenAI's protocols. */
export function openAIError({ status, message, code }: DialectError): unknown {
  return { error: { message, type: errorType(status), param: null, code: openAICode(code) } };
}

function errorType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

/** Clients look for this code to shorten a conversation. */
function openAICode(code: string): string {
  return code === "policy.prompt-too-long" ? "context_length_exceeded" : code;
}
