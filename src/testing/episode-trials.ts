import * as fc from "fast-check";
import type { Action } from "../contract/action.ts";
import { textOf } from "../contract/message.ts";
import type { ScriptedAnswer } from "../core/policy/scripted-policy.ts";
import { type ActionPlan, actionPlans } from "./action-plan.ts";
import { acceptsAnyAnswer, answersInTime, type Finding, failure, tryRule } from "./finding.ts";
import { type PlayedEpisode, playEpisode, withInstance } from "./play-episode.ts";
import type { EpisodeCase, PlayedCase, Rule, TaskCase } from "./rule.ts";
import { hasReward } from "./rules/episode-rules.ts";

/** The maximum number of episodes that are played to shrink one finding. */
const shrinkEpisodes = 200;

/** The seed and the actions of one episode. */
interface Trial {
  readonly seed: number;
  readonly plan: ActionPlan;
}

/** A broken rule, and the episode that breaks it. */
export interface TrialFinding {
  readonly found: Finding;
  readonly seed: number;
  readonly actions: readonly ScriptedAnswer[];
}

/** Plays episodes of one task with random actions. They are the same for the same seed. */
export class EpisodeTrials {
  readonly #given: TaskCase;
  readonly #arbitrary: fc.Arbitrary<Trial>;
  /** True after an episode was played, and after an episode had a reward. */
  hasPlayed = false;
  hasEarned = false;
  readonly #parameters: { readonly seed: number; readonly numRuns: number };

  constructor(given: TaskCase, options: { readonly episodes: number }) {
    this.#given = given;
    const { environment, task } = given;
    this.#arbitrary = fc
      .tuple(fc.noShrink(fc.nat()), actionPlans(environment, task.task))
      .map(([seed, plan]) => ({ seed, plan }));
    this.#parameters = { seed: given.seed | 0, numRuns: options.episodes };
  }

  /** Plays the episodes. Checks on each the `rules` that are not broken yet, and on the first one those of `once`. */
  async *run(options: {
    readonly rules: readonly Rule<PlayedCase>[];
    readonly once: readonly Rule<EpisodeCase>[];
    readonly broken: () => ReadonlySet<string>;
  }): AsyncGenerator<TrialFinding> {
    const { rules, once, broken } = options;
    for (const [index, trial] of (await this.#trials()).entries()) {
      const given = { ...this.#given, ...trial };
      const open = rules.filter(({ name }) => !broken().has(name));
      const onPlayed = (episode: PlayedEpisode): void => {
        this.hasEarned ||= hasReward(episode);
      };
      const findings = await tryEpisode(given, open, onPlayed);
      // A finding without a rule comes from playing itself.
      this.hasPlayed ||= findings.every(({ by }) => by.length > 0);
      for (const { found, by } of findings) {
        if (!broken().has(found.rule)) yield await this.#smallest({ index, trial, found, by });
      }
      // A call that hangs would hang again in each rule and each episode.
      if (broken().has(answersInTime.name)) return;
      for (const rule of index === 0 ? once : []) {
        const found = await tryRule(rule, given);
        if (found !== undefined) yield toTrialFinding(trial, found);
      }
    }
  }

  async #trials(): Promise<readonly Trial[]> {
    const trials: Trial[] = [];
    const property = fc.asyncProperty(this.#arbitrary, async (trial: Trial) => void trials.push(trial));
    await fc.check(property, this.#parameters);
    return trials;
  }

  /** Shrinks a finding to fewer and simpler actions. */
  async #smallest(options: {
    readonly index: number;
    readonly trial: Trial;
    readonly found: Finding;
    readonly by: readonly Rule<PlayedCase>[];
  }): Promise<TrialFinding> {
    const { index, found, by } = options;
    let smallest = toTrialFinding(options.trial, found);
    // Each attempt to shrink a call that hangs would hang.
    if (found.rule === answersInTime.name) return smallest;
    let tried = 0;
    const property = fc.asyncProperty(this.#arbitrary, async (trial: Trial) => {
      const before = tried++ < index;
      if (before || tried > index + shrinkEpisodes || this.#given.signal?.aborted) return;
      const findings = await tryEpisode({ ...this.#given, ...trial }, by);
      const again = findings.find((one) => one.found.rule === found.rule);
      if (again === undefined) return;
      smallest = toTrialFinding(trial, again.found);
      throw new Error(found.rule);
    });
    // Generates the same trials again, skips those before the finding, and shrinks that one.
    await fc.check(property, this.#parameters);
    this.#given.signal?.throwIfAborted();
    return smallest;
  }
}

/** Plays an episode and checks rules on it. `by` are the rules that reproduce the finding. */
async function tryEpisode(
  given: EpisodeCase,
  rules: readonly Rule<PlayedCase>[],
  onPlayed: (episode: PlayedEpisode) => void = () => {},
): Promise<{ readonly found: Finding; readonly by: readonly Rule<PlayedCase>[] }[]> {
  given.signal?.throwIfAborted();
  try {
    return await withInstance(given, async (instance) => {
      const played: PlayedCase = { ...given, instance, episode: await playEpisode(instance, given) };
      onPlayed(played.episode);
      const findings = [];
      for (const rule of rules) {
        const found = await tryRule(rule, played);
        if (found !== undefined) findings.push({ found, by: [rule] });
      }
      return findings;
    });
  } catch (error) {
    return [{ found: failure(acceptsAnyAnswer, given, error), by: [] }];
  }
}

function toTrialFinding({ seed, plan }: Trial, found: Finding): TrialFinding {
  return { found, seed, actions: plan.map(plain) };
}

/** Returns an action in the form of a script. */
function plain(action: Action): ScriptedAnswer {
  const { message, finish, parseErrors } = action;
  const bare = message.content.length === 1 && message.toolCalls === undefined && parseErrors === undefined;
  return bare && finish === "stop" ? textOf(message) : action;
}
