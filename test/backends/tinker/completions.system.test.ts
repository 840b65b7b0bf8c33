import { createServer } from "node:http";
import { join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { getRequestListener } from "@hono/node-server";
import { generateText, streamText } from "ai";
import fc from "fast-check";
import type { Hono } from "hono";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { completionApp } from "../../../server/completions/completion-app.ts";
import type { Message } from "../../../src/contract/message.ts";
import type { Sampler } from "../../../src/contract/sampler.ts";
import { listen } from "../../../src/core/network/listen.ts";
import { createByteRenderer } from "../../../src/core/tokens/byte-renderer.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../../trainers/backends/onnx/index.ts";
import { passRequestToJson } from "../../../trainers/tinker/protocol/pass-request.ts";
import { vector } from "../../../trainers/tinker/protocol/tensor.ts";
import { tinkerApp } from "../../../trainers/tinker/service/tinker-app.ts";
import { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { callsOf, scriptedBytes } from "../../server/capture/scripted-bytes.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { type TinyModel, tinyModel } from "./tiny-model.ts";

let folder: string;
let backend: TrainingBackend;
let source: TinyModel;
let base: Model;
beforeAll(async () => {
  folder = temporaryFolder();
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  source = await tinyModel(backend, folder);
  base = await backend.openModel({ source, trainable: { type: "frozen" } });
});
afterAll(async () => {
  await backend.close();
});

// biome-ignore lint/suspicious/noExplicitAny: answers are what the server sends.
type Body = any;

function serve() {
  const service = new TinkerService({ backend, source, names: ["tiny"], folder: join(folder, "saved") });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const app: Hono = completionApp({ models: service, maxBodyBytes: 4000 });
  const tinker = tinkerApp({ service });
  const request = (path: string, body: unknown) =>
    app.request(`/v1/${path}`, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  const post = async (path: string, body: unknown): Promise<{ status: number; body: Body }> => {
    const response = await request(path, body);
    return { status: response.status, body: await response.json() };
  };
  /** Sends a request of the Tinker API, and waits for its result. */
  const train = async (route: string, body: unknown): Promise<Body> => {
    const send = async (path: string, json: unknown): Promise<Body> =>
      (await tinker.request(`/api/v1/${path}`, { method: "POST", body: JSON.stringify(json) })).json();
    const answer = await send(route, body);
    return answer.request_id === undefined ? answer : send("retrieve_future", { request_id: answer.request_id });
  };
  return { app, request, post, train };
}

/** The data of the events of a stream. */
async function eventsOf(response: Response): Promise<Body[]> {
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
  expect(lines.pop()).toBe("data: [DONE]");
  return lines.map((line) => JSON.parse(line.slice(6)));
}

/** The log-probabilities of tokens after a prompt, by a forward pass. */
async function logprobsOf(model: Model, prompt: readonly number[], completion: readonly number[]): Promise<number[]> {
  const ids = [...prompt, ...completion];
  const tokens = Int32Array.from(ids.slice(0, -1));
  const lossMask = new Float32Array(tokens.length).fill(1);
  const datum = { tokens, targets: Int32Array.from(ids.slice(1)), lossMask };
  const [result] = await model.forward([datum], { outputs: ["logprobs"] });
  return [...result!.logprobs!].slice(prompt.length - 1);
}

const prompt = [72, 105, 33];

const callMessage: Message = {
  role: "assistant",
  content: [],
  toolCalls: [{ id: "1", name: "add", arguments: { a: 1 } }],
};

test("a completion has the ids and the log-probabilities of the model", async () => {
  const { post } = serve();
  const asked = { model: "tiny", prompt, max_tokens: 6, seed: 4, n: 3, logprobs: 1, return_token_ids: true };
  const { status, body } = await post("completions", asked);
  expect(status).toBe(200);
  const sampler = await base.snapshot();
  const settings = { temperature: 1, maxTokens: 6 };
  const { stopTokenIds } = base.renderer;
  const requests = [4, 5, 6].map((seed) => ({ promptIds: prompt, settings, seed, stopTokenIds }));
  const samples = (await Array.fromAsync(sampler.sample(requests))).toSorted((a, b) => a.request - b.request);
  expect(body).toMatchObject({ object: "text_completion", model: "tiny", choices: { length: 3 } });
  for (const [i, choice] of body.choices.entries()) {
    expect(choice).toMatchObject({ index: i, prompt_token_ids: prompt, token_ids: samples[i]!.ids });
    expect(choice.logprobs.tokens.join("")).toBe(choice.text);
    expect(choice.logprobs.tokens).toHaveLength(choice.token_ids.length);
    const own = await logprobsOf(base, prompt, choice.token_ids);
    for (const [t, value] of choice.logprobs.token_logprobs.entries()) expect(value).toBeCloseTo(own[t]!, 4);
  }
  const counts = body.choices.reduce((sum: number, choice: Body) => sum + choice.token_ids.length, 0);
  expect(body.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: counts, total_tokens: 3 + counts });
  expect((await post("completions", asked)).body.choices).toEqual(body.choices);
});

test("texts and lists of prompts are completed in order", async () => {
  const { post } = serve();
  const asked = { model: "tiny", max_tokens: 3, temperature: 0, return_token_ids: true, n: 2 };
  const { body } = await post("completions", { ...asked, prompt: ["Hi!", "Ho?"] });
  const alone = await post("completions", { ...asked, prompt: base.tokenizer.encode("Ho?") });
  expect(body.choices.map(({ index }: Body) => index)).toEqual([0, 1, 2, 3]);
  expect(body.choices[0].prompt_token_ids).toEqual(base.tokenizer.encode("Hi!"));
  expect(body.choices.slice(2).map(({ token_ids }: Body) => token_ids)).toEqual(
    alone.body.choices.map(({ token_ids }: Body) => token_ids),
  );
  expect(body.usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 12, total_tokens: 18 });
  const sampled = await post("completions", { ...asked, temperature: 1, prompt: ["Hi!", "Hi!"] });
  expect(new Set(sampled.body.choices.map(({ token_ids }: Body) => token_ids.join())).size).toBe(4);
});

test("a completion ends at stop ids, stop texts and the length, and keeps to top-k", async () => {
  const { post } = serve();
  const asked = { model: "tiny", prompt, temperature: 0, max_tokens: 8, return_token_ids: true };
  const free = (await post("completions", asked)).body.choices[0];
  expect(free).toMatchObject({ finish_reason: "length", token_ids: { length: 8 } });
  const id = free.token_ids[2];
  const byId = (await post("completions", { ...asked, stop_token_ids: [id] })).body.choices[0];
  const end = free.token_ids.indexOf(id) + 1;
  expect(byId).toMatchObject({ finish_reason: "stop", token_ids: free.token_ids.slice(0, end) });
  expect(byId.text).toBe(base.tokenizer.decode(free.token_ids.slice(0, end - 1)));
  const readable = { ...asked, temperature: 1, seed: 1, max_tokens: 40 };
  const long = (await post("completions", readable)).body.choices[0];
  const stop = [...long.text].find((character: string) => character !== "\uFFFD")!;
  const byText = (await post("completions", { ...readable, stop })).body.choices[0];
  expect(byText).toMatchObject({ finish_reason: "stop", text: long.text.slice(0, long.text.indexOf(stop)) });
  const likely = await post("completions", { ...asked, temperature: 1, top_k: 1, seed: 9 });
  expect(likely.body.choices[0].token_ids).toEqual(free.token_ids);
});

test("a request continues what an earlier one has read, and counts the tokens", async () => {
  const { post } = serve();
  const cachedOf = ({ body }: { body: Body }): number => body.usage.prompt_tokens_details.cached_tokens;
  const ids = Array.from({ length: 40 }, (_, i) => 60 + i);
  const asked = { model: "tiny", max_tokens: 4, temperature: 0, return_token_ids: true, logprobs: 1 };
  const first = await post("completions", { ...asked, prompt: ids });
  expect(cachedOf(first)).toBe(0);
  const next = [...ids, ...first.body.choices[0].token_ids, 65, 66, 67];
  const second = await post("completions", { ...asked, prompt: next });
  expect(cachedOf(second)).toBe(32);
  const own = await logprobsOf(base, next, second.body.choices[0].token_ids);
  for (const [t, value] of second.body.choices[0].logprobs.token_logprobs.entries()) {
    expect(value).toBeCloseTo(own[t]!, 4);
  }
  const messages = [{ role: "user", content: "How much is 17 + 4?" }];
  const chat = { model: "tiny", messages, max_tokens: 4 };
  expect([cachedOf(await post("chat/completions", chat)), cachedOf(await post("chat/completions", chat))]).toEqual([
    0,
    expect.toSatisfy((count: number) => count > 0 && count % 16 === 0),
  ]);
});

test("a stream ends with the token counts of the whole answer", async () => {
  const { request, post } = serve();
  const text = { model: "tiny", max_tokens: 4, seed: 2, n: 2, prompt };
  const whole = (await post("completions", text)).body;
  const streamed = await eventsOf(
    await request("completions", { ...text, stream: true, stream_options: { include_usage: true } }),
  );
  expect(streamed.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
});

/** Joins the pieces of each choice of a stream of texts. */
function joinedTexts(events: readonly Body[]): Body[] {
  const joined = new Map<number, Body>();
  for (const { index, text, logprobs, token_ids, ...more } of events.flatMap((event) => event.choices)) {
    const lists = { token_ids: [], tokens: [], values: [], tops: [], offsets: [] };
    const choice = joined.get(index) ?? { index, text: "", ...structuredClone(lists) };
    expect(choice.finish_reason ?? null).toBe(null);
    choice.text += text;
    choice.token_ids.push(...token_ids);
    choice.tokens.push(...logprobs.tokens);
    choice.values.push(...logprobs.token_logprobs);
    choice.tops.push(...logprobs.top_logprobs);
    choice.offsets.push(...logprobs.text_offset);
    joined.set(index, { ...choice, ...more });
  }
  return [...joined.values()]
    .toSorted((a, b) => a.index - b.index)
    .map(({ tokens, values, tops, offsets, ...choice }) => ({
      ...choice,
      logprobs: { tokens, token_logprobs: values, top_logprobs: tops, text_offset: offsets },
    }));
}

/** Joins the pieces of each choice of a stream of a chat. */
function joinedChats(events: readonly Body[]): Body[] {
  const joined = new Map<number, Body>();
  for (const event of events) {
    for (const { index, delta, finish_reason, logprobs, token_ids = [] } of event.choices) {
      const message = { role: delta.role, content: "" };
      const choice = joined.get(index) ?? { index, message, logprobs: { content: [], refusal: null }, token_ids: [] };
      expect(choice.finish_reason ?? null).toBe(null);
      choice.message.content += delta.content ?? "";
      choice.logprobs.content.push(...(logprobs?.content ?? []));
      choice.token_ids.push(...token_ids);
      joined.set(index, { ...choice, finish_reason });
    }
  }
  return [...joined.values()].toSorted((a, b) => a.index - b.index);
}

test("a stream has the choices of the whole answer in pieces", async () => {
  const { request, post } = serve();
  let pieces = 0;
  let choices = 0;
  let stopped = 0;
  const asked = fc.record({
    prompt: fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" }),
    max_tokens: fc.integer({ min: 1, max: 20 }),
    n: fc.integer({ min: 1, max: 3 }),
    seed: fc.nat(1000),
    /** Where the text that stops it begins in the free answer. */
    stopAt: fc.option(fc.nat(15)),
    stop_token_ids: fc.array(fc.nat(255), { maxLength: 20 }),
    temperature: fc.constantFrom(0, 0.5, 1),
    top_k: fc.constantFrom(-1, 3, 30),
    top: fc.nat(20),
  });
  await fc.assert(
    fc.asyncProperty(asked, async ({ prompt, stopAt, top, ...settings }) => {
      const free = (await post("completions", { ...settings, model: "tiny", prompt })).body.choices[0].text;
      const stop = stopAt === null ? "" : free.slice(stopAt, stopAt + 3);
      const stops = stop === "" || stop.includes("\uFFFD") ? {} : { stop: [stop, "never"] };
      if (stops.stop !== undefined) stopped += 1;
      const shared = { ...settings, ...stops, model: "tiny", return_token_ids: true };
      const text = { ...shared, prompt, logprobs: top };
      const whole = (await post("completions", text)).body.choices;
      const events = await eventsOf(await request("completions", { ...text, stream: true }));
      expect(joinedTexts(events)).toEqual(whole);
      pieces += events.length;
      choices += whole.length;

      const chat = { ...shared, messages: [{ role: "user", content: prompt }], logprobs: true, top_logprobs: top };
      const answer = (await post("chat/completions", chat)).body;
      const chunks = await eventsOf(await request("chat/completions", { ...chat, stream: true }));
      expect(joinedChats(chunks)).toEqual(answer.choices);
      expect(chunks.filter((event) => "prompt_token_ids" in event)).toHaveLength(settings.n);
      expect(chunks[0].prompt_token_ids).toEqual(answer.prompt_token_ids);
    }),
    { numRuns: 60 },
  );
  // A choice that is sent as a whole is one piece. A busy machine sends larger pieces.
  expect(pieces).toBeGreaterThan(choices);
  expect(stopped).toBeGreaterThan(3);
});

test("a stream begins before its choice is complete, and tool calls come at its end", async () => {
  const tokenizer = createByteTokenizer();
  const written = [...tokenizer.encode("Wait."), ...createByteRenderer().complete(callMessage)];
  const { promise: more, resolve: goOn } = Promise.withResolvers<void>();
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 0,
    sample: async function* (_, { onSampled } = {}) {
      const report = (ids: readonly number[]): void => onSampled!(ids.map((id) => ({ request: 0, id, logprob: 0 })));
      report(written.slice(0, 1));
      await more;
      // Nobody reads meanwhile.
      for (const id of written.slice(1)) report([id]);
      yield { request: 0, ids: written, logprobs: written.map(() => 0), finish: "stop" };
    },
    close: async () => {},
  };
  const sampled = { tokenizer, renderer: createByteRenderer(), sampler, maxLength: 10_000 };
  const models = { modelNames: () => ["m"], sampledModel: async () => sampled };
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hi" }], stream: true });
  const app = completionApp({ models, maxBodyBytes: 10_000 });
  const response = await app.request("/v1/chat/completions", { method: "POST", body });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toContain('"delta":{"role":"assistant","content":"W"}');
  goOn();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) rest += read.value;
  const deltas = rest
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice(6)).choices[0].delta);
  const called = { index: 0, type: "function", function: { name: "add", arguments: '{"a":1}' } };
  // What a slow client has not read is one piece.
  expect(deltas).toMatchObject([{ content: "ait." }, { tool_calls: [called] }, {}]);
});

