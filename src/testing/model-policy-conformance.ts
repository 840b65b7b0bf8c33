import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { type Message, type ToolSpec, textMessage, textOf } from "../contract/message.ts";
import type { ActRequest, Policy } from "../contract/policy.ts";
import { defaultSampling } from "../contract/sampler.ts";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";
import { defineEnvironment } from "../core/environment/define-environment.ts";
import { rolloutEpisode } from "../core/rollout/rollout-episode.ts";
import { policyConformance, withoutStrayRejections } from "./policy-conformance.ts";

/** A request as the model behind a policy received it, in one form for all protocols. */
export interface ModelRequest {
  /** The text of each message. */
  readonly texts: readonly string[];
  /** The names of the tools. */
  readonly tools: readonly string[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed: number;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
}

/** The answer of the model behind a policy. For `never`, the model does not answer. */
export type ModelAnswer =
  | {
      readonly text: string;
      readonly finish: "stop" | "length" | "tool-calls";
      readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
    }
  | "never";

/** A policy of a model under test. */
export interface ModelPolicySubject extends AsyncDisposable {
  readonly policy: Policy;
  /** The number of requests that were aborted at the model. */
  readonly aborted: () => number;
}

/** Opens a policy whose model answers as `answer` says. The model reports 11 prompt tokens and 2 completion tokens. */
export type OpenModelPolicy = (answer: (request: ModelRequest) => ModelAnswer) => Promise<ModelPolicySubject>;

const tools: readonly ToolSpec[] = [
  {
    name: "add",
    description: "Adds.",
    parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  },
];

function actRequest(options: Partial<ActRequest> = {}): ActRequest {
  const messages = [textMessage("system", "Be short."), textMessage("user", "Twice 2?")];
  return { agent: "agent", messages, sampling: defaultSampling, seed: 1, ...options };
}

const four = (): ModelAnswer => ({ text: "4", finish: "stop" });

/**
 * The conformance suite of a policy that asks a model, such as one behind a server. It has the cases of
 * {@link policyConformance} too. `open` connects the policy to a model whose answers the suite chooses, such as a
 * server in the same process.
 *
 * @example
 * import { openAICompatiblePolicy } from "lyceum";
 * import { type ModelRequest, type ModelAnswer, modelPolicyConformance } from "lyceum/testing";
 * declare function startServer(answer: (request: ModelRequest) => ModelAnswer): Promise<{
 *   readonly url: string; readonly aborted: () => number; close(): Promise<void>;
 * }>;
 * const cases = modelPolicyConformance(async (answer) => {
 *   const { url, aborted, close } = await startServer(answer);
 *   const policy = openAICompatiblePolicy({ baseUrl: url, model: "m" });
 *   return { policy, aborted, [Symbol.asyncDispose]: close };
 * });
 * // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function modelPolicyConformance(open: OpenModelPolicy): ConformanceCase[] {
  const opened = async (answer: (request: ModelRequest) => ModelAnswer) => {
    const asked: ModelRequest[] = [];
    const subject = await open((request) => {
      asked.push(request);
      return answer(request);
    });
    const { policy, aborted } = subject;
    return { policy, aborted, asked, [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose]() };
  };
  const cases = conformanceCases(() => ({}), {
    "answers as an assistant, to the whole conversation": async () => {
      await using subject = await opened(four);
      const { action } = await subject.policy.act(actRequest());
      assert.deepEqual(action, { message: textMessage("assistant", "4"), finish: "stop" });
      assert.deepEqual(
        subject.asked.map(({ texts }) => texts),
        [["Be short.", "Twice 2?"]],
      );
    },
    "distinguishes a truncated answer from a finished one": async () => {
      await using subject = await opened(() => ({ text: "Let me", finish: "length" }));
      assert.equal((await subject.policy.act(actRequest())).action.finish, "length");
    },
    "cuts an answer before a stop sequence that its server kept": async () => {
      await using subject = await opened(() => ({ text: "4\n\nEND 5\n", finish: "stop" }));
      const sampling = { ...defaultSampling, stop: ["END", "\n\n", "6"] };
      assert.equal(textOf((await subject.policy.act(actRequest({ sampling }))).action.message), "4");
    },
    "passes on the sampling settings": async () => {
      await using subject = await opened(four);
      const { policy, asked } = subject;
      const sampling = { temperature: 0.25, maxTokens: 7, topP: 0.5, topK: 3, stop: ["\n", "END"] };
      await policy.act(actRequest({ sampling, seed: 2 ** 52 + 5 }));
      await policy.act(actRequest({ sampling: { temperature: 0, maxTokens: 9 }, seed: 2 ** 52 + 5 }));
      await policy.act(actRequest({ seed: 6 }));
      assert.partialDeepStrictEqual(asked[0], sampling);
      assert.partialDeepStrictEqual(asked[1], { temperature: 0, maxTokens: 9 });
      for (const key of ["topP", "topK", "stop"] as const) assert.equal(asked[1]![key], undefined);
      const seeds = asked.map(({ seed }) => seed);
      assert.ok(
        seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 31),
        `seeds are ${seeds.join(", ")}`,
      );
      assert.equal(seeds[0], seeds[1]);
      assert.notEqual(seeds[2], seeds[0]);
    },
    "lists tools, and returns calls without executing them": async () => {
      const toolCalls = [
        { id: "c1", name: "add", arguments: '{"a": 2}' },
        { id: "c2", name: "add", arguments: "" },
      ];
      await using subject = await opened((request) =>
        request.tools.length === 0 ? four() : { text: "Adding.", finish: "tool-calls", toolCalls },
      );
      const { policy, asked } = subject;
      const { action } = await policy.act(actRequest({ tools }));
      assert.deepEqual(asked[0]!.tools, ["add"]);
      assert.deepEqual(action, {
        message: {
          role: "assistant",
          content: [{ type: "text", text: "Adding." }],
          toolCalls: [
            { id: "c1", name: "add", arguments: { a: 2 } },
            { id: "c2", name: "add", arguments: {} },
          ],
        },
        finish: "tool-calls",
      });
      const results: readonly Message[] = [2, 0].map((sum, index) => ({
        role: "tool",
        toolCallId: `c${index + 1}`,
        content: [{ type: "text", text: String(sum) }],
      }));
      const messages = [...actRequest().messages, action.message, ...results];
      assert.equal(textOf((await policy.act(actRequest({ messages }))).action.message), "4");
      assert.deepEqual(asked[1]!.texts, ["Be short.", "Twice 2?", "Adding.", "2", "0"]);
    },
    "reports a call that is not JSON as a parse error": async () => {
      const toolCalls = [{ id: "c1", name: "add", arguments: '{"a": ' }];
      await using subject = await opened(() => ({ text: "", finish: "tool-calls", toolCalls }));
      const { action } = await subject.policy.act(actRequest({ tools }));
      assert.deepEqual(
        action.parseErrors?.map(({ text, message }) => [text, message.includes("add")]),
        [['{"a": ', true]],
      );
      assert.deepEqual(action.message.toolCalls ?? [], []);
    },
    "stops an aborted request, and answers the others": async () => {
      await using subject = await opened(({ texts }) => (texts.includes("never") ? "never" : four()));
      const { policy, asked, aborted } = subject;
      const controller = new AbortController();
      const messages = [textMessage("user", "never")];
      const stopped = policy.act(actRequest({ messages, signal: controller.signal }));
      const other = policy.act(actRequest());
      while (asked.length < 2) await setImmediate();
      const reason = new Error("stopped");
      controller.abort(reason);
      await assert.rejects(stopped, (error) => error === reason);
      assert.equal((await other).action.finish, "stop");
      while (aborted() < 1) await setImmediate();
      assert.equal(aborted(), 1);
    },
    "refuses an environment's images before any request, if it does not accept them": async () => {
      await using subject = await opened(four);
      const { policy, asked } = subject;
      if (policy.accepts.includes("image")) return;
      const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
      const gallery = defineEnvironment({
        id: "gallery",
        tasks: [1],
        maxTurns: 1,
        reset: () => ({ prompt: [{ role: "user", content: [image] }], state: {} }),
        step: () => ({ reward: 0 }),
      });
      const task = await (await gallery.tasks("train")).get(0);
      const episode = await rolloutEpisode({ environment: gallery, task, policies: policy, seed: 1 });
      assert.equal(episode.status, "failed");
      assert.equal(episode.error?.code, "policy.unsupported-input");
      assert.equal(episode.agents.agent!.reward.status, "unscored");
      assert.deepEqual(asked, []);
    },
    "sends no request for an action that is already aborted": async () => {
      await using subject = await opened(four);
      await assert.rejects(subject.policy.act(actRequest({ signal: AbortSignal.abort() })));
      assert.deepEqual(subject.asked, []);
    },
    "reports the usage of each action": async () => {
      await using subject = await opened(four);
      const { usage, latencyMs, retries } = await subject.policy.act(actRequest());
      assert.partialDeepStrictEqual(usage, { promptTokens: 11, completionTokens: 2 });
      assert.ok(latencyMs! >= 0, `latencyMs is ${latencyMs}`);
      assert.equal(retries, undefined);
    },
  });
  const request = actRequest();
  const asAny = policyConformance(async () => {
    const subject = await open(four);
    return { policy: subject.policy, request, [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose]() };
  });
  return [...asAny, ...withoutStrayRejections(cases)];
}
