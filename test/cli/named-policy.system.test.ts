import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { openNamedPolicy } from "../../cli/named-policy.ts";
import { createSharedEngine } from "../../cli/shared-engine.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { ActRequest } from "../../src/contract/policy.ts";
import { defaultSampling } from "../../src/contract/sampler.ts";
import { chatServer, completion } from "../core/policy/chat-server.ts";
import { asTextAnswer } from "../core/policy/text-answer.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = temporaryFolder();
});
afterEach(() => void vi.unstubAllEnvs());

const engine = createSharedEngine({
  catalog: {
    createBackend: () => Promise.reject(new Error("No engine is needed here.")),
    createTinkerBackend: () => Promise.reject(new Error("No engine is needed here.")),
  },
  engine: { type: "onnx", device: "cpu" },
});

async function say(
  name: Parameters<typeof openNamedPolicy>[0],
  options: Partial<Parameters<typeof openNamedPolicy>[1]> = {},
): Promise<string> {
  await using opened = await openNamedPolicy(name, { engine, ...options });
  const request: ActRequest = {
    agent: "agent",
    messages: [textMessage("user", "Twice 2?")],
    sampling: defaultSampling,
    seed: 1,
  };
  return textOf((await opened.policy.act(request)).action.message);
}

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

describe("a script", () => {
  test("is a list, a function or a policy", async () => {
    expect(await say(`scripted:${await file("list.json", '["4"]')}`)).toBe("4");
    expect(await say(`scripted:${await file("list.mjs", 'export default ["5"];')}`)).toBe("5");
    const echo = "export default ({ messages }) => messages.at(-1).content[0].text;";
    expect(await say(`scripted:${await file("function.ts", echo)}`)).toBe("Twice 2?");
    const policy =
      'export default { name: "p", accepts: ["text"], act: async () => ({ action: { message: { role: "assistant", content: [{ type: "text", text: "6" }] }, finish: "stop" } }) };';
    expect(await say(`scripted:${await file("policy.mjs", policy)}`)).toBe("6");
  });

  test.each([
    ["missing.json", undefined, "data.not-found"],
    ["missing.ts", undefined, "data.not-found"],
    ["torn.json", '["4"', "data.malformed"],
    ["numbers.json", "[1, 2]", "data.malformed"],
    ["nothing.mjs", "export const answer = 4;", "data.malformed"],
    ["throws.mjs", 'throw new Error("no");', "data.malformed"],
    ["imports.mjs", 'import "./nowhere.mjs";', "data.malformed"],
  ])("that cannot be is refused: %s", async (name, text, code) => {
    const path = text === undefined ? join(folder, name) : await file(name, text);
    await expect(say(`scripted:${path}`)).rejects.toMatchObject({ code, message: expect.stringContaining(path) });
  });
});

