import { LyceumError } from "../errors/index.ts";
import { type OpenAICompatibleOptions, openAICompatiblePolicy } from "./openai-compatible/openai-compatible-policy.ts";
import type { Policy } from "./policy.ts";
import { parsePolicyName } from "./policy-name.ts";

/**
 * The policy of a served model that a config names by its address, `http://HOST/v1#MODEL`. Its key is that of the
 * variable `LYCEUM_API_KEY`, if it is set. Throws `config.invalid` for another name.
 */
export function endpointPolicy(
  address: string,
  options: Omit<OpenAICompatibleOptions, "baseUrl" | "model"> = {},
): Policy {
  const named = parsePolicyName(address);
  const apiKey = options.apiKey ?? (process.env.LYCEUM_API_KEY || undefined);
  if (named.kind === "server" && named.model !== undefined) {
    const { url: baseUrl, model } = named;
    return openAICompatiblePolicy({ ...options, baseUrl, model, ...(apiKey === undefined ? {} : { apiKey }) });
  }
  throw new LyceumError({
    code: "config.invalid",
    message: `"${address}" is not the address of a served model.`,
    hint: "An address ends in the model's name, such as http://127.0.0.1:8000/v1#Qwen/Qwen3-0.6B.",
    data: { address },
  });
}
