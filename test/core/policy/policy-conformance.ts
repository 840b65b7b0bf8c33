import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Message, type ToolSpec, textMessage, textOf } from "../../../src/contract/message.ts";
import { messageProblem } from "../../../src/contract/message-problem.ts";
import type { ActRequest, Policy } from "../../../src/contract/policy.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { actRequest } from "./act-request.ts";

/** A request as the model behind a policy received it, whatever the protocol. */
export interface Asked {
  /** The text of each message. */
  readonly texts: readonly string[];
  readonly tools: readonly string[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly seed: number;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly stop?: readonly string[] | undefined;
}

/** The model's behaviour: it answers, or it never does. */
export type ModelAnswer =
  | {
      readonly text: string;
      readonly finish: "stop" | "length" | "tool-calls";
      readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
    }
  | "never";

/** A policy under test, with a model whose answers the test chooses. */
export interface PolicySubject extends AsyncDisposable {
  readonly policy: Policy;
  /** The number of requests that the model was told to abort. */
  readonly dropped: () => number;
}

/** The requirements of one kind of policy. */
export interface ConformanceOptions {
  open(answer: (asked: Asked) => ModelAnswer): Promise<PolicySubject>;
}

const tools: readonly ToolSpec[] = [
  {
    name: "add",
    description: "Adds.",
    parameters: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  },
];

function request(options: Partial<ActRequest> = {}): ActRequest {
  const messages = [textMessage("system", "Be short."), textMessage("user", "Twice 2?")];
  return actRequest({ messages, ...options });
}

/** An abort reason that a test can recognize. */
class Stopped extends Error {}

/** Fails a test after which a promise was rejected without a handler. */
function watchRejections(): void {
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown): void => {
    rejections.push(reason);
  };
  beforeEach(() => void process.on("unhandledRejection", onRejection));
  afterEach(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off("unhandledRejection", onRejection);
    expect(rejections.splice(0)).toEqual([]);
  });
}

/** The requirements of every policy, with or without a model. `asked` is a request that it can answer. */
export function describeAnyPolicy(
  name: string,
  open: () => Promise<{ readonly policy: Policy; readonly asked: Omit<ActRequest, "signal"> }>,
): void {
  describe(`${name} as any policy`, () => {
    watchRejections();

    test("has a name, a version and a part type that it can read", async () => {
      const { policy } = await open();
      expect(policy.specificationVersion).toBe("v1");
      expect(policy.name).not.toBe("");
      expect(policy.accepts).toContain("text");
    });

    test("answers as an assistant, always the same, also for concurrent requests", async () => {
      const { policy, asked } = await open();
      const answers = await Promise.all(Array.from({ length: 4 }, () => policy.act(asked)));
      for (const { action, tokens } of answers) {
        expect(messageProblem(action.message)).toBeUndefined();
        expect(action.message.role).toBe("assistant");
        expect(["stop", "length", "tool-calls"]).toContain(action.finish);
        expect(action).toEqual(answers[0]!.action);
        expect(tokens).toEqual(answers[0]!.tokens);
        if (tokens === undefined) continue;
        expect(tokens).toMatchObject({ extendsPrevious: false, promptLength: tokens.newPromptIds.length });
      }
    });

    test("rejects a request that is already aborted, with the reason", async () => {
      const { policy, asked } = await open();
      const signal = AbortSignal.abort(new Stopped());
      await expect(policy.act({ ...asked, signal })).rejects.toBeInstanceOf(Stopped);
    });

    test("removes its signal listener after it has answered", async () => {
      const { policy, asked } = await open();
      const { signal } = new AbortController();
      let listeners = 0;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = ((...args: Parameters<typeof add>) => {
        listeners += 1;
        add(...args);
      }) as typeof add;
      signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
        listeners -= 1;
        remove(...args);
      }) as typeof remove;
      for (let index = 0; index < 5; index++) await policy.act({ ...asked, signal });
      expect(listeners).toBeLessThanOrEqual(0);
    });

    test("does not change the request", async () => {
      const { policy, asked } = await open();
      const before = structuredClone(asked);
      await policy.act(asked);
      expect(asked).toEqual(before);
    });
  });
}

