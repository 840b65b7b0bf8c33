import { describe, expect, test } from "vitest";
import { captureServer } from "../../../server/capture/index.ts";
import { type Message, textMessage } from "../../../src/contract/message.ts";
import type { Policy } from "../../../src/contract/policy.ts";
import { samplerPolicy } from "../../../src/core/policy/sampler-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { characterRenderer } from "../../core/rollout/character-renderer.ts";
import { seededSampler } from "../../core/rollout/seeded-sampler.ts";
import { ask } from "./plain-client.ts";
import { randomBytesPolicy } from "./random-sampler.ts";
import { callsOf, scriptedBytes } from "./scripted-bytes.ts";

const adminKey = "admin";

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the body has the form of the route.
  readonly body: any;
}

async function call(url: string, key: string, body?: object, method = body === undefined ? "GET" : "POST") {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() } as Answer;
}

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
const user = (content: string) => ({ role: "user", content });

describe("a session that is opened by HTTP", () => {
  test("has the routes and records of OpenEnv's capture server", async () => {
    const { policy } = scriptedBytes(["", callsOf("", ["look", {}]), "other", "A sword.", "A title"]);
    await using server = await captureServer({ adminKey, policy });
    const opened = await call(`${server.url}/sessions`, adminKey, {
      metadata: { task: "cave", max_output_tokens: 40 },
      // As OpenEnv's trainers send it.
      sampling: { temperature: 0.7, top_p: 1, top_k: -1, min_p: 0, frequency_penalty: 0, repetition_penalty: 1 },
      max_model_calls: 9,
    });
    const { session_id: id } = opened.body;
    expect(opened.body).toEqual({
      ...{ session_id: id, capture_level: "tokens", rollout_type: "train", max_model_calls: 9 },
      ...{ llm_url: "", model: "scripted-bytes" },
    });
    const chat = (messages: readonly object[], more: object = {}) =>
      call(`${server.url}/v1/chat/completions`, id, { model: "m", messages, max_tokens: 99, ...more });
    const first = await chat([user("hi")], { tools, temperature: 0.2, top_p: 0.9 });
    const { message } = first.body.choices[0];
    // The client asks again, drops that answer and goes on with the first one.
    await chat([user("hi")], { tools });
    const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "a sword" };
    await chat([user("hi"), message, result], { tools });
    await chat([user("title?")]);

    const { body: status } = await call(`${server.url}/sessions/${id}`, adminKey);
    expect(status).toMatchObject({ n_turns: 4, n_roots: 3, n_leaves: 3, n_forks: 0, n_discarded: 1 });
    const { body: list } = await call(`${server.url}/sessions`, adminKey);
    expect(list.sessions).toEqual([expect.objectContaining({ session_id: id, turns: 4, roots: 3, task: "cave" })]);

    const { body: traced } = await call(`${server.url}/sessions/${id}/trace_entries`, adminKey);
    expect(traced.entries).toHaveLength(2);
    const [one, two] = traced.entries;
    expect(one).toEqual({
      request: { messages: [user("hi")], tools: [expect.objectContaining({ type: "function" })] },
      response: { choices: [{ message: { role: "assistant", ...message }, finish_reason: "tool_calls" }] },
      prompt_token_ids: expect.any(Array),
      completion_token_ids: expect.any(Array),
      per_token_logps: one.completion_token_ids.map((_: number, index: number) => -index / 8 || 0),
      loss_mask: [...one.prompt_token_ids.map(() => 0), ...one.completion_token_ids.map(() => 1)],
      metadata: {
        ...{ node_id: expect.any(String), index: 0, parent: null, rerendered: false, weights_version: 7 },
        ...{ model: "m", n_tools: 1, harness_session_id: null },
        sampling_params: { temperature: 0.7, max_tokens: 40 },
        requested_sampling_params: { temperature: 0.2, top_p: 0.9, max_tokens: 99 },
      },
    });
    expect(two.metadata).toMatchObject({ parent: one.metadata.node_id, index: 2 });
    const ids = [...one.prompt_token_ids, ...one.completion_token_ids];
    expect(two.prompt_token_ids.slice(0, ids.length)).toEqual(ids);

    const { body: rollout } = await call(`${server.url}/sessions/${id}/rollout`, adminKey);
    expect(rollout).toMatchObject({ trainable: true, rollout_type: "train", metadata: { task: "cave" } });
    expect(rollout.sequences.map(({ role }: { role: string }) => role)).toEqual(["agent", "auxiliary"]);
    const [row] = rollout.sequences;
    expect(row.input_ids).toEqual([...two.prompt_token_ids, ...two.completion_token_ids]);
    expect(row.turn_lengths).toEqual([one, two].map((entry) => entry.completion_token_ids.length));
    expect(row.loss_mask).toHaveLength(row.input_ids.length);
    expect(row.loss_mask.filter((value: number) => value === 1)).toHaveLength(row.n_trainable);
    expect(rollout.turns[0].request_messages).toBeUndefined();
    const all = await call(`${server.url}/sessions/${id}/rollout?include_discarded=true&include_messages=1`, adminKey);
    expect(all.body.sequences).toHaveLength(3);
    expect(all.body.turns[0].request_messages).toEqual([user("hi")]);

    expect((await call(`${server.url}/sessions/${id}`, adminKey, undefined, "DELETE")).body).toEqual({ deleted: true });
    expect((await chat([user("hi")])).status).toBe(401);
    expect((await call(`${server.url}/sessions/${id}/rollout`, adminKey)).status).toBe(404);
  });

  test("is refused if its model cannot be trained on, or if it names another model", async () => {
    await using server = await captureServer({ adminKey, policy: scriptedPolicy(() => "text") });
    const open = (body: object) => call(`${server.url}/sessions`, adminKey, body);
    expect((await open({ purpose: "train" })).body.error.message).toContain("only text");
    expect((await open({ llm_url: "http://10.0.0.1/v1" })).status).toBe(400);
    expect((await open({ sampling: { temperature: -1 } })).status).toBe(400);
    expect((await open({ session_id: "../x" })).status).toBe(400);
    const { session_id, ...session } = (await open({})).body;
    expect(session).toMatchObject({ capture_level: "text", rollout_type: "eval" });
    const messages = [{ role: "user", text: "hi" }] as const;
    expect((await ask({ url: server.url, key: session_id, protocol: "chat", messages })).text).toBe("text");
    expect((await call(`${server.url}/sessions/${session_id}/trace_entries`, adminKey)).status).toBe(409);
    const { body } = await call(`${server.url}/sessions/${session_id}/rollout`, adminKey);
    expect(body).toMatchObject({ trainable: false, rollout_type: "eval", stats: { n_turns: 1 } });
  });

  test("is closed when another one opens after its idle time", async () => {
    await using server = await captureServer({ adminKey, policy: scriptedPolicy(() => "text"), idleMs: -1 });
    const own = server.open({ policy: scriptedPolicy(() => "text") });
    const open = () => call(`${server.url}/sessions`, adminKey, {});
    const first = (await open()).body.session_id;
    const second = (await open()).body.session_id;
    const { body } = await call(`${server.url}/sessions`, adminKey);
    const ids = body.sessions.map(({ session_id }: { session_id: string }) => session_id);
    expect(ids).toEqual([own.id, second]);
    expect(ids).not.toContain(first);
  });
});