test("a client that leaves a stream stops its sampling", async () => {
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 0,
    sample: async function* (_, { signal, onSampled } = {}) {
      signal!.addEventListener("abort", () => resolve());
      onSampled!([{ request: 0, id: 72, logprob: 0 }]);
      await stopped;
      yield* [];
    },
    close: async () => {},
  };
  const sampled = { tokenizer: createByteTokenizer(), renderer: createByteRenderer(), sampler, maxLength: 10_000 };
  const models = { modelNames: () => ["m"], sampledModel: async () => sampled };
  const server = createServer(getRequestListener(completionApp({ models, maxBodyBytes: 10_000 }).fetch));
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => void server.close());
  const leave = new AbortController();
  const body = JSON.stringify({ model: "m", prompt: "Hi", stream: true });
  const response = await fetch(`http://${authority}/v1/completions`, { method: "POST", body, signal: leave.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toContain('"text":"H"');
  leave.abort();
  await stopped;
});

test("after a step the answers of a live model change, and those of saved weights stay", async () => {
  const { post, train } = serve();
  const { session_id } = await train("create_session", {});
  const lora_config = { rank: 8, seed: 3 };
  const { model_id } = await train("create_model", { session_id, model_seq_id: 0, base_model: "tiny", lora_config });
  const save = (path: string) => train("save_weights_for_sampler", { model_id, path });
  const complete = async (model: string): Promise<Body> =>
    (await post("completions", { model, prompt, temperature: 0, max_tokens: 5, logprobs: 0, return_token_ids: true }))
      .body.choices[0];
  const { path: before } = await save("before");
  const first = await complete(model_id);
  expect(await complete(before)).toEqual(first);
  expect(await complete("tiny")).toEqual(first);
  const tokens = Int32Array.of(...prompt, 50, 51);
  const weights = vector(new Float32Array(5).fill(1));
  const lossInputs = { target_tokens: vector(Int32Array.of(...prompt.slice(1), 50, 51, 52)), weights };
  const pass = { modelId: model_id, seqId: undefined, lossName: "cross_entropy", lossConfig: {} };
  const step = async (learning_rate = 0.01): Promise<void> => {
    await train("forward_backward", passRequestToJson({ ...pass, data: [{ tokens, lossInputs }], forwardOnly: false }));
    await train("optim_step", { model_id, adam_params: { learning_rate } });
  };
  for (let i = 0; i < 120; i++) await step();
  const { path: after } = await save("after");
  const trained = await complete(model_id);
  // It has learned to continue with 50, 51, 52.
  expect(trained.token_ids.slice(0, 3)).toEqual([50, 51, 52]);
  expect(trained.logprobs).not.toEqual(first.logprobs);
  expect(await complete(after)).toEqual(trained);
  expect(await complete(before)).toEqual(first);
  const { path: state } = await train("save_weights", { model_id, path: "state" });
  await step();
  const further = await complete(model_id);
  expect(further).not.toEqual(trained);
  await train("load_weights", { model_id, path: state, optimizer: true });
  expect(await complete(model_id)).toEqual(trained);
  await step();
  expect(await complete(model_id)).toEqual(further);
  // Other weights of an equal version.
  await train("load_weights", { model_id, path: state, optimizer: true });
  await step(0.02);
  expect(await complete(model_id)).not.toEqual(further);
});

