import { isUtf8 } from "node:buffer";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { type SSEStreamingApi, streamSSE } from "hono/streaming";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { type JsonLimits, messageLimits, parseLimitedJson } from "../../src/core/network/limited-json.ts";
import type { SampledModel } from "../../src/core/policy/sampled-model.ts";
import { withRequestTexts } from "../../src/core/text/exact-json.ts";
import { clientError } from "../capture/capture-error.ts";
import type { StreamEvent } from "../capture/dialects/dialect.ts";
import { openAIError } from "../capture/dialects/openai-error.ts";
import { invalidRequest } from "../capture/dialects/read-request.ts";
import { chatCall } from "./chat-call.ts";
import type { ChoicePart } from "./choice-part.ts";
import type { Choices, CompletionCall } from "./completion-call.ts";
import { type Choice, sampleChoices } from "./sample-choices.ts";
import { streamChoices } from "./stream-choices.ts";
import { textCall } from "./text-call.ts";

/** The models of a completion server. */
interface ServedModels {
  /** The names that `/v1/models` lists. */
  modelNames(): readonly string[];
  /** True if the server is shutting down and refuses new requests. */
  readonly isDraining?: boolean;
  /** Returns the model with a name. Undefined for an unknown name. */
  sampledModel(name: string): Promise<SampledModel | undefined>;
}

/** The limits of prompts of token ids: 4,096 of 2,048 ids. */
const promptLimits: JsonLimits = { maxElements: 2 ** 23 };

/** The time in milliseconds between comments that keep a stream without events open. */
const streamPauseMs = 10_000;

/**
 * Returns the routes `/v1/chat/completions`, `/v1/completions` and `/v1/models` for models that this machine samples.
 * With `return_token_ids`, answers have the token ids of prompts and completions, as in vLLM. A stream sends text when
 * no further token can change it, and tool calls when their choice is complete. `maxBodyBytes` limits the size of a
 * request.
 */
export function completionApp(options: { readonly models: ServedModels; readonly maxBodyBytes: number }): Hono {
  const { models, maxBodyBytes } = options;
  const app = new Hono().basePath("/v1");
  app.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: () => {
        throw tooLarge(maxBodyBytes);
      },
    }),
  );
  const complete =
    (read: (body: unknown) => CompletionCall, limits: JsonLimits) =>
    async (context: Context): Promise<Response> => {
      if (models.isDraining === true) throw draining();
      const call = read(await jsonOf(context, limits));
      const model = await models.sampledModel(call.model);
      if (model === undefined) throw unknownModel(call.model, models.modelNames());
      const { signal } = context.req.raw;
      const request = call.request(model);
      if (call.stream) {
        const parts = streamChoices(model, request, signal);
        return streamSSE(context, (stream) => sendParts(stream, { call, parts }));
      }
      const choices = await Array.fromAsync(sampleChoices(model, request, { signal }));
      return context.json(call.answer(inOrder(choices)) as object);
    };
  app.post("/chat/completions", complete(chatCall, messageLimits));
  app.post("/completions", complete(textCall, promptLimits));
  app.get("/models", (context) => {
    const entry = (id: string) => ({ id, object: "model", created: 0, owned_by: "lyceum" });
    return context.json({ object: "list", data: models.modelNames().map(entry) });
  });
  app.notFound((context) => {
    const message = `There is no route ${context.req.path}.`;
    return context.json(openAIError({ status: 404, message, code: "server.invalid-request" }) as object, 404);
  });
  app.onError((error, context) => {
    const shown = clientError(error);
    // Without this header, OpenAI's clients repeat a call that failed.
    const mayRetry = [429, 503].includes(shown.status);
    context.header("x-should-retry", String(mayRetry));
    if (mayRetry) context.header("retry-after", "5");
    return context.json(openAIError(shown) as object, shown.status as ContentfulStatusCode);
  });
  return app;
}

/**
 * Sends the pieces of choices, then the end of the stream. An error is the last event. Pieces that are ready together
 * are one write.
 */
async function sendParts(
  stream: SSEStreamingApi,
  { call, parts }: { readonly call: CompletionCall; readonly parts: AsyncIterable<readonly ChoicePart[]> },
): Promise<void> {
  const send = (events: readonly StreamEvent[]): Promise<unknown> => stream.write(events.map(eventText).join(""));
  const signs = setInterval(() => void stream.write(": the model is working\n\n"), streamPauseMs);
  try {
    const finished: Choice[] = [];
    for await (const ready of parts) {
      // The end of the stream counts tokens. It does not send them again.
      for (const { choice } of ready) if (choice !== undefined) finished.push({ ...choice, tokens: [] });
      await send(ready.flatMap((part) => call.partEvents(part)));
    }
    await send(call.endEvents(inOrder(finished)));
  } catch (error) {
    await send([{ data: openAIError(clientError(error)) }]);
  } finally {
    clearInterval(signs);
  }
}

function eventText({ data }: StreamEvent): string {
  return `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

function inOrder(choices: readonly Choice[]): Choices {
  const [first, ...more] = choices.toSorted((a, b) => a.index - b.index);
  if (first === undefined) throw new LyceumError({ code: "policy.failed", message: "The sampler returned no sample." });
  return [first, ...more];
}

async function jsonOf(context: Context, limits: JsonLimits): Promise<unknown> {
  const bytes = new Uint8Array(await context.req.arrayBuffer());
  const text = isUtf8(bytes) ? new TextDecoder().decode(bytes) : "";
  const json = parseLimitedJson(text, limits);
  if (json === undefined) throw invalidRequest("The body is not JSON in UTF-8.");
  return withRequestTexts(json, text);
}

function draining(): LyceumError {
  return new LyceumError({
    code: "server.closed",
    message: "The server is shutting down.",
    hint: "Try again later.",
  });
}

function unknownModel(name: string, known: readonly string[]): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The model "${name}" is not served, or its weights are no longer in memory.`,
    hint: `Served: ${known.join(", ")}.`,
    data: { notFound: true },
  });
}

function tooLarge(maxBytes: number): LyceumError {
  return new LyceumError({
    code: "server.invalid-request",
    message: `The request is larger than ${maxBytes} bytes.`,
    hint: "Send a shorter prompt.",
    data: { tooLarge: true },
  });
}
