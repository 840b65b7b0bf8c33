import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createOpenAI } from "@ai-sdk/openai";
import { getRequestListener } from "@hono/node-server";
import { generateText } from "ai";
import { expect, onTestFinished, test } from "vitest";
import { completionApp } from "../../../server/completions/completion-app.ts";
import type { Sample, SampledToken, Sampler, TokenScores } from "../../../src/contract/sampler.ts";
import { listen } from "../../../src/core/network/listen.ts";
import type { SampledModel } from "../../../src/core/policy/sampled-model.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import { sharedEngine } from "../../backends/onnx/shared-engine.ts";
import { tinyConfig } from "../../backends/onnx/tiny-config.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are what the server sends.
type Body = any;

function serve(model: SampledModel) {
  const models = { modelNames: () => ["m"], sampledModel: async () => model };
  const app = completionApp({ models, maxBodyBytes: 10_000 });
  const request = (path: string, body: object) =>
    app.request(`/v1/${path}`, { method: "POST", body: JSON.stringify({ model: "m", ...body }) });
  const post = async (path: string, body: object): Promise<Body> => (await request(path, body)).json();
  /** The data of the events of a stream, without the last one. */
  const stream = async (path: string, body: object): Promise<Body[]> => {
    const text = await (await request(path, { ...body, stream: true })).text();
    const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
    return lines.map((line) => JSON.parse(line.slice(6)));
  };
  return { app, request, post, stream };
}

async function tinyModel() {
  const backend = await sharedEngine();
  onTestFinished(() => backend.close());
  const source = { type: "scratch", config: tinyConfig, seed: 1 } as const;
  const model = await backend.openModel({ source, trainable: { type: "frozen" } });
  const { tokenizer, renderer } = model;
  return { tokenizer, renderer, sampler: await model.snapshot(), maxLength: tinyConfig.max_position_embeddings };
}

const tokenizer = createByteTokenizer();

/** The text of tokens without an incomplete character at its end. */
const certainText = (ids: readonly number[]): string => tokenizer.decode(ids).replace(/\uFFFD$/, "");

/** The likely tokens at each place of a completion, by a forward pass over all of it. */
function likelyTokens(scores: TokenScores, completion: readonly number[], count: number) {
  return completion.map((_, place) => {
    const before = completion.slice(0, place);
    const given = Math.max(0, ...before.map((_, i) => certainText(before.slice(0, i + 1)).length));
    return Array.from({ length: count }, (_, k) => ({
      token: certainText([...before, scores.topIds[place * count + k]!]).slice(given),
      logprob: scores.topLogprobs[place * count + k]!,
    }));
  });
}

test("a chat's most likely tokens are those of a forward pass, likeliest first", async () => {
  const model = await tinyModel();
  const { post } = serve(model);
  const messages = [{ role: "user", content: "Hi" }];
  const asked = { messages, logprobs: true, top_logprobs: 4, return_token_ids: true, max_tokens: 12, seed: 3, n: 2 };
  const { choices, prompt_token_ids: prompt } = await post("chat/completions", asked);
  for (const { token_ids: ids, logprobs } of choices) {
    const scores = await model.sampler.score!({ ids: [...prompt, ...ids], last: ids.length, topK: 4 });
    const likely = likelyTokens(scores, ids, 4);
    expect(logprobs.content).toHaveLength(ids.length);
    for (const [place, { top_logprobs: top }] of logprobs.content.entries()) {
      expect(top).toEqual(
        likely[place]!.map(({ token, logprob }) => {
          return { token, logprob: expect.closeTo(logprob, 4), bytes: [...new TextEncoder().encode(token)] };
        }),
      );
    }
  }
  const plain = await post("chat/completions", { ...asked, top_logprobs: undefined });
  for (const { top_logprobs: top } of plain.choices[0].logprobs.content) expect(top).toEqual([]);
});

test("a text's most likely tokens are those of a forward pass, and the sampled one is among them", async () => {
  const model = await tinyModel();
  const { post } = serve(model);
  const prompt = [72, 105];
  const asked = { prompt, return_token_ids: true, max_tokens: 20, seed: 2 };
  const [{ token_ids: ids, logprobs }] = (await post("completions", { ...asked, logprobs: 3 })).choices;
  const scores = await model.sampler.score!({ ids: [...prompt, ...ids], last: ids.length, topK: 3 });
  const likely = likelyTokens(scores, ids, 3);
  let added = 0;
  for (const [place, mapping] of logprobs.top_logprobs.entries()) {
    const own = { token: logprobs.tokens[place], logprob: logprobs.token_logprobs[place] };
    const entries = [...likely[place]!, own];
    if (!likely[place]!.some(({ token }) => token === own.token)) added += 1;
    for (const { token } of entries) {
      // Several tokens are the beginning of a character and have no text: the likeliest counts.
      const values = entries.filter((entry) => entry.token === token).map(({ logprob }) => logprob);
      expect(mapping[token]).toBeCloseTo(Math.max(...values), 4);
    }
    expect(Object.keys(mapping)).toHaveLength(new Set(entries.map(({ token }) => token)).size);
  }
  expect(added).toBeGreaterThan(3);
  const alone = (await post("completions", { ...asked, logprobs: 0 })).choices[0].logprobs;
  expect(alone.top_logprobs).toEqual(
    alone.tokens.map((token: string, i: number) => ({ [token]: alone.token_logprobs[i] })),
  );
});

type Pairs = NonNullable<Sample["topLogprobs"]>[number];

interface ScriptOptions {
  readonly inSample?: boolean;
  readonly inTokens?: boolean;
}