describe("a server", () => {
  const listing = (...data: readonly object[]) =>
    chatServer((request) => (request.messages === undefined ? { body: { object: "list", data } } : completion("4")));

  test("of one model needs no name, and returns what it supports", async () => {
    await using server = await listing({ id: "org/only", owned_by: "vllm" });
    vi.stubEnv("LYCEUM_API_KEY", "k");
    expect(await say(server.baseUrl)).toBe("4");
    const [list, chat] = server.requests;
    expect(list!.headers).toMatchObject({ authorization: "Bearer k" });
    expect(chat!.headers).toMatchObject({ authorization: "Bearer k" });
    expect(chat!.body).toMatchObject({ model: "org/only", logprobs: true, return_token_ids: true });
  });

  test.each([
    "vllm",
    "sglang",
    "llamacpp",
  ])("of %s may answer without log-probabilities, unless they were asked for", async (ownedBy) => {
    await using server = await listing({ id: "m", owned_by: ownedBy });
    const { baseUrl } = server;
    expect(await say(baseUrl)).toBe("4");
    expect(server.requests.at(-1)!.body).toMatchObject({ logprobs: true });
    for (const asked of [{ logprobs: true }, { tokenIds: true }]) {
      await expect(say({ model: "m", baseUrl, ...asked })).rejects.toMatchObject({ code: "policy.rejected" });
    }
    expect(await say({ model: "m", baseUrl, logprobs: false })).toBe("4");
    expect(server.requests.at(-1)!.body).not.toHaveProperty("logprobs");
  });

  test("of another kind gets only standard requests", async () => {
    await using server = await listing({ id: "a", owned_by: "library" }, { id: "b" });
    expect(await say(`${server.baseUrl}#a`)).toBe("4");
    expect(server.requests[1]!.body).not.toHaveProperty("logprobs");
  });

  test("need not list its models if one is named", async () => {
    await using server = await chatServer((request) =>
      request.messages === undefined ? { status: 404, body: "" } : completion("4"),
    );
    expect(await say(`openai-compatible:${server.baseUrl}#m`)).toBe("4");
    await expect(say(server.baseUrl)).rejects.toMatchObject({ code: "policy.rejected" });
  });

  test("continues the text of a prompt at its completions endpoint by default", async () => {
    await using server = await chatServer((request) => {
      if (request.messages !== undefined) return completion("by chat");
      return request.prompt === undefined ? { body: { data: [] } } : asTextAnswer(completion(String(request.prompt)));
    });
    const name = `${server.baseUrl}#m`;
    expect(await say(name, { completion: true })).toBe("Twice 2?");
    expect(await say({ model: name, endpoint: "chat" }, { completion: true })).toBe("by chat");
    expect(await say({ model: name, endpoint: "completions" })).toBe("Twice 2?");
  });

  test("is used as a policy file says, with keys from environment variables", async () => {
    await using server = await listing({ id: "other", owned_by: "vllm" }, { id: "llama3.2:1b#x", owned_by: "vllm" });
    vi.stubEnv("LYCEUM_API_KEY", "not this one");
    vi.stubEnv("GATEWAY_KEY", "k1");
    vi.stubEnv("GATEWAY_TEAM", "k2");
    const path = await file(
      "served.yaml",
      [
        `model: "llama3.2:1b#x"`,
        "name: small",
        `baseUrl: ${server.baseUrl}`,
        "apiKeyVariable: GATEWAY_KEY",
        "headers: { x-seat: a }",
        "headerVariables: { x-team: GATEWAY_TEAM }",
        "logprobs: false",
        "extraBody: { chat_template_kwargs: { enable_thinking: false } }",
      ].join("\n"),
    );
    await using opened = await openNamedPolicy(path, { engine });
    expect(opened.policy.name).toBe("small");
    expect(await say(path)).toBe("4");
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ authorization: "Bearer k1", "x-seat": "a", "x-team": "k2" });
    }
    const { body } = server.requests.at(-1)!;
    expect(body).toMatchObject({ model: "llama3.2:1b#x", chat_template_kwargs: { enable_thinking: false } });
    expect(body).not.toHaveProperty("logprobs");
    expect(body).not.toHaveProperty("return_token_ids");

    vi.stubEnv("GATEWAY_TEAM", "");
    await expect(say(path)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("GATEWAY_TEAM is not set"),
    });
    vi.stubEnv("GATEWAY_TEAM", "secret-with-a-line-end\n");
    const refused = await say(path).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "config.invalid", message: 'The header "x-team" is invalid.' });
    expect(JSON.stringify(refused)).not.toContain("secret");
  });

  test("is used within the limits of its settings", async () => {
    await using server = await chatServer(({ messages }) =>
      messages === undefined ? { body: { data: [] } } : { status: 500, body: "" },
    );
    const settings = { model: "m", baseUrl: server.baseUrl, maxRetries: 2, retryDelayMs: 1 };
    await expect(say(settings)).rejects.toMatchObject({ message: expect.stringContaining("of 3 tries") });
    expect(server.requests).toHaveLength(4);
  });

  test("with several models, without models, or that is unreachable, is reported", async () => {
    await using several = await listing({ id: "a" }, { id: "b" });
    await expect(say(several.baseUrl)).rejects.toMatchObject({
      code: "config.invalid",
      hint: expect.stringContaining(`${several.baseUrl}#a`),
    });
    await using none = await listing();
    await expect(say(none.baseUrl)).rejects.toMatchObject({ code: "config.invalid" });
    await using liar = await chatServer(() => ({ body: { data: [{}] } }));
    await expect(say(liar.baseUrl)).rejects.toMatchObject({ code: "policy.unavailable" });
    const gone = liar.baseUrl;
    await liar[Symbol.asyncDispose]();
    await expect(say(gone)).rejects.toMatchObject({ code: "policy.unavailable", data: { reason: "network" } });
  });
});

