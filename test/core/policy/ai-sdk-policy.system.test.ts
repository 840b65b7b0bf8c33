import { MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { type AiSdkModel, aiSdkPolicy, providerModel } from "../../../src/core/policy/ai-sdk/index.ts";
import type { CallOptions, Generated } from "../../../src/core/policy/ai-sdk/language-model.ts";
import { type ModelAnswer, type ModelRequest, modelPolicyConformance } from "../../../src/entry-points/testing.ts";
import { describeCases } from "../../testing/describe-cases.ts";
import { actRequest } from "./act-request.ts";
import { chatServer } from "./chat-server.ts";

/** A model of each version of the interface with the given behaviour. */
const versions: Readonly<Record<string, (doGenerate: (call: CallOptions) => Promise<Generated>) => AiSdkModel>> = {
  v4: (doGenerate) => new MockLanguageModelV4({ doGenerate }),
  v3: (doGenerate) => new MockLanguageModelV3({ doGenerate: doGenerate as never }),
  v2: (doGenerate) =>
    ({
      specificationVersion: "v2",
      provider: "mock",
      modelId: "mock",
      supportedUrls: {},
      doGenerate: async (call: CallOptions) => {
        const { finishReason, usage, ...rest } = await doGenerate(call);
        const { inputTokens, outputTokens } = usage;
        const flat = { inputTokens: inputTokens.total, outputTokens: outputTokens.total };
        return { ...rest, finishReason: finishReason.unified, usage: { ...flat, totalTokens: undefined } };
      },
    }) as unknown as AiSdkModel,
};

function generated(
  answer: Exclude<ModelAnswer, "never">,
  usage: { readonly input?: number; readonly output?: number } = { input: 11, output: 2 },
): Generated {
  const { text, finish, toolCalls = [] } = answer;
  return {
    content: [
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...toolCalls.map(({ id, name, arguments: input }) => ({
        type: "tool-call" as const,
        toolCallId: id,
        toolName: name,
        input,
      })),
    ],
    finishReason: { unified: finish, raw: undefined },
    usage: {
      inputTokens: { total: usage.input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: usage.output, text: undefined, reasoning: undefined },
    },
    warnings: [],
  };
}

for (const [version, model] of Object.entries(versions)) {
  describeCases(
    `a model of the AI SDK (${version})`,
    modelPolicyConformance(async (answer) => {
      let aborted = 0;
      const policy = aiSdkPolicy(
        model(async (call) => {
          const answered = answer(askedOf(call));
          if (answered !== "never") return generated(answered);
          return new Promise((_, reject) => {
            call.abortSignal!.addEventListener("abort", () => {
              aborted += 1;
              reject(call.abortSignal!.reason as Error);
            });
          });
        }),
      );
      return { policy, aborted: () => aborted, [Symbol.asyncDispose]: async () => {} };
    }),
  );
}

function askedOf(call: CallOptions): ModelRequest {
  return {
    texts: call.prompt.flatMap(({ content }) => {
      if (typeof content === "string") return [content];
      return content.flatMap((part) => {
        if (part.type === "text") return [part.text];
        return part.type === "tool-result" && part.output.type === "text" ? [part.output.value] : [];
      });
    }),
    tools: (call.tools ?? []).map(({ name }) => name),
    temperature: call.temperature!,
    maxTokens: call.maxOutputTokens!,
    seed: call.seed!,
    topP: call.topP,
    topK: call.topK,
    stop: call.stopSequences,
  };
}

const quick = { retryDelayMs: 1, maxRetryDelayMs: 2, maxRetries: 2 } as const;
const four = generated({ text: "4", finish: "stop" });

/** A policy whose model does these things in turn, and then repeats the last. */
function inTurn(...turns: readonly (Generated | Error)[]) {
  let calls = 0;
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const turn = turns[Math.min(calls, turns.length - 1)]!;
      calls += 1;
      if (turn instanceof Error) throw turn;
      return turn;
    },
  });
  return { policy: aiSdkPolicy(model, quick), calls: () => calls };
}

/** An error in the form of the SDK. */
function sdkError(name: string, fields: object = {}): Error {
  return Object.assign(new Error("It says so."), { name: `AI_${name}`, ...fields });
}

function api(statusCode: number | undefined, fields: object = {}): Error {
  return sdkError("APICallError", { url: "https://api.example/v1/chat", statusCode, ...fields });
}

