import type { AgentId } from "../contract/action.ts";
import type { EnvironmentDefinition } from "../contract/environment.ts";
import { LyceumError } from "../contract/errors/index.ts";
import type { Policy } from "../contract/policy.ts";
import { contentHash } from "../core/taskset/content-hash.ts";
import { withoutUrlSecrets } from "../core/text/url-secrets.ts";
import type { EvaluateOptions } from "../evaluation/evaluate-options.ts";
import { rotateSeats } from "../evaluation/rotate-seats.ts";
import type { EvalArguments } from "./eval-program.ts";
import type { EvalTarget } from "./eval-target.ts";
import { modelSettings } from "./model-arguments.ts";
import type { PolicyOpener } from "./policy-opener.ts";
import { answerSettings, type PolicySettings, readPolicySettings } from "./policy-settings.ts";

/** Who plays in one run. */
export type Seating = Pick<EvaluateOptions, "policies" | "models" | "rotated" | "judge" | "modelOptions"> & {
  /** The run's folder among those of a tournament. */
  readonly folder?: string;
};

/** Who plays and judges. */
export interface Players {
  /** Of the model's policy file. */
  readonly limits: PolicySettings["limits"];
  judge(): Promise<Policy | undefined>;
  /**
   * Who sits where in an environment: one run, or one for each pair of several opponents and the model. Throws
   * `config.invalid` for an opponent if the environment has no agent for one, and as `PolicyOpener.openSettings` does.
   */
  seatings(target: Pick<EvalTarget, "environment" | "fixedSeats">): Promise<readonly Seating[]>;
}

/** The players that a command line names. Throws as `modelSettings` does, and `config.invalid` for one name twice. */
export async function readPlayers(
  args: Pick<EvalArguments, "model" | "modelOption" | "base" | "opponent" | "judge" | "format">,
  opener: PolicyOpener,
): Promise<Players> {
  const { limits, ...model } = await modelSettings(args);
  const opponents = await Promise.all(args.opponent.map((opponent) => readPolicySettings(opponent)));
  const judge = args.judge === undefined ? undefined : await readPolicySettings(args.judge);
  const players = [model, ...opponents];
  if (opponents.length > 1) refuseTwice(players);
  const completion = args.format === "completion";
  const seating = async (
    [first, second]: readonly [PolicySettings, PolicySettings],
    { environment, fixedSeats = false }: Pick<EvalTarget, "environment" | "fixedSeats">,
  ): Promise<Seating> => {
    const [one, other] = environment.spec.agents as readonly [string, string];
    const [firstSeats, secondSeats] = fixedSeats
      ? [[one], [other]]
      : [
          [one, other],
          [one, other],
        ];
    const seated = [
      await opener.openSettings(first, { environment, completion, played: firstSeats }),
      await opener.openSettings(second, { environment, completion, played: secondSeats }),
    ] as const;
    return {
      models: { [one]: modelOf(first, one), [other]: modelOf(second, other) },
      ...recorded([first, second], judge),
      ...(fixedSeats
        ? { policies: { [one]: seated[0], [other]: seated[1] } }
        : { policies: rotateSeats([one, other], seated), rotated: true }),
    };
  };
  return {
    limits,
    judge: async () => (judge === undefined ? undefined : opener.openSettings(judge)),
    seatings: async (target) => {
      const { environment } = target;
      const { agents } = environment.spec;
      if (opponents.length === 0) {
        const policies = await opener.openSettings(model, { environment, completion });
        const models = Object.fromEntries(agents.map((agent) => [agent, modelOf(model, agent)]));
        return [{ policies, models, ...recorded([model], judge) }];
      }
      if (agents.length !== 2) throw noSeat(environment, opponents.map(labelOf));
      const seatings: Seating[] = [];
      for (const [first, second] of pairsOf(players)) {
        const seats = await seating([first, second], target);
        seatings.push(opponents.length === 1 ? seats : { ...seats, folder: pairFolder(first, second) });
      }
      return seatings;
    },
  };
}

function labelOf({ model, name = withoutUrlSecrets(model) }: PolicySettings): string {
  return name;
}

/** What the log calls the model that plays an agent: of a team without a name, the agent's own. */
function modelOf(settings: PolicySettings, agent: AgentId): string {
  const member = settings.name === undefined ? settings.agents?.[agent] : undefined;
  return labelOf(member ?? settings);
}

/** What the log says of players and judge beside their names. */
function recorded(
  players: readonly PolicySettings[],
  judge: PolicySettings | undefined,
): Pick<Seating, "judge" | "modelOptions"> {
  const all = judge === undefined ? players : [...players, judge];
  const options = all.flatMap((settings) => {
    const named = Object.values(settings.agents ?? { "": settings });
    return named.flatMap((single) => {
      const answering = answerSettings(single);
      return answering === undefined ? [] : [[labelOf(single), answering] as const];
    });
  });
  return {
    ...(judge === undefined ? {} : { judge: labelOf(judge) }),
    ...(options.length === 0 ? {} : { modelOptions: Object.fromEntries(options) }),
  };
}

/** Every pair once, in order. */
function pairsOf<T>(all: readonly T[]): (readonly [T, T])[] {
  return all.flatMap((first, index) => all.slice(index + 1).map((second) => [first, second] as const));
}

/** A folder of its own for each pair: what a file system dislikes is left out of the names, and the hash tells them apart. */
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
    hint: "Name each model once. One model with two settings is two policy files, each with a name of its own.",
    data: { name: twice },
  });
}

function noSeat({ spec }: EnvironmentDefinition, opponents: readonly string[]): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `There is no seat for the opponent ${opponents.join(", ")}: the environment "${spec.id}" has ${spec.agents.length} agents, and it needs two.`,
    hint: "Leave --opponent out, or evaluate in an environment of two agents, such as debate.",
  });
}
