import { type ErrorCode, LyceumError, toErrorData } from "../../../contract/errors/index.ts";
import { refusal } from "../serving/refusal.ts";
import { RequestFailure } from "../serving/request-failure.ts";
import { malformed } from "../serving/unusable-answer.ts";

/** The fields of an `AI_APICallError`. */
interface ApiCallError extends Error {
  readonly url?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
}

/**
 * Converts an error of a provider to a transient or a permanent failure. Returns other errors unchanged. `fields` are the
 * settings of the call that can be left out.
 */
export function providerFailure(thrown: unknown, model: string, fields: readonly string[] = []): unknown {
  if (!(thrown instanceof Error)) return thrown;
  switch (thrown.name) {
    case "AI_APICallError":
      return apiFailure(thrown, model, fields);
    case "AI_EmptyResponseBodyError":
    case "AI_InvalidResponseDataError":
    case "AI_JSONParseError":
    case "AI_NoContentGeneratedError":
    case "AI_TypeValidationError":
      return malformed(`does not match the provider's interface: ${shortened(thrown.message)}`, thrown);
    case "AI_LoadAPIKeyError":
    case "AI_LoadSettingError":
      return permanent(
        "policy.unauthorized",
        thrown,
        "Set the variable in the message, or create the provider with the key.",
      );
    case "AI_NoSuchModelError":
      return permanent("policy.rejected", thrown, "Look up the model's name in the provider's list.");
    case "AI_UnsupportedFunctionalityError":
    case "AI_InvalidPromptError":
      return permanent(
        "policy.unsupported-input",
        thrown,
        "Remove the input that this model does not support, or use another model.",
      );
    default:
      return thrown;
  }
}

function apiFailure(thrown: ApiCallError, model: string, fields: readonly string[]): RequestFailure {
  const { statusCode: status, url = "", responseHeaders: headers = {}, responseBody } = thrown;
  const address = URL.canParse(url) ? new URL(url) : new URL("https://provider.invalid");
  // A provider that could not parse a successful answer also reports its status.
  if (status === 200) return malformed(`does not match the provider's interface: ${shortened(thrown.message)}`, thrown);
  if (status !== undefined) {
    return refusal({ status, headers, body: responseBody || thrown.message }, { url: address, model, fields });
  }
  const error = new LyceumError({
    code: "policy.unavailable",
    message: `The request to ${address.host} failed: ${shortened(thrown.message)}`,
    hint: "Check that the server is running and can be reached from here.",
    data: { reason: "network" },
    cause: thrown,
  });
  return new RequestFailure({ error, transient: true });
}

function permanent(code: ErrorCode, cause: unknown, hint: string): RequestFailure {
  const error = new LyceumError({ code, message: shortened(toErrorData(cause).message), hint, cause });
  return new RequestFailure({ error, transient: false });
}

/** These errors quote the whole answer, so they are shortened. */
function shortened(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}...` : text;
}