describe("an error of a provider", () => {
  test.each([
    ["500", api(500)],
    ["429", api(429, { responseHeaders: { "retry-after-ms": "2" } })],
    ["a network that fails", api(undefined)],
    ["an answer that it cannot read", api(200)],
    ["a body that is no JSON", sdkError("JSONParseError")],
    ["a body of another shape", sdkError("TypeValidationError")],
    ["an empty body", sdkError("EmptyResponseBodyError")],
  ])("%s is retried", async (_, error) => {
    const passing = inTurn(error, four);
    expect(await passing.policy.act(actRequest())).toMatchObject({ action: { finish: "stop" }, retries: 1 });
    const lasting = inTurn(error);
    await expect(lasting.policy.act(actRequest())).rejects.toMatchObject({ code: "policy.unavailable" });
    expect(lasting.calls()).toBe(3);
  });

  test.each([
    [api(401), "policy.unauthorized"],
    [api(400), "policy.rejected"],
    [api(404), "policy.rejected"],
    [api(400, { responseBody: '{"error":{"code":"context_length_exceeded"}}' }), "policy.prompt-too-long"],
    [sdkError("LoadAPIKeyError"), "policy.unauthorized"],
    [sdkError("NoSuchModelError"), "policy.rejected"],
    [sdkError("UnsupportedFunctionalityError"), "policy.unsupported-input"],
  ])("%s fails the action immediately", async (error, code) => {
    const { policy, calls } = inTurn(error);
    await expect(policy.act(actRequest())).rejects.toMatchObject({ code, hint: expect.any(String) });
    expect(calls()).toBe(1);
  });

  test("a model that ignores its signal is abandoned at the timeout", async () => {
    const model = new MockLanguageModelV4({ doGenerate: () => new Promise(() => {}) });
    const policy = aiSdkPolicy(model, { ...quick, timeoutMs: 10 });
    await expect(policy.act(actRequest())).rejects.toMatchObject({
      code: "policy.unavailable",
      data: { reason: "timeout" },
    });
  });
});

test("waits between tries depend on the seed of the action", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const waits = async (seed: number): Promise<readonly number[]> => {
    const at: number[] = [];
    const model = new MockLanguageModelV4({
      doGenerate: async () => {
        at.push(performance.now());
        throw api(503);
      },
    });
    const failed = aiSdkPolicy(model, { maxRetries: 3, retryDelayMs: 1_000, maxRetryDelayMs: 2_000 }).act(
      actRequest({ seed }),
    );
    failed.catch(() => {});
    await vi.advanceTimersByTimeAsync(10_000);
    await expect(failed).rejects.toMatchObject({ code: "policy.unavailable" });
    return at.slice(1).map((time, index) => time - at[index]!);
  };
  const first = await waits(1);
  expect(first).toHaveLength(3);
  for (const [index, whole] of [1_000, 2_000, 2_000].entries()) {
    expect(first[index]).toBeGreaterThanOrEqual(whole / 2);
    expect(first[index]).toBeLessThanOrEqual(whole + 1);
  }
  expect(await waits(1)).toEqual(first);
  expect(await waits(2)).not.toEqual(first);
});

