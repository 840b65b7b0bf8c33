import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { LyceumError, toErrorData } from "../../src/contract/errors/index.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { unscored } from "../../src/contract/reward.ts";
import { defineParallelEnvironment, type Prompts } from "../../src/core/environment/define-parallel-environment.ts";
import { defineEnvironmentEntry, parseEnvironmentOptions } from "../../src/core/environment/registry.ts";
import { withJudge } from "../../src/core/judge/with-judge.ts";
import type { Random } from "../../src/core/random/random.ts";
import { anySplitOfOneFile } from "../shared/rows/row-file.ts";
import { type DebateOptions, debateOptionsSchema } from "./debate-options.ts";
import { debaterPrompt, nextPrompt } from "./debate-prompt.ts";
import type { DebateResources } from "./debate-resources.ts";
import { debateRange, debateRewards } from "./debate-reward.ts";
import { debateTasks } from "./debate-tasks.ts";
import type { Argument, DebateTopic, Side } from "./debate-topic.ts";
import { demonstration } from "./demonstration.ts";
import { defaultRubric } from "./judge-prompt.ts";
import { judgeByModel } from "./model-judge.ts";
import { judgeByRules } from "./rule-judge.ts";

const description = "Debates over a proposition between two or more agents, judged by rules or by a model.";

interface DebateState {
  readonly sides: ReadonlyMap<string, Side>;
  /** The order of speakers. The first one is for the proposition. */
  readonly order: readonly string[];
  readonly said: Argument[];
  /** The number of arguments that existed when each debater last spoke. */
  readonly heard: Map<string, number>;
}

/**
 * Creates the debate environment. `debater-1`, `debater-2` and so on argue for or against a proposition. The seed
 * determines the sides. All debaters get their rewards at the end. Each agent has its own policy, which may be a
 * learner or any other policy. Throws `config.invalid` for invalid options, and if the judge is missing or not
 * requested.
 */
export function debateEnvironment(
  options: Partial<DebateOptions> = {},
  resources: DebateResources = {},
): EnvironmentDefinition<DebateTopic> {
  const parsed = parseEnvironmentOptions("debate", debateOptionsSchema, options);
  const { rounds, order } = parsed;
  const policy = checkedJudge(parsed, resources.policies?.judge);
  const rubric = resources.rubric ?? defaultRubric;
  const agents = Array.from({ length: parsed.debaters }, (_, index) => `debater-${index + 1}`);
  const simultaneous = order === "simultaneous";

  /** Creates the initial state: no arguments, and random sides. */
  const begin = (random: Random): DebateState => {
    const first = random.integer(0, 1);
    const sides = new Map(agents.map((agent, index) => [agent, (index + first) % 2 === 0 ? "PRO" : "CON"] as const));
    return { sides, order: [...agents.slice(first), ...agents.slice(0, first)], said: [], heard: new Map() };
  };

  /** Returns the prompts of one turn. Each speaker gets the arguments that it has not read yet. */
  const ask = (topic: DebateTopic, turn: number, state: DebateState): Prompts<string> => {
    const speakers = simultaneous ? state.order : [state.order[turn % agents.length]!];
    const round = simultaneous ? turn : Math.floor(turn / agents.length);
    return Object.fromEntries(
      speakers.map((agent) => {
        const isNew = !state.heard.has(agent);
        const unheard = state.said.slice(state.heard.get(agent) ?? 0).filter((argument) => argument.agent !== agent);
        state.heard.set(agent, state.said.length);
        const next = nextPrompt(round, rounds, unheard);
        if (!isNew) return [agent, next];
        return [agent, `${debaterPrompt(parsed, { agent, side: state.sides.get(agent)!, topic })}\n\n${next}`];
      }),
    );
  };

  const environment = defineParallelEnvironment<string, DebateTopic, DebateState>({
    id: "debate",
    description,
    agents,
    ...debateTasks(parsed.path),
    maxTurns: simultaneous ? rounds : rounds * agents.length,
    rewardRange: debateRange(parsed.reward),
    ...(policy === undefined ? {} : { judges: [{ name: "judge" }] }),
    fork: (state) => ({ ...state, said: [...state.said], heard: new Map(state.heard) }),
    reset: ({ task, random }) => {
      const state = begin(random);
      return { prompts: ask(task, 0, state), state };
    },
    step: async ({ task, state, actions, texts, turn, judge, signal }) => {
      const round = simultaneous ? turn : Math.floor(turn / agents.length);
      for (const agent of state.order) {
        if (actions[agent] === undefined) continue;
        state.said.push({ agent, side: state.sides.get(agent)!, round, text: texts[agent]! });
      }
      if (state.said.length < rounds * agents.length) return { replies: ask(task, turn + 1, state) };
      const { said, sides } = state;
      const judgement = { ...parsed, topic: task, said, simultaneous };
      const verdicts = new Map(agents.map((agent) => [agent, judgeByRules(agent, judgement)]));
      const info = Object.fromEntries(
        [...verdicts].map(([agent, verdict]) => [agent, { side: sides.get(agent)!, ...verdict }]),
      );
      if (policy === undefined) return { rewards: debateRewards(parsed.reward, verdicts), info };
      try {
        const scores = await judgeByModel({
          judge,
          rubric,
          topic: task,
          agents,
          said,
          limitMs: parsed.judgeSeconds * 1000,
          signal,
        });
        return { rewards: debateRewards(parsed.reward, scores), info };
      } catch (error) {
        signal?.throwIfAborted();
        const data = toErrorData(error, "policy.failed");
        return { reward: unscored(`The judge failed: ${data.message}`, data), info };
      }
    },
    demonstrate: (topic, { random }) => {
      const { sides, order: speakers } = begin(random);
      if (speakers.length !== 2) return undefined;
      return demonstration({
        topic,
        speakers: speakers.map((agent) => ({ agent, side: sides.get(agent)! })),
        rounds,
        order,
      });
    },
  });
  const whole = anySplitOfOneFile(environment, parsed.path);
  return policy === undefined ? whole : withJudge(whole, { policy, maxRequests: parsed.judgeRequests });
}

/** Returns the judge model, if one is used. Throws `config.invalid` if it is missing, or passed but not requested. */
function checkedJudge({ judge: kind }: DebateOptions, judge: Policy | undefined): Policy | undefined {
  if ((kind !== "rules") === (judge !== undefined)) return judge;
  throw new LyceumError({
    code: "config.invalid",
    message:
      judge === undefined
        ? "This debate needs a judge model, but none is given."
        : "A judge model is given, but the option judge of this debate is rules.",
    hint:
      judge === undefined
        ? "Name the judge in the config, such as judge: openai:gpt-5-mini, pass a policy to the environment, or set judge: rules."
        : "Set judge: model, or leave the policy out.",
  });
}

/** The registry entry of the debate environment. */
export const debateEntry = defineEnvironmentEntry({
  id: "debate",
  description,
  options: debateOptionsSchema,
  policies: (options) => {
    const { judge } = options;
    return { judge: judge === "rules" || judge === "model" ? undefined : judge };
  },
  create: (options, resources) => debateEnvironment(options, resources),
});
