import { expect, test } from "vitest";
import { captureServer } from "../../../server/capture/index.ts";
import { randomBytesPolicy } from "./random-sampler.ts";
import { callsOf, scriptedBytes } from "./scripted-bytes.ts";

interface ChatBody {
  readonly choices: readonly [{ readonly message: { readonly content: string }; readonly finish_reason: string }];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

async function chat(url: string, key: string, body: unknown): Promise<{ status: number; body: ChatBody }> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as ChatBody };
}

test("a second turn extends the sampled ids of the first", async () => {
  const { policy, prompts } = randomBytesPolicy();
  await using server = await captureServer();
  await using session = server.open({ policy, seed: 5 });
  const messages = [{ role: "user", content: "hi" }];
  const first = await chat(server.url, session.id, { model: "any", messages });
  const answer = first.body.choices[0].message;
  const more = [...messages, { role: "assistant", ...answer }, { role: "user", content: "more" }];
  await chat(server.url, session.id, { model: "any", messages: more });
  const [one, two] = session.calls();
  const ids = [...one!.promptIds!, ...one!.tokens!.completionIds];
  expect(two).toMatchObject({ continues: 0, tokens: { extendsPrevious: true } });
  expect(two!.promptIds!.slice(0, ids.length)).toEqual(ids);
  expect(prompts).toEqual([one!.promptIds, two!.promptIds]);
  expect(first.body.usage).toMatchObject({
    prompt_tokens: one!.promptIds!.length,
    completion_tokens: one!.tokens!.completionIds.length,
  });
});

test("white space around an answer and the spelling of its arguments may change", async () => {
  const { policy } = scriptedBytes([callsOf("  I look. \n", ["look", { b: 1, a: 2 }]), "Seen.", "Seen."]);
  await using server = await captureServer();
  await using session = server.open({ policy });
  const messages = [{ role: "user", content: " hi " }];
  await chat(server.url, session.id, { messages });
  const call = { id: "mine", type: "function", function: { name: "look", arguments: '{ "a": 2, "b": 1 }' } };
  const answer = { role: "assistant", content: "I look.", tool_calls: [call] };
  const result = { role: "tool", tool_call_id: "mine", content: "a sword" };
  await chat(server.url, session.id, { messages: [...messages, answer, result] });
  const [one, two] = session.calls();
  expect(two).toMatchObject({ continues: 0, tokens: { extendsPrevious: true } });
  const ids = [...one!.promptIds!, ...one!.tokens!.completionIds];
  expect(two!.promptIds!.slice(0, ids.length)).toEqual(ids);
  await chat(server.url, session.id, { messages: [{ role: "user", content: "hi" }, answer, result] });
  expect(session.calls()[2]!.continues).toBeUndefined();
});

test("an altered answer begins a new branch", async () => {
  const { policy } = randomBytesPolicy();
  await using server = await captureServer();
  await using session = server.open({ policy });
  const messages = [{ role: "user", content: "hi" }];
  await chat(server.url, session.id, { messages });
  await chat(server.url, session.id, {
    messages: [...messages, { role: "assistant", content: "altered" }, { role: "user", content: "more" }],
  });
  expect(session.calls()[1]!.continues).toBeUndefined();
  expect(session.calls()[1]!.tokens!.extendsPrevious).toBe(false);
});

test("a session's temperature decides the whole distribution, other settings replace one by one", async () => {
  const { policy } = randomBytesPolicy();
  await using server = await captureServer();
  const used = async (sampling: object) => {
    await using session = server.open({ policy, sampling });
    const asked = { temperature: 0.3, top_p: 0.5, top_k: 4, min_p: 0.1, max_tokens: 9, stop: "x" };
    await chat(server.url, session.id, { messages: [{ role: "user", content: "hi" }], ...asked });
    const [call] = session.calls();
    expect(call!.tokens!.sampling).toEqual(call!.sampling);
    return call!.sampling;
  };
  expect(await used({})).toEqual({ temperature: 0.3, topP: 0.5, topK: 4, minP: 0.1, maxTokens: 9, stop: ["x"] });
  expect(await used({ temperature: 1, maxTokens: 5, stop: ["y"] })).toEqual({
    ...{ temperature: 1, maxTokens: 5, stop: ["x", "y"] },
  });
  expect(await used({ topK: 2 })).toMatchObject({ temperature: 0.3, topK: 2, topP: 0.5 });
});

test("a wrong key is refused", async () => {
  const { policy } = randomBytesPolicy();
  await using server = await captureServer();
  await using session = server.open({ policy });
  const { status } = await chat(server.url, `${session.id.slice(0, -1)}!`, {
    messages: [{ role: "user", content: "" }],
  });
  expect(status).toBe(401);
  expect(session.calls()).toEqual([]);
});