/** A model that samples one token twice, with fixed likely tokens. */
function scriptedModel(top: Pairs, id: number, { inSample = true, inTokens = true }: ScriptOptions = {}): SampledModel {
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 0,
    sample: async function* (_, { onSampled } = {}) {
      const token: SampledToken = { request: 0, id, logprob: -5, ...(inTokens ? { topLogprobs: top } : {}) };
      onSampled?.([token]);
      // The client reads the first token before the second one is there. What waits is one piece.
      await sleep(5);
      onSampled?.([token]);
      const tops = inSample ? { topLogprobs: [top, top] } : {};
      yield { request: 0, ids: [id, id], logprobs: [-5, -5], ...tops, finish: "length" };
    },
    close: async () => {},
  };
  return { tokenizer, renderer: createByteRenderer(), sampler, maxLength: 100 };
}

/** A model whose tokens are words, two of them with the same text. It samples "b". */
function wordModel(options: ScriptOptions & { readonly third?: string } = {}): SampledModel {
  const words = ["a", "b", options.third ?? "c", "a"];
  const top: Pairs = [
    [3, -1],
    [0, -2],
    [2, -Infinity],
  ];
  const decode = (ids: readonly number[]): string => ids.map((id) => words[id]).join("");
  return { ...scriptedModel(top, 1, options), tokenizer: { ...tokenizer, decode } };
}

test("of two tokens with the same text the likelier one counts, and JSON has finite numbers", async () => {
  const { post } = serve(wordModel({ third: "__proto__" }));
  const text = (await post("completions", { prompt: "b", logprobs: 3 })).choices[0].logprobs;
  for (const mapping of text.top_logprobs) {
    expect(Object.entries(mapping)).toEqual([
      ["a", -1],
      ["__proto__", -9999],
      ["b", -5],
    ]);
  }
  const asked = { messages: [{ role: "user", content: "b" }], logprobs: true, top_logprobs: 3 };
  const chat = (await post("chat/completions", asked)).choices[0].logprobs.content;
  expect(chat[1]).toEqual({
    ...{ token: "b", logprob: -5, bytes: [98] },
    top_logprobs: [
      { token: "a", logprob: -1, bytes: [97] },
      { token: "a", logprob: -2, bytes: [97] },
      { token: "__proto__", logprob: -9999, bytes: expect.any(Array) },
    ],
  });
});

test("a token has the same text alone and among the most likely ones, also in an incomplete character", async () => {
  // Both tokens begin a character. Only the last one's is known to stay incomplete.
  const top: Pairs = [
    [97, -1],
    [0xe6, -5],
  ];
  const { post, stream } = serve(scriptedModel(top, 0xe6));
  const asked = { messages: [{ role: "user", content: "b" }], logprobs: true, top_logprobs: 2 };
  const { content } = (await post("chat/completions", asked)).choices[0].logprobs;
  expect(content.map(({ token, top_logprobs: [, own] }: Body) => [token, own.token])).toEqual([
    ["", ""],
    ["\uFFFD\uFFFD", "\uFFFD\uFFFD"],
  ]);
  // Its place would have been taken by "a".
  expect(content[1].top_logprobs[0].token).toBe("\uFFFDa");
  const pieces = await stream("chat/completions", asked);
  expect(pieces.flatMap(({ choices }) => choices[0].logprobs?.content ?? [])).toEqual(content);
});

test("a call fails if the sampler does not report the most likely tokens", async () => {
  const { request, post, stream } = serve(wordModel({ inSample: false, inTokens: false }));
  const text = { prompt: "b", logprobs: 1 };
  const chat = { messages: [{ role: "user", content: "b" }], logprobs: true, top_logprobs: 1 };
  for (const [path, body] of [
    ["completions", text],
    ["chat/completions", chat],
  ] as const) {
    expect((await request(path, body)).status).toBe(400);
    const error = { code: "policy.unsupported-input", message: expect.stringMatching(/does not report/) };
    expect((await post(path, body)).error).toMatchObject(error);
    expect(await stream(path, body)).toMatchObject([{ error }]);
  }
  // The sampled tokens alone need no report.
  expect((await post("completions", { ...text, logprobs: 0 })).choices[0].logprobs.top_logprobs[0]).toEqual({ b: -5 });
  expect((await post("chat/completions", { ...chat, top_logprobs: 0 })).choices[0].logprobs.content).toHaveLength(2);
});

test("a stream is one piece if only whole samples have the most likely tokens", async () => {
  const body = { prompt: "b", logprobs: 2 };
  const whole = (await serve(wordModel()).post("completions", body)).choices;
  expect((await serve(wordModel()).stream("completions", body)).length).toBeGreaterThan(1);
  const pieces = await serve(wordModel({ inTokens: false })).stream("completions", body);
  expect(pieces.map(({ choices }) => choices)).toEqual([whole]);
});

test("the AI SDK reads the most likely tokens of both endpoints", async () => {
  const server = createServer(getRequestListener(serve(wordModel()).app.fetch));
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => void server.close());
  const provider = createOpenAI({ baseURL: `http://${authority}/v1`, apiKey: "none" });
  const providerOptions = { openai: { logprobs: 3 } };
  const read = async (model: Parameters<typeof generateText>[0]["model"]): Promise<Body> =>
    (await generateText({ model, prompt: "Hi", providerOptions })).providerMetadata?.openai?.logprobs;
  expect((await read(provider.chat("m")))[1].top_logprobs[0]).toMatchObject({ token: "a", logprob: -1 });
  expect((await read(provider.completion("m"))).top_logprobs[1]).toMatchObject({ a: -1, b: -5 });
});