describe("the output of a model", () => {
  test.each([
    ["an end by an error", { ...four, finishReason: { unified: "error", raw: "overloaded" } } as const],
    ["nothing", generated({ text: "", finish: "stop" }, { input: 5, output: 0 })],
    ["nothing, uncounted", generated({ text: "", finish: "stop" }, {})],
    ["no content", { ...four, content: undefined } as unknown as Generated],
    ["undefined", undefined as unknown as Generated],
  ])("%s is retried", async (_, bad) => {
    expect(await inTurn(bad, four).policy.act(actRequest())).toMatchObject({ retries: 1 });
    await expect(inTurn(bad).policy.act(actRequest())).rejects.toMatchObject({ code: "policy.unavailable" });
  });

  test.each([
    [{ unified: "other", raw: "interrupted" }, "stop", "interrupted"],
    [{ unified: "other", raw: "model_length" }, "length", undefined],
    [{ unified: "other", raw: undefined }, "stop", undefined],
    [{ unified: "tool-calls", raw: undefined }, "stop", undefined],
    ["unknown", "stop", undefined],
  ])("a finish reason of %j is read", async (finishReason, finish, recorded) => {
    const result = await inTurn({ ...four, finishReason } as unknown as Generated).policy.act(actRequest());
    expect(result).toMatchObject({ action: { finish } });
    expect(result.finishReason).toBe(recorded);
  });

  test("a count below 0 is no count", async () => {
    const bad = generated({ text: "4", finish: "stop" }, { input: -1, output: 2 });
    expect((await inTurn(bad).policy.act(actRequest())).usage).toBeUndefined();
  });

  test("an empty text is an answer if the model sampled its end", async () => {
    const { policy } = inTurn(generated({ text: "", finish: "stop" }, { input: 5, output: 1 }));
    expect((await policy.act(actRequest())).action.message).toEqual(textMessage("assistant", ""));
  });

  test("an answer needs no usage", async () => {
    const { policy } = inTurn(generated({ text: "4", finish: "stop" }, { input: Number.NaN, output: Number.NaN }));
    expect((await policy.act(actRequest())).usage).toBeUndefined();
  });

  test("an answer that a filter ended is not used", async () => {
    const filtered = { ...four, finishReason: { unified: "content-filter", raw: undefined } } as const;
    await expect(inTurn(filtered).policy.act(actRequest())).rejects.toMatchObject({ code: "policy.rejected" });
  });

  test("reasoning and log-probabilities are kept, calls of a provider's own tools are not", async () => {
    const { policy } = inTurn({
      ...four,
      content: [
        { type: "reasoning", text: "Hm." },
        { type: "tool-call", toolCallId: "s", toolName: "search", input: "{}", providerExecuted: true },
        { type: "text", text: "4" },
      ],
      providerMetadata: { openai: { logprobs: [{ token: "4", logprob: -0.5, top_logprobs: [] }] } },
    });
    expect(await policy.act(actRequest())).toMatchObject({
      action: {
        message: {
          content: [
            { type: "reasoning", text: "Hm." },
            { type: "text", text: "4" },
          ],
        },
        finish: "stop",
      },
      logprobs: [{ text: "4", logprob: -0.5 }],
    });
  });

  test("each warning is reported once", async () => {
    const warnings = [{ type: "unsupported", feature: "seed" }] as const;
    const model = new MockLanguageModelV4({ doGenerate: async () => ({ ...four, warnings: [...warnings] }) });
    const told: string[] = [];
    const policy = aiSdkPolicy(model, { onWarning: (warning) => told.push(warning) });
    for (let seed = 0; seed < 3; seed++) await policy.act(actRequest({ seed }));
    expect(told).toEqual(["unsupported: seed"]);
  });
});

describe("the input of a model", () => {
  test("contains images if the model accepts them, and the provider's own options", async () => {
    const image = { type: "image", mediaType: "image/png", data: "aGk=" } as const;
    const messages = [{ role: "user", content: [image] }] as const;
    const calls: CallOptions[] = [];
    const providerOptions = { openai: { logprobs: true } };
    for (const version of ["v4", "v3"] as const) {
      const model = versions[version]!(async (call) => {
        calls.push(call);
        return four;
      });
      await aiSdkPolicy(model, { accepts: ["text", "image"], providerOptions }).act(actRequest({ messages }));
    }
    expect(calls[0]!.providerOptions).toEqual(providerOptions);
    expect(calls.map(({ prompt }) => prompt[0]!.content[0])).toEqual([
      { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
      { type: "file", mediaType: "image/png", data: "aGk=" },
    ]);
  });

  test("lacks the settings that are left out, and only these", async () => {
    const names = ["maxOutputTokens", "temperature", "topP", "topK", "seed", "stopSequences"] as const;
    const sampling = { temperature: 0.5, maxTokens: 9, topP: 0.9, topK: 4, stop: ["x"] };
    for (const omit of [[], ...names.map((name) => [name]), ["temperature", "seed"] as const, names]) {
      const model = new MockLanguageModelV4({ doGenerate: async () => four });
      await aiSdkPolicy(model, { omit }).act(actRequest({ sampling, seed: 3 }));
      const [call] = model.doGenerateCalls;
      const sent = names.filter((name) => Object.hasOwn(call!, name));
      expect(sent).toEqual(names.filter((name) => !(omit as readonly string[]).includes(name)));
    }
  });

  test("a refused setting is named with the option that leaves it out", async () => {
    const message = "Unsupported parameter: 'temperature' is not supported with this model.";
    const doGenerate = () => Promise.reject(api(400, { responseBody: JSON.stringify({ error: { message } }) }));
    const policy = aiSdkPolicy(new MockLanguageModelV4({ doGenerate }));
    await expect(policy.act(actRequest())).rejects.toMatchObject({
      code: "policy.rejected",
      hint: expect.stringContaining("-M omit=[temperature]"),
    });
  });

  test("names the tool of a result", async () => {
    const model = new MockLanguageModelV4({ doGenerate: async () => four });
    const messages = [
      textMessage("user", "2 + 2?"),
      { role: "assistant", content: [], toolCalls: [{ id: "c", name: "add", arguments: { a: 2 } }] },
      { role: "tool", toolCallId: "c", content: [{ type: "text", text: "4" }] },
    ] as const;
    await aiSdkPolicy(model).act(actRequest({ messages }));
    expect(model.doGenerateCalls[0]!.prompt.slice(1)).toEqual([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c", toolName: "add", input: { a: 2 } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c", toolName: "add", output: { type: "text", value: "4" } }],
      },
    ]);
  });

  test("cannot contain min-p", async () => {
    const { policy, calls } = inTurn(four);
    const sampling = { ...defaultSampling, minP: 0.1 };
    await expect(policy.act(actRequest({ sampling }))).rejects.toMatchObject({ code: "policy.unsupported-input" });
    expect(calls()).toBe(0);
  });
});

