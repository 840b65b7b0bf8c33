/**
 * The environment that the soak tests serve. The reply is the number of steps so far. "big N" adds N characters, and
 * "wait" waits until the step is aborted. The tool returns its arguments in the state.
 */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Json } from "../../src/contract/json.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";

const counting = defineEnvironment({
  id: "counting",
  tasks: ["a", "b", "c"],
  maxTurns: 1_000_000,
  reset: () => ({ prompt: "Say something.", state: { steps: 0 } }),
  tools: {
    keep: {
      description: "Keeps a value.",
      inputSchema: z.object({ value: z.unknown() }),
      execute: ({ value }) => `kept ${typeof value}`,
    },
  },
  step: async ({ text, state, signal }) => {
    state.steps += 1;
    if (text === "wait") await pause(600_000, undefined, { signal });
    const size = Number(/^big (\d+)$/.exec(text)?.[1] ?? 0);
    return { reward: 0, reply: `${state.steps}${"x".repeat(size)}` };
  },
}) as EnvironmentDefinition;

/** The definition with a state: the last actions. */
export const environment: EnvironmentDefinition = {
  ...counting,
  create: async () => {
    const instance = await counting.create();
    let last: Json = null;
    return {
      ...instance,
      reset: (options) => instance.reset(options as Parameters<typeof instance.reset>[0]),
      step: (actions, options) => {
        last = actions as unknown as Json;
        return instance.step(actions, options);
      },
      state: () => ({ last }),
      close: () => instance.close(),
    };
  },
};