test("a call says so if the template renders earlier turns again, and begins another sequence", async () => {
  const sampler = seededSampler();
  const renderer = characterRenderer(() => true);
  const policy: Policy = samplerPolicy({ name: "broken", sampler: () => sampler, renderer });
  await using server = await captureServer({ adminKey });
  await using session = server.open({ policy });
  const messages = [{ role: "user", text: "hi" }] as const;
  const asked = { url: server.url, key: session.id, protocol: "chat" } as const;
  const { text } = await ask({ ...asked, messages });
  await ask({ ...asked, messages: [...messages, { role: "assistant", text }, { role: "user", text: "on" }] });
  const [one, two] = session.calls();
  const conversation: Message[] = [textMessage("user", "hi"), one!.action.message, textMessage("user", "on")];
  expect(two).toMatchObject({ continues: 0, rerendered: true, tokens: { extendsPrevious: false } });
  expect(two!.promptIds).toEqual(renderer.start({ messages: conversation }));
  const { body } = await call(`${server.url}/sessions/${session.id}/rollout`, adminKey);
  expect(body.stats).toMatchObject({ n_roots: 2, n_sequences: 2, n_trainable_sequences: 2 });
  expect(body.validation[0]).toMatch(/rerendered: .*\(1\)/);
  const rows = body.sequences.map(({ input_ids }: { input_ids: number[] }) => input_ids);
  expect(rows[0]).toEqual([...one!.promptIds!, ...one!.tokens!.completionIds]);
});

test("models, token counts and health are answered and not recorded", async () => {
  const { policy } = randomBytesPolicy();
  await using server = await captureServer({ adminKey });
  await using session = server.open({ policy });
  const { body: models } = await call(`${server.url}/v1/models`, session.id);
  expect(models.data).toEqual([expect.objectContaining({ id: "bytes", object: "model", type: "model" })]);
  const counted = { model: "m", system: "s".repeat(20), messages: [user("u".repeat(20))] };
  const { body: count } = await call(`${server.url}/v1/messages/count_tokens`, session.id, counted);
  expect(count.input_tokens).toBeGreaterThanOrEqual(10);
  expect(count.input_tokens).toBeLessThan(20);
  expect((await call(`${server.url}/health`, "")).body).toEqual({ status: "ok", sessions: 1 });
  expect(session.calls()).toEqual([]);
});
