import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { messageProblem } from "../contract/message-problem.ts";
import type { ActRequest, Policy } from "../contract/policy.ts";
import { type ConformanceCase, conformanceCases } from "../core/conformance-case.ts";

/**
 * The conformance suite of every policy, with or without a model. `open` returns a new policy and a request that it can
 * answer.
 *
 * @example
 * import { scriptedPolicy, textMessage } from "lyceum";
 * import { defaultSampling } from "lyceum/policies";
 * import { policyConformance } from "lyceum/testing";
 * const messages = [textMessage("user", "What is 2 + 2?")];
 * const request = { agent: "agent", messages, sampling: defaultSampling, seed: 1 };
 * const cases = policyConformance(() => ({ policy: scriptedPolicy(["4"]), request }));
 * for (const { run } of cases) await run(); // in a test file: for (const { name, run } of cases) test(name, run)
 */
export function policyConformance(open: () => PolicySubject | Promise<PolicySubject>): ConformanceCase[] {
  return withoutStrayRejections(
    conformanceCases(open, {
      "has a name, a version and a part type that it can read": ({ policy }) => {
        assert.equal(policy.specificationVersion, "v1");
        assert.notEqual(policy.name, "");
        assert.ok(policy.accepts.includes("text"), "accepts has no text");
      },
      "answers as an assistant, always the same, also for concurrent requests": async ({ policy, request }) => {
        const answers = await Promise.all(Array.from({ length: 4 }, () => policy.act(request)));
        for (const { action, tokens } of answers) {
          assert.equal(messageProblem(action.message), undefined);
          assert.equal(action.message.role, "assistant");
          assert.ok(["stop", "length", "tool-calls"].includes(action.finish), `finish is ${action.finish}`);
          assert.deepEqual(action, answers[0]!.action);
          assert.deepEqual(tokens, answers[0]!.tokens);
          if (tokens === undefined) continue;
          assert.equal(tokens.extendsPrevious, false);
          assert.equal(tokens.promptLength, tokens.newPromptIds.length);
        }
      },
      "rejects a request that is already aborted, with the reason": async ({ policy, request }) => {
        const reason = new Error("stopped");
        await assert.rejects(
          policy.act({ ...request, signal: AbortSignal.abort(reason) }),
          (error) => error === reason,
        );
      },
      "removes its signal listener after it has answered": async ({ policy, request }) => {
        const { signal } = new AbortController();
        let listeners = 0;
        const add = signal.addEventListener.bind(signal);
        const remove = signal.removeEventListener.bind(signal);
        signal.addEventListener = (...args: Parameters<typeof add>) => {
          listeners += 1;
          add(...args);
        };
        signal.removeEventListener = (...args: Parameters<typeof remove>) => {
          listeners -= 1;
          remove(...args);
        };
        for (let index = 0; index < 5; index++) await policy.act({ ...request, signal });
        assert.ok(listeners <= 0, `${listeners} listeners are left`);
      },
      "does not change the request": async ({ policy, request }) => {
        const before = structuredClone(request);
        await policy.act(request);
        assert.deepEqual(request, before);
      },
    }),
  );
}

/** A policy under test, and a request that it can answer. */
export interface PolicySubject extends Partial<AsyncDisposable> {
  readonly policy: Policy;
  readonly request: Omit<ActRequest, "signal">;
}

/** Makes each case fail after which a promise was rejected without a handler. */
export function withoutStrayRejections(cases: readonly ConformanceCase[]): ConformanceCase[] {
  return cases.map(({ name, run }) => ({
    name,
    run: async () => {
      const rejections: unknown[] = [];
      const onRejection = (reason: unknown): void => void rejections.push(reason);
      process.on("unhandledRejection", onRejection);
      try {
        await run();
        await setTimeout(5);
      } finally {
        process.off("unhandledRejection", onRejection);
      }
      assert.deepEqual(rejections, []);
    },
  }));
}
