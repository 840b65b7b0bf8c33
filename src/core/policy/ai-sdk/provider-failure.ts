import { type ErrorCode, LyceumError, toErrorData } from "../../../contract/errors/index.ts";
import { refusal } from "../serving/refusal.ts";
import { RequestFailure } from "../serving/request-failure.ts";
import { malformed } from "../serving/unusable-answer.ts";

/** What an `AI_APICallError` says. */
interface ApiCallError extends Error {
  readonly url?: string;
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
}

/** What a provider threw, as a failure that may pass or one that will not; anything else is handed back as it is. */
export function providerFailure(thrown: unknown, model: string): unknown {
  if (!(thrown instanceof Error)) return thrown;
  switch (thrown.name) {
    case "AI_APICallError":
      return apiFailure(thrown, model);
    case "AI_EmptyResponseBodyError":
    case "AI_InvalidResponseDataError":
    case "AI_JSONParseError":
    case "AI_NoContentGeneratedError":
    case "AI_TypeValidationError":
      return malformed(`is not what its provider promises: ${shortened(thrown.message)}`, thrown);
    case "AI_LoadAPIKeyError":
    case "AI_LoadSettingError":
      return lasting(
        "policy.unauthorized",
        thrown,
        "Set the variable that it names, or create the provider with the key.",
      );
    case "AI_NoSuchModelError":
      return lasting("policy.rejected", thrown, "Look up the model's name in the provider's list.");
    case "AI_UnsupportedFunctionalityError":
    case "AI_InvalidPromptError":
      return lasting("policy.unsupported-input", thrown, "Leave out what this model cannot take, or use another one.");
    default:
      return thrown;
  }
}

function apiFailure(thrown: ApiCallError, model: string): RequestFailure {
  const { statusCode: status, url = "", responseHeaders: headers = {}, responseBody } = thrown;
  const address = URL.canParse(url) ? new URL(url) : new URL("https://provider.invalid");
  // A provider that could not read a good answer reports its status too.
  if (status === 200) return malformed(`is not what its provider promises: ${shortened(thrown.message)}`, thrown);
  if (status !== undefined) {
    return refusal({ status, headers, body: responseBody || thrown.message }, { url: address, model });
  }
  const error = new LyceumError({
    code: "policy.unavailable",
    message: `${address.host} could not be asked: ${shortened(thrown.message)}`,
    hint: "Is it running, and can it be reached from here?",
    data: { reason: "network" },
    cause: thrown,
  });
  return new RequestFailure({ error, transient: true });
}

function lasting(code: ErrorCode, cause: unknown, hint: string): RequestFailure {
  const error = new LyceumError({ code, message: shortened(toErrorData(cause).message), hint, cause });
  return new RequestFailure({ error, transient: false });
}

/** Such errors quote all that came. */
function shortened(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}...` : text;
}
