import { describe, expect, it } from "vitest";
import { openAICompatiblePolicy } from "../../src/core/policy/openai-compatible/openai-compatible-policy.ts";
import { evaluate } from "../../src/evaluation/evaluate.ts";
import { readSummary } from "../../src/evaluation/log/read-log.ts";
import { type ChatAnswer, chatServer, completion } from "../core/policy/chat-server.ts";
import { answers, temporaryFolder } from "./answer-environment.ts";

const openai = (message: string) => ({ error: { message, type: "invalid_request_error" } });
const unknownField: ChatAnswer = { status: 400, body: openai("Unknown parameter: 'moderation'.") };
const unknownModel: ChatAnswer = { status: 404, body: openai("The model `m` does not exist") };
const flagged: ChatAnswer = { status: 400, body: openai("Your prompt was flagged by moderation.") };
const tooMany: ChatAnswer = { status: 400, body: openai("max_tokens is too large: 9. It supports at most 8.") };

/** Evaluates 12 tasks, one at a time. Returns how the run ended, its counts and the number of requests. */
async function evaluated(answer: (index: number) => ChatAnswer) {
  await using server = await chatServer((_, index) => answer(index));
  const folder = await temporaryFolder();
  const events = evaluate({
    environment: answers(Array.from({ length: 12 }, (_, n) => ({ n }))),
    policies: openAICompatiblePolicy({ baseUrl: server.baseUrl, model: "m" }),
    concurrency: 1,
    folder,
  });
  const error = await Array.fromAsync(events).then(
    () => undefined,
    (thrown) => thrown,
  );
  const { counts } = await readSummary(folder);
  return { error, counts, requests: server.requests.length };
}

describe("what the configuration causes ends a run", () => {
  it.each([
    ["an unknown field", unknownField, /Unknown parameter.*/, /No further requests.*--output/],
    ["an unknown model", unknownModel, /does not exist/, /serves the model "m".*--retry-failed/],
    ["too many tokens of an answer", tooMany, /too large/, /lower --max-tokens/],
  ])("%s", async (_, answer, message, hint) => {
    const { error, counts, requests } = await evaluated(() => answer);
    expect(error).toMatchObject({ code: "policy.rejected" });
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
    // The fourth begins when the third ends.
    expect(requests).toBeLessThanOrEqual(4);
    expect(counts).toMatchObject({ scored: 0, correct: 0 });
  });
});

describe("what a prompt causes does not end a run", () => {
  it.each([
    ["a flagged prompt, each time", () => flagged, 0],
    ["an unknown field after an answer", (index: number) => (index === 0 ? completion("1") : unknownField), 1],
    ["two unknown models", (index: number) => (index < 2 ? unknownModel : completion("1")), 10],
  ])("%s", async (_, answer, scored) => {
    const { error, counts, requests } = await evaluated(answer);
    expect(error).toBeUndefined();
    expect(requests).toBe(12);
    expect(counts).toMatchObject({ played: 12, scored, unscored: 12 - scored, failed: 12 - scored });
  });
});
