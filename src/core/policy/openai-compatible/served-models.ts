import { z } from "zod";
import { LyceumError } from "../../../contract/errors/index.ts";
import { withoutUrlSecrets } from "../../text/secrets.ts";
import { refusal } from "../serving/refusal.ts";
import { RequestFailure } from "../serving/request-failure.ts";
import { malformed } from "../serving/unusable-answer.ts";
import { withoutSecrets } from "../serving/without-secrets.ts";
import { apiUrl } from "./api-url.ts";
import { httpJson } from "./http-json.ts";
import { requestHeaders } from "./request-headers.ts";

/** A model in a server's list. */
export interface ServedModel {
  readonly id: string;
  /** Often the kind of server, such as `"vllm"`. */
  readonly ownedBy?: string;
}

/** The timeout of the request for the list of models, in milliseconds. */
const listMs = 15_000;

const listSchema = z.object({
  data: z.array(z.object({ id: z.string().min(1), owned_by: z.string().nullish() })),
});

/**
 * Returns the models that an OpenAI-compatible server lists at `/models`. Does not retry. Throws `policy.unavailable`,
 * `policy.unauthorized` or `policy.rejected` if the request fails, and `config.invalid` if `baseUrl` is not a valid
 * URL.
 */
export async function servedModels(options: {
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}): Promise<readonly ServedModel[]> {
  const { baseUrl, signal } = options;
  const url = apiUrl(baseUrl, "models");
  const limit = AbortSignal.timeout(listMs);
  try {
    const answer = await httpJson({
      url,
      headers: requestHeaders(options),
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    if (answer.status !== 200) throw refusal(answer, { url, model: "any" });
    return parse(answer.body);
  } catch (error) {
    signal?.throwIfAborted();
    throw withoutSecrets(error instanceof RequestFailure ? error.error : error, options);
  }
}

/** Returns the only model of a server. Throws `config.invalid` if the server has no model or several. */
export function onlyModel(models: readonly ServedModel[], baseUrl: string): ServedModel {
  const [only, ...others] = models;
  if (only !== undefined && others.length === 0) return only;
  const known = models.map(({ id }) => id);
  const address = withoutUrlSecrets(baseUrl);
  throw new LyceumError({
    code: "config.invalid",
    message: `${address} serves ${only === undefined ? "no model" : `${known.length} models, and none is selected`}.`,
    hint:
      only === undefined
        ? "Start the server with a model."
        : `Select one, such as ${address}#${only.id}. It has ${known.slice(0, 20).join(", ")}.`,
    data: { known },
  });
}

function parse(body: string): readonly ServedModel[] {
  try {
    const { data } = listSchema.parse(JSON.parse(body));
    return data.map(({ id, owned_by }) => ({ id, ...(typeof owned_by === "string" ? { ownedBy: owned_by } : {}) }));
  } catch (cause) {
    throw malformed("is not a list of models", cause);
  }
}
