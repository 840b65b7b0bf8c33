import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Environment } from "../../contract/environment.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import { plannedActions } from "../action-plan.ts";
import { bounded, playEpisode, playOn, transcript, withInstance } from "../play-episode.ts";
import type { EpisodeCase, PlayedCase, Rule } from "../rule.ts";

/** The rules for several instances, and for successive episodes of one instance. */
export const instanceRules: readonly Rule<PlayedCase>[] = [
  {
    name: "refuses-a-step-after-the-end",
    hint: "Reject a step after the end with code environment.contract.",
    check: (given) => (given.episode.ended ? refused(given.instance, given, "after the end") : undefined),
  },
  {
    name: "repeats-under-a-seed",
    hint: "Use only the given random generator, not Math.random or the time. Otherwise set deterministic to false.",
    check: async (given) => {
      if (!given.environment.spec.deterministic) return undefined;
      // Waits, so that a prompt or a reward that contains the time differs.
      await setTimeout(2);
      const again = await withInstance(given, (instance) => playEpisode(instance, given));
      return transcript(again) === transcript(given.episode) ? undefined : "played differently the second time";
    },
  },
  {
    name: "reset-restores-the-start",
    hint: "Set the whole state of an episode in reset, even if the previous episode was not finished.",
    check: async (given) => {
      const { instance, episode } = given;
      if (!given.environment.spec.deterministic) return undefined;
      const whole = await playEpisode(instance, given);
      if (transcript(whole) !== transcript(episode)) return "played differently after a reset";
      await playEpisode(instance, given, middle(given));
      const other = transcript(await playEpisode(instance, given));
      return other === transcript(episode) ? undefined : "played differently after an unfinished episode";
    },
  },
  {
    name: "instances-are-independent",
    hint: "Keep changing values in the instance or in the state, not in variables that instances share.",
    check: async (given) => {
      const { instance, episode, seed, task } = given;
      return withInstance(given, async (second) => {
        if (second === instance) return "returned the same instance twice";
        if (!given.environment.spec.deterministic) return undefined;
        const other = { ...given, seed: seed + 1 };
        const begun = await bounded("reset", given, (signal) =>
          instance.reset({ task: structuredClone(task.task), seed, ...signal }),
        );
        // The second instance starts and ends its episode between the first one's reset and its steps.
        await playEpisode(second, other);
        const own = await playOn(instance, given, {
          ...episode,
          first: begun,
          recorded: JSON.stringify(begun),
          steps: [],
        });
        return transcript(own) === transcript(episode) ? undefined : "played differently next to another instance";
      });
    },
  },
  {
    name: "fork-is-equal",
    hint: "Copy all state in fork, and share no changing values with the original.",
    check: async (given) => {
      const { instance, episode } = given;
      if (instance.fork === undefined || !given.environment.spec.deterministic) return undefined;
      const begun = await playEpisode(instance, given, middle(given));
      if (begun.ended) return undefined;
      const fork = await bounded("fork", given, () => instance.fork!());
      try {
        const forked = transcript(await playOn(fork, given, begun));
        if (forked !== transcript(episode)) return "has a fork that continues differently";
        const own = transcript(await playOn(instance, given, begun));
        return own === transcript(episode) ? undefined : "continued differently after its fork had played";
      } finally {
        await bounded("close", given, () => fork.close());
      }
    },
  },
  {
    name: "state-is-json",
    hint: "Return plain JSON values from state().",
    check: async (given) => {
      const { instance } = given;
      if (instance.state === undefined) return undefined;
      await playEpisode(instance, given, middle(given));
      const state = instance.state();
      return isDeepStrictEqual(JSON.parse(JSON.stringify(state) ?? "null"), state)
        ? undefined
        : "has a state that is not JSON";
    },
  },
];

/** Returns half of the episode's turns. */
function middle({ episode }: PlayedCase): number {
  return episode.steps.length >> 1;
}

const none = { messages: [], context: "append" } as const;

/** Checks that a step is refused with the error of the contract. Returns the problem, if any. */
export async function refused(instance: Environment, given: EpisodeCase, when: string): Promise<string | undefined> {
  const observed = Object.fromEntries(given.environment.spec.agents.map((agent) => [agent, none]));
  const actions = structuredClone(plannedActions(given.plan, observed, 0));
  const error = await bounded("step", given, (signal) => instance.step(actions, signal)).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (LyceumError.isInstance(error) && error.code === "environment.contract") return undefined;
  return error === undefined
    ? `took a step ${when}`
    : `refused a step ${when} by an error other than environment.contract`;
}