describe("a provider by name", () => {
  test("is the package with that name", async () => {
    const model = await providerModel("gateway", "openai/gpt-5-mini");
    expect(model).toMatchObject({ modelId: "openai/gpt-5-mini", provider: "gateway" });
  });

  test("follows no redirect, so a key cannot leak", async () => {
    const seen: unknown[] = [];
    await using other = await chatServer((_, index) => {
      seen.push(index);
      return { body: {} };
    });
    await using server = await chatServer(() => ({ status: 307, headers: { location: other.baseUrl }, body: "" }));
    const real = fetch;
    vi.stubGlobal("fetch", (_: unknown, init: RequestInit) => real(server.baseUrl, init));
    onTestFinished(() => void vi.unstubAllGlobals());
    for (const options of [{}, { apiKey: "planted-key-1" }]) {
      vi.stubEnv("AI_GATEWAY_API_KEY", "planted-key-2");
      onTestFinished(() => void vi.unstubAllEnvs());
      const model = await providerModel("gateway", "openai/gpt-5-mini", options);
      const policy = aiSdkPolicy(model, { maxRetries: 0 });
      await expect(policy.act(actRequest())).rejects.toThrow(/^(?!.*planted)/);
    }
    expect(server.requests.length).toBeGreaterThan(0);
    expect(seen).toEqual([]);
  });

  test("that repeats a secret of its options does not leak it into an error", async () => {
    const model = versions.v4!(async () => {
      throw Object.assign(new Error("no such account: planted-secret-1"), {
        name: "AI_APICallError",
        statusCode: 401,
        responseBody: "planted-secret-1 and planted-key-1",
      });
    });
    const providerOptions = { gateway: { clientSecret: "planted-secret-1" } };
    const policy = aiSdkPolicy(model, { maxRetries: 0, providerOptions, apiKey: "planted-key-1" });
    await expect(policy.act(actRequest())).rejects.toMatchObject({
      code: "policy.unauthorized",
      message: expect.not.stringContaining("planted"),
    });
  });

  test.each([
    ["mistral", "Run npm install @ai-sdk/mistral."],
    ["antropic", 'Did you mean "anthropic"? If not, run npm install @ai-sdk/antropic.'],
    ["my-own", "Run npm install @ai-sdk/my-own."],
  ])("that is not installed gives the package to install: %s", async (provider, hint) => {
    await expect(providerModel(provider, "m")).rejects.toMatchObject({
      code: "config.invalid",
      hint,
      data: { package: `@ai-sdk/${provider}` },
    });
  });
});

test("a part of an unknown type is told once, and its text kept, but not a source or the provider's own call", async () => {
  const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  const parts = [
    { type: "source", sourceType: "url", id: "1", url: "http://127.0.0.1" },
    { type: "tool-call", toolCallId: "1", toolName: "search", input: "{}", providerExecuted: true },
    { type: "tool-result", toolCallId: "1", toolName: "search", result: "41" },
    { type: "file", mediaType: "image/png", data: "" },
    { type: "something-new", text: "4" },
    { type: "text", text: "2" },
  ];
  const model = versions.v4!(async () => ({ ...generated({ text: "", finish: "stop" }), content: parts as never }));
  const policy = aiSdkPolicy(model);
  for (const { action } of [await policy.act(actRequest()), await policy.act(actRequest())]) {
    expect(action.message.content).toEqual([{ type: "text", text: "42" }]);
  }
  expect(warned.mock.calls.map(([message]) => /type "(.*?)"/.exec(String(message))?.[1])).toEqual([
    "file",
    "something-new",
  ]);
});
