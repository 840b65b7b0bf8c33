import { captureServer } from "../server/capture/index.ts";
import { type Message, textMessage, textOf } from "../src/contract/message.ts";
import type { Policy, PreviousTokens } from "../src/contract/policy.ts";
import type { Sampler } from "../src/contract/sampler.ts";
import { TokenPrefix } from "../src/contract/token-prefix.ts";
import { samplerPolicy } from "../src/core/policy/sampler-policy.ts";
import { median } from "../src/core/statistics.ts";
import { createByteRenderer } from "../src/core/tokens/byte-renderer.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";

/** The milliseconds that a call may take longer. */
const allowedMs = 2;
const turns = 16;
const conversations = 40;
const warmUp = 10;
/** Tokens of a question and of an answer. */
const questionLength = 400;
const answerLength = 100;

/**
 * Measures what the capture server adds to a call: the median time of a call by HTTP, from a client in the same process,
 * minus that of the same call of the policy itself. Both play conversations of 16 turns (8,000 tokens at the end) with a
 * sampler that answers at once, in turn. `capture/overhead-ms` is over all turns, `capture/overhead-last-ms` of the last
 * one, whose request has the whole conversation.
 */
export const capture: Benchmark = { prefix: "capture", run };

async function run(): Promise<BenchmarkResult[]> {
  const policy = instantPolicy();
  await using server = await captureServer();
  const direct: number[][] = [];
  const captured: number[][] = [];
  for (let index = 0; index < warmUp + conversations; index++) {
    await using session = server.open({ policy, seed: index });
    const times = await play(directCall(policy));
    const through = await play(capturedCall(server.url, session.id));
    if (session.calls().filter(({ tokens }) => tokens?.extendsPrevious).length !== turns - 1) {
      throw new Error("A call does not extend the tokens of the one before.");
    }
    if (index < warmUp) continue;
    direct.push(times);
    captured.push(through);
  }
  const added = (times: (all: number[][]) => number[]): number => median(times(captured)) - median(times(direct));
  return [
    { name: "capture/direct-ms", value: median(direct.flat()), unit: "ms" },
    { name: "capture/overhead-ms", value: added((all) => all.flat()), unit: "ms", baseline: allowedMs },
    {
      name: "capture/overhead-last-ms",
      value: added((all) => all.map((one) => one.at(-1)!)),
      unit: "ms",
      baseline: allowedMs,
    },
  ];
}

/** Answers with the next messages of a conversation. */
type Call = (messages: readonly Message[]) => Promise<Message>;

/** Returns the milliseconds of each turn. */
async function play(call: Call): Promise<number[]> {
  const messages: Message[] = [];
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    messages.push(textMessage("user", `${turn} `.repeat(questionLength).slice(0, questionLength)));
    const started = performance.now();
    const answer = await call(messages);
    times.push(performance.now() - started);
    messages.push(answer);
  }
  return times;
}

function directCall(policy: Policy): Call {
  let previous: PreviousTokens | undefined;
  const sampling = { temperature: 1, maxTokens: answerLength };
  return async (messages) => {
    const { action, tokens } = await policy.act({
      agent: "agent",
      messages: [...messages],
      sampling,
      seed: messages.length,
      ...(previous === undefined ? {} : { previous }),
    });
    const { newPromptIds, completionIds } = tokens!;
    const ids = (previous?.ids ?? TokenPrefix.empty).append(newPromptIds).append(completionIds);
    previous = { ids, messageCount: messages.length + 1 };
    return action.message;
  };
}

function capturedCall(url: string, key: string): Call {
  return async (messages) => {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "any",
        messages: messages.map((message) => ({ role: message.role, content: textOf(message) })),
        max_tokens: answerLength,
      }),
    });
    const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
    return textMessage("assistant", choices[0].message.content);
  };
}

/** A model that samples the same letters at once. */
function instantPolicy(): Policy {
  const ids = Array.from({ length: answerLength }, (_, index) => 97 + (index % 26));
  const logprobs = ids.map(() => -1);
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 1,
    sample: async function* (requests) {
      for (const request of requests.keys()) yield { request, ids, logprobs, finish: "length" };
    },
    close: async () => {},
  };
  return samplerPolicy({ name: "instant", sampler: () => sampler, renderer: createByteRenderer() });
}
