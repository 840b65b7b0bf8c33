import { setImmediate } from "node:timers/promises";
import type { Environment } from "../../contract/environment.ts";
import { boundedWait } from "../../core/rollout/bounded-wait.ts";
import { plannedActions } from "../action-plan.ts";
import { bounded, withInstance } from "../play-episode.ts";
import type { EpisodeCase, Rule } from "../rule.ts";
import { refused } from "./instance-rules.ts";

/** The time within which a call must end after its signal aborted. */
const abortMs = 2_000;

/** The rules from the creation of an instance to its end. Each uses a new instance. */
export const lifecycleRules: readonly Rule<EpisodeCase>[] = [
  {
    name: "refuses-a-step-before-reset",
    hint: "Reject a step before the first reset with code environment.contract.",
    check: (given) => withInstance(given, (instance) => refused(instance, given, "before a reset")),
  },
  {
    name: "stops-on-abort",
    hint: "Pass signal to everything that reset and step wait for. Short operations can ignore it.",
    check: async (given) =>
      (await withInstance(given, (instance) => abortedReset(instance, given))) ??
      (await withInstance(given, (instance) => abortedStep(instance, given))),
  },
  {
    name: "closes-twice",
    hint: "Make close do nothing the second time.",
    check: async (given) => {
      const instance = await closed(given);
      return bounded("close", given, () => instance.close()).then(
        () => undefined,
        (error: unknown) => `threw at a second close: ${(error as Error).message}`,
      );
    },
  },
  {
    name: "refuses-use-after-close",
    hint: "Reject a reset after close.",
    check: async (given) => {
      const instance = await closed(given);
      return bounded("reset", given, () => instance.reset({ task: given.task.task, seed: given.seed })).then(
        () => "was reset after it was closed",
        () => undefined,
      );
    },
  },
];

async function closed(given: EpisodeCase): Promise<Environment> {
  const instance = await bounded("create", given, () => given.environment.create());
  await bounded("close", given, () => instance.close());
  return instance;
}

async function abortedReset(instance: Environment, given: EpisodeCase): Promise<string | undefined> {
  const { task } = given.task;
  const reset = (async () => instance.reset({ task, seed: given.seed, signal: AbortSignal.abort() }))();
  return (await endsSoon(reset, given)) ? undefined : late("reset");
}

/** Returns the problem of a step that is aborted after it has begun, if any. */
async function abortedStep(instance: Environment, given: EpisodeCase): Promise<string | undefined> {
  const { task } = given.task;
  const observations = await bounded("reset", given, (signal) => instance.reset({ task, seed: given.seed, ...signal }));
  if (Object.keys(observations).length === 0) return undefined;
  const abort = new AbortController();
  const actions = structuredClone(plannedActions(given.plan, observations, 0));
  const step = (async () => instance.step(actions, { signal: abort.signal }))();
  step.catch(() => {});
  await setImmediate();
  abort.abort();
  return (await endsSoon(step, given)) ? undefined : late("step");
}

/** Returns true if a call ends in time, even with an error. */
async function endsSoon(call: Promise<unknown>, { signal }: EpisodeCase): Promise<boolean> {
  const timeout = new Error("late");
  const ended = call.then(
    () => true,
    () => true,
  );
  const bounds = { ms: abortMs, timeout: () => timeout, signal };
  return boundedWait(ended, bounds).catch((error: unknown) => {
    if (error === timeout) return false;
    throw error;
  });
}

function late(call: string): string {
  return `did not end a ${call} within ${abortMs / 1000} s of an abort`;
}