/** The requirements of every policy with a model. */
export function describePolicy(name: string, { open }: ConformanceOptions): void {
  /** Opens the policy and records the requests of its model. */
  const opened = async (answer: (asked: Asked) => ModelAnswer) => {
    const asked: Asked[] = [];
    const subject = await open((request) => {
      asked.push(request);
      return answer(request);
    });
    onTestFinished(() => subject[Symbol.asyncDispose]());
    return { policy: subject.policy, dropped: subject.dropped, asked };
  };
  const four = (): ModelAnswer => ({ text: "4", finish: "stop" });

  describeAnyPolicy(name, async () => ({ policy: (await opened(four)).policy, asked: request() }));

  describe(`${name} as a policy`, () => {
    watchRejections();

    test("answers as an assistant, to the whole conversation", async () => {
      const { policy, asked } = await opened(four);
      const { action } = await policy.act(request());
      expect(action).toStrictEqual({ message: textMessage("assistant", "4"), finish: "stop" });
      expect(asked.map(({ texts }) => texts)).toEqual([["Be short.", "Twice 2?"]]);
    });

    test("distinguishes a truncated answer from a finished one", async () => {
      const { policy } = await opened(() => ({ text: "Let me", finish: "length" }));
      expect((await policy.act(request())).action).toMatchObject({ finish: "length" });
    });

    test("cuts an answer before a stop sequence that its server kept", async () => {
      const { policy } = await opened(() => ({ text: "4\n\nEND 5\n", finish: "stop" }));
      const sampling = { ...defaultSampling, stop: ["END", "\n\n", "6"] };
      expect(textOf((await policy.act(request({ sampling }))).action.message)).toBe("4");
    });

    test("passes on the sampling settings", async () => {
      const { policy, asked } = await opened(four);
      const sampling = { temperature: 0.25, maxTokens: 7, topP: 0.5, topK: 3, stop: ["\n", "END"] };
      await policy.act(request({ sampling, seed: 2 ** 52 + 5 }));
      await policy.act(request({ sampling: { temperature: 0, maxTokens: 9 }, seed: 2 ** 52 + 5 }));
      await policy.act(request({ seed: 6 }));
      expect(asked[0]).toMatchObject(sampling);
      expect(asked[1]).toMatchObject({ temperature: 0, maxTokens: 9 });
      for (const key of ["topP", "topK", "stop"] as const) expect(asked[1]![key]).toBeUndefined();
      const seeds = asked.map(({ seed }) => seed);
      expect(seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 31)).toBe(true);
      expect(seeds[0]).toBe(seeds[1]);
      expect(seeds[2]).not.toBe(seeds[0]);
    });

    test("lists tools, and returns calls without executing them", async () => {
      const toolCalls = [
        { id: "c1", name: "add", arguments: '{"a": 2}' },
        { id: "c2", name: "add", arguments: "" },
      ];
      const { policy, asked } = await opened(({ tools: told }) =>
        told.length === 0 ? { text: "4", finish: "stop" } : { text: "Adding.", finish: "tool-calls", toolCalls },
      );
      const { action } = await policy.act(request({ tools }));
      expect(asked[0]!.tools).toEqual(["add"]);
      expect(action).toStrictEqual({
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
      const { messages } = request();
      expect(
        textOf((await policy.act(request({ messages: [...messages, action.message, ...results] }))).action.message),
      ).toBe("4");
      expect(asked[1]!.texts).toEqual(["Be short.", "Twice 2?", "Adding.", "2", "0"]);
    });

    test("reports a call that is not JSON as a parse error", async () => {
      const toolCalls = [{ id: "c1", name: "add", arguments: '{"a": ' }];
      const { policy } = await opened(() => ({ text: "", finish: "tool-calls", toolCalls }));
      const { action } = await policy.act(request({ tools }));
      expect(action.parseErrors).toEqual([{ text: '{"a": ', message: expect.stringContaining("add") }]);
      expect(action.message.toolCalls ?? []).toEqual([]);
    });

    test("stops an aborted request, and answers the others", async () => {
      const { policy, asked, dropped } = await opened(({ texts }) => (texts.includes("never") ? "never" : four()));
      const controller = new AbortController();
      const messages = [textMessage("user", "never")];
      const stopped = policy.act(request({ messages, signal: controller.signal }));
      const other = policy.act(request());
      while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
      controller.abort(new Stopped());
      await expect(stopped).rejects.toBeInstanceOf(Stopped);
      expect((await other).action.finish).toBe("stop");
      while (dropped() < 1) await new Promise((resolve) => setImmediate(resolve));
      expect(dropped()).toBe(1);
    });

    test("refuses an environment's images before any request, if it does not accept them", async () => {
      const { policy, asked } = await opened(four);
      const image = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
      const gallery = defineEnvironment({
        id: "gallery",
        tasks: [1],
        maxTurns: 1,
        reset: () => ({ messages: [{ role: "user", content: [image] }], state: {} }),
        step: () => ({ reward: 0 }),
      });
      const task = await (await gallery.tasks("train")).get(0);
      const episode = await rolloutEpisode({ environment: gallery, task, policies: policy, seed: 1 });
      expect(policy.accepts).not.toContain("image");
      expect(episode).toMatchObject({ status: "failed", error: { code: "policy.unsupported-input" } });
      expect(episode.agents.agent!.reward.status).toBe("unscored");
      expect(asked).toEqual([]);
    });

    test("sends no request for an action that is already aborted", async () => {
      const { policy, asked } = await opened(four);
      const signal = AbortSignal.abort(new Stopped());
      await expect(policy.act(request({ signal }))).rejects.toBeInstanceOf(Stopped);
      expect(asked).toEqual([]);
    });

    test("reports the usage of each action", async () => {
      const { policy } = await opened(four);
      const result = await policy.act(request());
      expect(result.usage).toMatchObject({ promptTokens: 11, completionTokens: 2 });
      expect(result.latencyMs).toBeGreaterThanOrEqual(0);
      expect(result.retries).toBeUndefined();
    });
  });
}