test.each([
  ["my-own:model", "config.invalid", /npm install @ai-sdk\/my-own/],
  ["transformers:org/name", "config.invalid", /npm install @huggingface\/transformers/],
  ["demonstration", "policy.unsupported-input", /demonstrate/],
  ["replay:/nowhere.jsonl", "data.not-found", /./],
  ["transformers:org/name#q5", "config.unknown-name", /q4f16/],
])("%s cannot be opened here, and says why", async (name, code, hint) => {
  await expect(say(name)).rejects.toMatchObject({ code, hint: expect.stringMatching(hint) });
});

describe("a model of the AI SDK", () => {
  const answer = {
    content: [{ type: "text", text: "4" }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    warnings: [],
  };

  test("uses the key of the variable that its settings name", async () => {
    const asked: { readonly url: string; readonly headers: Headers }[] = [];
    vi.stubGlobal("fetch", async (url: unknown, init: RequestInit) => {
      asked.push({ url: String(url), headers: new Headers(init.headers) });
      return new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubEnv("TEAM_KEY", "k-of-the-team");
    vi.stubEnv("AI_GATEWAY_API_KEY", "another");
    const settings = { model: "gateway:openai/gpt-5-mini", apiKeyVariable: "TEAM_KEY" };
    expect(await say(settings)).toBe("4");
    expect(asked[0]!.headers.get("authorization")).toBe("Bearer k-of-the-team");
    vi.stubEnv("TEAM_KEY", "");
    await expect(say(settings)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("TEAM_KEY is not set"),
    });
  });

  test("without a key names the variable to set, before its package is loaded", async () => {
    vi.stubEnv("MISTRAL_API_KEY", "");
    await expect(say("mistral:mistral-small-latest")).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringContaining("MISTRAL_API_KEY"),
    });
    vi.stubEnv("MISTRAL_API_KEY", "k");
    const refused = await say("mistral:mistral-small-latest").catch((error: unknown) => error);
    expect(refused).toMatchObject({ hint: "Run npm install @ai-sdk/mistral." });
  });

  test("of a provider without a package shows its address", async () => {
    await expect(say("dashscope:qwen-max")).rejects.toMatchObject({
      hint: expect.stringContaining("https://dashscope.aliyuncs.com/compatible-mode/v1#qwen-max"),
    });
  });
});

test("for the bare name of a provider's model, the error suggests the full name", async () => {
  await expect(say("deepseek-coder")).rejects.toMatchObject({
    code: "config.invalid",
    hint: expect.stringContaining("deepseek:deepseek-coder"),
  });
});

test("a model uses its own sampling settings", async () => {
  await using server = await chatServer(({ messages }) =>
    messages === undefined ? { body: { data: [] } } : completion("4"),
  );
  const own = { model: "m", baseUrl: server.baseUrl, sampling: { temperature: 0.2, maxTokens: 4096 } };
  expect(await say(own)).toBe("4");
  expect(server.requests.at(-1)!.body).toMatchObject({ temperature: 0.2, max_tokens: 4096 });
});
