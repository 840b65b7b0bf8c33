import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import type { Message, Part, ToolCall } from "../../../src/contract/message.ts";
import type { SamplingSettings } from "../../../src/contract/sampler.ts";
import { exactText, tryParseExactJson } from "../../../src/core/text/exact-json.ts";
import { withoutUndefined } from "../../../src/core/without-undefined.ts";

/** Checks a body by a schema. Throws `server.invalid-request` that names the wrong field. */
export function parseBody<Schema extends z.ZodType>(body: unknown, schema: Schema): z.output<Schema> {
  const result = checked(body, schema);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw invalidRequest(`${issue!.path.join(".") || "The body"}: ${issue!.message}`);
}

/** Checks a body. A body that is nested too deeply for the check is invalid too. */
function checked<Schema extends z.ZodType>(body: unknown, schema: Schema): z.ZodSafeParseResult<z.output<Schema>> {
  try {
    return schema.safeParse(body);
  } catch {
    throw nestedTooDeeply();
  }
}

/** The error for a request whose lists and objects contain each other too often. */
export function nestedTooDeeply(): LyceumError {
  return invalidRequest("The request is nested too deeply.");
}

/** Throws for a feature that has a value other than the ones without effect. */
export function refuse(feature: string, value: unknown, harmless: readonly unknown[] = []): void {
  if (value === undefined || value === null || harmless.includes(value)) return;
  throw unsupported(feature);
}

/** The error for a feature of the protocol that cannot be had from a policy. */
export function unsupported(feature: string): LyceumError {
  return invalidRequest(`${feature} is not supported.`, "Omit it from the request.");
}

/** The error for a request that a retry would not help. */
export function invalidRequest(message: string, hint?: string): LyceumError {
  return new LyceumError({ code: "server.invalid-request", message, hint });
}

/** Reads a data URL as an image. Other addresses are not loaded. */
export function imagePart(url: string): Part {
  const match = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=\s]*)$/.exec(url);
  if (match === null) throw unsupported("An image that is not a data URL");
  return { type: "image", mediaType: match[1]!, data: match[2]! };
}

/**
 * Parses the arguments of a tool call, which the template renders again. A text that is not JSON stays a text. Integers
 * above 2^53 are texts of their digits, except in the exact text.
 */
export function callArguments(text: string): Pick<ToolCall, "arguments" | "argumentsJson"> {
  if (text === "") return { arguments: {} };
  const value = tryParseExactJson(text, "text");
  if (value === undefined) return { arguments: text };
  const exact = exactText(text);
  return { arguments: value, ...(exact === undefined ? {} : { argumentsJson: exact }) };
}

/**
 * Returns the field with the exact text of a value, which the server writes next to it. No field if the text is not that
 * of the value: a client could state another one.
 */
export function exactField<Name extends string>(
  name: Name,
  text: string | undefined,
  value: unknown,
): Partial<Record<Name, string>> {
  const isOwn = text !== undefined && isDeepStrictEqual(tryParseExactJson(text, "text"), value);
  return (isOwn ? { [name]: text } : {}) as Partial<Record<Name, string>>;
}

/** Adds the names of the tools to the messages that answer their calls. */
export function withToolNames(messages: readonly Message[]): readonly Message[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name);
    const name = message.toolCallId === undefined ? undefined : names.get(message.toolCallId);
    return name === undefined ? message : { ...message, name };
  });
}

/** The sampling fields that the protocols share, in their own spelling. */
export const samplingShape: Readonly<
  Record<"temperature" | "top_p" | "top_k" | "min_p", z.ZodType<number | null | undefined>>
> = {
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().nullish(),
  min_p: z.number().min(0).max(1).nullish(),
};

type GivenSampling = { readonly [Key in keyof typeof samplingShape]?: number | null | undefined };

/** Converts sampling fields. Values without effect (`top_p: 1`, `top_k: -1`) are left out. */
export function samplingOf(
  given: GivenSampling,
  { maxTokens, stop }: { readonly maxTokens?: number | null | undefined; readonly stop?: readonly string[] },
): Partial<SamplingSettings> {
  const { temperature, top_p: topP, top_k: topK, min_p: minP } = given;
  return withoutUndefined<Partial<SamplingSettings>>({
    temperature: temperature ?? undefined,
    maxTokens: maxTokens ?? undefined,
    topP: topP === null || topP === 1 ? undefined : topP,
    topK: topK === null || topK === undefined || topK <= 0 ? undefined : topK,
    minP: minP || undefined,
    stop: stop === undefined || stop.length === 0 ? undefined : stop,
  });
}
