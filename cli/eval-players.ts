import type { AgentId } from "../src/contract/action.ts";
import type { EnvironmentDefinition } from "../src/contract/environment.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import type { Json } from "../src/contract/json.ts";
import { contentHash } from "../src/core/taskset/content-hash.ts";
import { withoutUrlSecrets } from "../src/core/text/secrets.ts";
import type { EvaluateOptions } from "../src/evaluation/evaluate-options.ts";
import { rotatePlayers } from "../src/evaluation/rotate-players.ts";
import { engineDefinition } from "./engine-policy.ts";
import type { EvalArguments } from "./eval-program.ts";
import type { EvalTarget } from "./eval-target.ts";
import { modelSettings } from "./model-arguments.ts";
import { findPolicy } from "./policy-kinds.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { answerSettings, type PolicySettings, readPolicySettings } from "./policy-settings.ts";

/** The players of one run. */
export type Matchup = Pick<EvaluateOptions, "policies" | "models" | "rotated" | "frozen" | "judge" | "modelOptions"> & {
  /** The folder of the run within a tournament. */
  readonly folder?: string;
};

/** The players. */
export interface Players {
  /** The limits of the model's policy file. */
  readonly limits: PolicySettings["limits"];
  /**
   * Returns which player plays which agent: one run, or one run per pair in a tournament. Throws `config.invalid` if
   * the environment has no agent for an opponent, and the errors of `PolicyOpener.openSettings`.
   */
  matchups(target: Pick<EvalTarget, "environment" | "fixedAgents">): Promise<readonly Matchup[]>;
}

/**
 * Reads the players that a command line names. Throws the errors of `modelSettings`, and `config.invalid` for duplicate
 * names.
 */
export async function readPlayers(
  args: Pick<
    EvalArguments,
    "model" | "modelOption" | "base" | "backendUrl" | "opponent" | "judge" | "format" | "quantize"
  >,
  opener: PolicyOpener,
): Promise<Players> {
  const { quantize } = args;
  const { limits, ...model } = await modelSettings(args);
  const opponents = await Promise.all(args.opponent.map((opponent) => readPolicySettings(opponent)));
  const judge = args.judge === undefined ? undefined : await readPolicySettings(args.judge);
  const judgeOf = ({ judge: asked }: EnvironmentDefinition): PolicySettings | undefined =>
    asked === undefined ? undefined : judge;
  const players = [model, ...opponents];
  if (opponents.length > 1) refuseTwice(players);
  const completion = args.format === "completion";
  const openMatchup = async (
    [first, second]: readonly [PolicySettings, PolicySettings],
    { environment, fixedAgents = false }: Pick<EvalTarget, "environment" | "fixedAgents">,
  ): Promise<Matchup> => {
    const [one, other] = environment.spec.agents as readonly [string, string];
    const [firstAgents, secondAgents] = fixedAgents
      ? [[one], [other]]
      : [
          [one, other],
          [one, other],
        ];
    const players = [
      await opener.openSettings(first, { environment, completion, played: firstAgents }),
      await opener.openSettings(second, { environment, completion, played: secondAgents }),
    ] as const;
    return {
      models: { [one]: modelOf(first, one), [other]: modelOf(second, other) },
      ...(await recorded([first, second], { judge: judgeOf(environment), quantize })),
      ...(fixedAgents
        ? { policies: { [one]: players[0], [other]: players[1] }, frozen: [other] }
        : { policies: rotatePlayers([one, other], players), rotated: true }),
    };
  };
  return {
    limits,
    matchups: async (target) => {
      const { environment } = target;
      const { agents } = environment.spec;
      if (opponents.length === 0) {
        const policies = await opener.openSettings(model, { environment, completion });
        const models = Object.fromEntries(agents.map((agent) => [agent, modelOf(model, agent)]));
        return [{ policies, models, ...(await recorded([model], { judge: judgeOf(environment), quantize })) }];
      }
      if (agents.length !== 2) throw noAgentLeft(environment, opponents.map(labelOf));
      const matchups: Matchup[] = [];
      for (const [first, second] of pairsOf(players)) {
        const matchup = await openMatchup([first, second], target);
        matchups.push(opponents.length === 1 ? matchup : { ...matchup, folder: pairFolder(first, second) });
      }
      return matchups;
    },
  };
}

function labelOf({ model, name = withoutUrlSecrets(model) }: PolicySettings): string {
  return name;
}

/**
 * Returns the log's name of the model that plays an agent. In a team without a name, it is the name of the agent's
 * model.
 */
function modelOf(settings: PolicySettings, agent: AgentId): string {
  const ofAgent = settings.name === undefined ? settings.agents?.[agent] : undefined;
  return labelOf(ofAgent ?? settings);
}

/** Returns the settings of each model: those of a team's agents, or its own. */
function eachModel(settings: PolicySettings): readonly PolicySettings[] {
  return Object.values(settings.agents ?? { "": settings });
}

/** True if the engine on this machine opens the model. */
async function isLocal(settings: PolicySettings): Promise<boolean> {
  const { kind } = await findPolicy(settings);
  return kind === engineDefinition && !("backendUrl" in settings && settings.backendUrl !== undefined);
}

/** Returns the settings of players and judge that the log records next to their names. */
async function recorded(
  players: readonly PolicySettings[],
  { judge, quantize }: { readonly judge: PolicySettings | undefined; readonly quantize: 4 | 8 | undefined },
): Promise<Pick<Matchup, "judge" | "modelOptions">> {
  const all = judge === undefined ? players : [...players, judge];
  const options: [string, Json][] = [];
  for (const single of all.flatMap(eachModel)) {
    const own = answerSettings(single);
    const answering = quantize !== undefined && (await isLocal(single)) ? { ...own, quantize } : own;
    if (answering !== undefined) options.push([labelOf(single), answering]);
  }
  return {
    ...(judge === undefined ? {} : { judge: labelOf(judge) }),
    ...(options.length === 0 ? {} : { modelOptions: Object.fromEntries(options) }),
  };
}

/** Returns every pair once, in order. */
function pairsOf<T>(all: readonly T[]): (readonly [T, T])[] {
  return all.flatMap((first, index) => all.slice(index + 1).map((second) => [first, second] as const));
}

/**
 * Returns a unique folder name for a pair. Characters that are invalid in file names are removed, and a hash makes the
 * names unique.
 */
function pairFolder(first: PolicySettings, second: PolicySettings): string {
  const names = [labelOf(first), labelOf(second)];
  const readable = names.map((name) =>
    name
      .replace(/[^\w.]+/g, "-")
      .replace(/^[-.]+|[-.]+$/g, "")
      .slice(-40),
  );
  return `${readable.join("-vs-")}-${contentHash(names).slice(0, 6)}`;
}

function refuseTwice(players: readonly PolicySettings[]): void {
  const names = players.map(labelOf);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `Two players are called ${twice}.`,
    hint: "Name each model once. For one model with two settings, use two policy files with different names.",
    data: { name: twice },
  });
}

function noAgentLeft({ spec }: EnvironmentDefinition, opponents: readonly string[]): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `There is no agent for the opponent ${opponents.join(", ")}: the environment "${spec.id}" has ${spec.agents.length} agents, and it needs two.`,
    hint: "Omit --opponent, or evaluate in an environment with two agents, such as debate.",
  });
}