test("requests that can never succeed are refused in the form of the protocol", async () => {
  const { app, post } = serve();
  const asked = { model: "tiny", prompt };
  const chat = { model: "tiny", messages: [{ role: "user", content: "a" }] };
  const refused: [string, unknown, number, string][] = [
    ["completions", "{", 400, "server.invalid-request"],
    ["completions", { model: "tiny" }, 400, "server.invalid-request"],
    ["completions", { ...asked, model: "other" }, 404, "server.invalid-request"],
    ["completions", { ...asked, model: "tinker://none/sampler_weights/a" }, 404, "server.invalid-request"],
    ["completions", { ...asked, echo: true }, 400, "server.invalid-request"],
    ["completions", { ...asked, prompt: "" }, 400, "server.invalid-request"],
    ["completions", { ...asked, prompt: [1_000_000] }, 400, "policy.unsupported-input"],
    ["completions", { ...asked, prompt: Array(64).fill(1) }, 400, "context_length_exceeded"],
    ["completions", { ...asked, n: 1000 }, 400, "server.invalid-request"],
    ["completions", { ...asked, prompt: Array(33).fill([1]), n: 128 }, 400, "server.invalid-request"],
    ["completions", { ...asked, user: "x".repeat(5000) }, 413, "server.invalid-request"],
    ["chat/completions", { model: "tiny", messages: [] }, 400, "server.invalid-request"],
    ["completions", { ...asked, logprobs: 21 }, 400, "server.invalid-request"],
    ["completions", { ...asked, logprobs: -1 }, 400, "server.invalid-request"],
    ["chat/completions", { ...chat, top_logprobs: 2 }, 400, "server.invalid-request"],
    ["chat/completions", { ...chat, top_logprobs: 2, logprobs: false }, 400, "server.invalid-request"],
    ["chat/completions", { ...chat, top_logprobs: 21, logprobs: true }, 400, "server.invalid-request"],
    ["chat/completions", { ...chat, top_logprobs: -1, logprobs: true }, 400, "server.invalid-request"],
    ["chat/completions", { ...chat, top_logprobs: 1.5, logprobs: true }, 400, "server.invalid-request"],
    ["nothing", {}, 404, "server.invalid-request"],
  ];
  for (const [path, body, status, code] of refused) {
    const answer = await post(path, body);
    expect({ path, body, status: answer.status }).toEqual({ path, body, status });
    expect(answer.body.error).toMatchObject({ message: expect.any(String), ...(code === "" ? {} : { code }) });
  }
  const { data } = (await (await app.request("/v1/models")).json()) as Body;
  expect(data).toEqual([{ id: "tiny", object: "model", created: 0, owned_by: "lyceum" }]);
});

test("the AI SDK generates and streams text, and calls tools", async () => {
  const tokenizer = createByteTokenizer();
  const renderer = createByteRenderer();
  const { sampler } = scriptedBytes(["Hello.", "Hello.", callsOf("", ["add", { a: 1 }])]);
  const models = {
    modelNames: () => ["m"],
    sampledModel: async () => ({ tokenizer, renderer, sampler, maxLength: 10_000 }),
  };
  const server = createServer(getRequestListener(completionApp({ models, maxBodyBytes: 100_000 }).fetch));
  const { authority } = await listen(server, { hostname: "127.0.0.1", port: 0 });
  onTestFinished(() => void server.close());
  const model = createOpenAICompatible({ name: "m", baseURL: `http://${authority}/v1` }).chatModel("m");
  expect((await generateText({ model, prompt: "Hi" })).text).toBe("Hello.");
  expect(await streamText({ model, prompt: "Hi" }).text).toBe("Hello.");
  const { toolCalls, finishReason } = await generateText({ model, prompt: "Hi" });
  expect(finishReason).toBe("tool-calls");
  expect(toolCalls).toMatchObject([{ toolName: "add", input: { a: 1 }, toolCallId: expect.stringMatching(/^\w{9}$/) }]);
});
