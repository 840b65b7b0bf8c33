import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../environment/environment.ts";
import { LyceumError } from "../../errors/index.ts";
import { boundedWait } from "../../rollout/bounded-wait.ts";
import type { Law, LawCase } from "../law.ts";
import { playThrough, withInstance } from "../play-through.ts";
import { randomActions } from "../random-action.ts";

/** What must hold for instances: repetition, independence, refusals. */
export const instanceLaws: readonly Law[] = [
  {
    name: "repeats-under-a-seed",
    check: async (given) => {
      if (!given.environment.spec.deterministic) return undefined;
      const first = await fresh(given);
      return (await fresh(given)) === first ? undefined : "played differently the second time";
    },
  },
  {
    name: "reset-begins-anew",
    check: (given) =>
      withInstance(given, async (instance) => {
        if (!given.environment.spec.deterministic) return undefined;
        const first = JSON.stringify(await playThrough(instance, given));
        const again = JSON.stringify(await playThrough(instance, given));
        return again === first ? undefined : "played differently after a reset";
      }),
  },
  {
    name: "instances-share-nothing",
    check: async (given) => {
      if (!given.environment.spec.deterministic) return undefined;
      const alone = await fresh(given);
      const beside = await withInstance(given, (first) =>
        withInstance(given, async (second) => {
          const other = { ...given, seed: given.seed + 1 };
          await second.reset({ task: given.task.task, seed: other.seed });
          const [played] = await Promise.all([playThrough(first, given), playThrough(second, other)]);
          return JSON.stringify(played);
        }),
      );
      return beside === alone ? undefined : "played differently beside another instance";
    },
  },
  {
    name: "actions-stay-as-they-are",
    check: (given) =>
      withInstance(given, async (instance) => {
        const { steps } = await playThrough(instance, given);
        const { spec } = given.environment;
        const changed = steps.some(({ actions }, turn) => {
          const observed = Object.fromEntries(Object.keys(actions).map((agent) => [agent, none]));
          return JSON.stringify(actions) !== JSON.stringify(randomActions(observed, { spec, seed: given.seed, turn }));
        });
        return changed ? "changed an action" : undefined;
      }),
  },
  {
    name: "tasks-stay-as-they-are",
    check: async (given) => {
      const before = JSON.stringify(given.task.task);
      await fresh(given);
      return JSON.stringify(given.task.task) === before ? undefined : "changed its task";
    },
  },
  {
    name: "refuses-a-step-before-reset",
    check: (given) => withInstance(given, async (instance) => refused(instance, given, "before a reset")),
  },
  {
    name: "refuses-a-step-after-the-end",
    check: (given) =>
      withInstance(given, async (instance) => {
        const { ended } = await playThrough(instance, given);
        return ended ? refused(instance, given, "after the end") : undefined;
      }),
  },
  {
    name: "closes-twice",
    check: (given) =>
      withInstance(given, async (instance) => {
        await instance.close();
        return instance.close().then(
          () => undefined,
          (error: unknown) => `threw at a second close: ${String(error)}`,
        );
      }),
  },
  {
    name: "refuses-use-after-close",
    check: (given) =>
      withInstance(given, async (instance) => {
        await instance.close();
        return instance.reset({ task: given.task.task, seed: given.seed }).then(
          () => "was reset after it was closed",
          () => undefined,
        );
      }),
  },
  {
    name: "heeds-an-abort",
    check: async (given) => {
      const instance = await given.environment.create();
      const { task } = given.task;
      const reset = instance.reset({ task, seed: given.seed, signal: AbortSignal.abort() }).catch(() => {});
      const late = new Error("late");
      const outcome = await boundedWait(reset, { ms: 1_000, timeout: () => late }).catch((error: unknown) => error);
      if (outcome === late) return "did not end a reset within 1 s of an abort";
      await instance.close();
      return undefined;
    },
  },
  {
    name: "fork-is-equal",
    check: (given) =>
      withInstance(given, async (instance) => {
        if (instance.fork === undefined || !given.environment.spec.deterministic) return undefined;
        const observations = await instance.reset({ task: given.task.task, seed: given.seed });
        if (Object.keys(observations).length === 0) return undefined;
        const fork = await instance.fork();
        const actions = randomActions(observations, { spec: instance.spec, seed: given.seed, turn: 0 });
        const forked = JSON.stringify(await fork.step(actions));
        const own = JSON.stringify(await instance.step(actions));
        await fork.close();
        return forked === own ? undefined : "has a fork that steps differently";
      }),
  },
  {
    name: "state-is-json",
    check: (given) =>
      withInstance(given, async (instance) => {
        if (instance.state === undefined) return undefined;
        await instance.reset({ task: given.task.task, seed: given.seed });
        const state = instance.state();
        return isDeepStrictEqual(JSON.parse(JSON.stringify(state) ?? "null"), state)
          ? undefined
          : "has a state that is not JSON";
      }),
  },
];

const none = { messages: [], context: "append" } as const;

function fresh(given: LawCase): Promise<string> {
  return withInstance(given, async (instance) => JSON.stringify(await playThrough(instance, given)));
}

async function refused(instance: Environment, given: LawCase, when: string): Promise<string | undefined> {
  const { spec } = given.environment;
  const observed = Object.fromEntries(spec.agents.map((agent) => [agent, none]));
  const error = await instance.step(randomActions(observed, { spec, seed: given.seed, turn: 0 })).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (LyceumError.isInstance(error) && error.code === "environment.contract") return undefined;
  return error === undefined
    ? `took a step ${when}`
    : `refused a step ${when} by an error other than environment.contract`;
}
