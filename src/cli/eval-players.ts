import type { OpenPolicy } from "../../trainers/open-policy.ts";
import type { EnvironmentDefinition } from "../environment/environment.ts";
import { LyceumError } from "../errors/index.ts";
import type { EvaluateOptions } from "../evaluate/evaluate-options.ts";
import { rotateSeats } from "../evaluate/rotate-seats.ts";
import type { Policy } from "../policy/policy.ts";
import { contentHash } from "../taskset/content-hash.ts";
import type { EvalArguments } from "./eval-program.ts";
import type { EvalTarget } from "./eval-target.ts";
import { openNamedPolicy } from "./named-policy.ts";
import { answerSettings, type PolicySettings, readPolicySettings } from "./policy-settings.ts";
import type { Rooms } from "./rooms.ts";

/** Who plays in one run. */
export type Seating = Pick<EvaluateOptions, "policies" | "models" | "rotated" | "judge" | "modelOptions"> & {
  /** The run's folder among those of a tournament. */
  readonly folder?: string;
};

/** Who plays and judges; each model is opened once, whatever it is needed for. */
export interface Players extends AsyncDisposable {
  judge(): Promise<Policy | undefined>;
  /**
   * Who sits where in an environment: one run, or one for each pair of several opponents and the model. Throws
   * `config.invalid` for an opponent where there is no seat for one.
   */
  seatings(target: Pick<EvalTarget, "environment" | "fixedSeats">): Promise<readonly Seating[]>;
}

/** The players that a command line names. Throws as `readPolicySettings` does, and `config.invalid` for one name twice. */
export async function openPlayers(
  args: Pick<EvalArguments, "model" | "modelOption" | "opponent" | "judge" | "device" | "format">,
  { rooms, signal }: { readonly rooms: Rooms; readonly signal: AbortSignal },
): Promise<Players> {
  const model = await readPolicySettings(args.model, args.modelOption);
  const opponents = await Promise.all(args.opponent.map((opponent) => readPolicySettings(opponent)));
  const judge = args.judge === undefined ? undefined : await readPolicySettings(args.judge);
  const players = [model, ...opponents];
  if (opponents.length > 1) refuseTwice(players);
  const resources = new AsyncDisposableStack();
  const opened = new Map<string, Promise<OpenPolicy>>();
  const { device } = args;
  const open = async (settings: PolicySettings, completion: boolean): Promise<Policy> => {
    const key = JSON.stringify([completion, settings]);
    let policy = opened.get(key);
    if (policy === undefined) {
      policy = openNamedPolicy(settings, { rooms, device, completion, signal });
      opened.set(key, policy);
      resources.use(await policy);
    }
    return (await policy).policy;
  };
  const openPlayer = async (settings: PolicySettings, environment: EnvironmentDefinition): Promise<Policy> => {
    // Demonstrations are one environment's.
    if (settings.model === "demonstration") {
      return (await openNamedPolicy(settings, { rooms, environment, signal })).policy;
    }
    return open(settings, args.format === "completion");
  };
  const seating = async (
    [first, second]: readonly [PolicySettings, PolicySettings],
    { environment, fixedSeats = false }: Pick<EvalTarget, "environment" | "fixedSeats">,
  ): Promise<Seating> => {
    const [one, other] = environment.spec.agents as readonly [string, string];
    const seated = [await openPlayer(first, environment), await openPlayer(second, environment)] as const;
    return {
      models: { [one]: labelOf(first), [other]: labelOf(second) },
      ...told([first, second], judge),
      ...(fixedSeats
        ? { policies: { [one]: seated[0], [other]: seated[1] } }
        : { policies: rotateSeats([one, other], seated), rotated: true }),
    };
  };
  return {
    judge: async () => (judge === undefined ? undefined : open(judge, false)),
    seatings: async (target) => {
      const { environment } = target;
      const { agents } = environment.spec;
      if (opponents.length === 0) {
        const policies = await openPlayer(model, environment);
        const models = Object.fromEntries(agents.map((agent) => [agent, labelOf(model)]));
        return [{ policies, models, ...told([model], judge) }];
      }
      if (agents.length !== 2) throw noSeat(environment, opponents.map(labelOf));
      const seatings: Seating[] = [];
      for (const [first, second] of pairsOf(players)) {
        const seats = await seating([first, second], target);
        seatings.push(opponents.length === 1 ? seats : { ...seats, folder: pairFolder(first, second) });
      }
      return seatings;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function labelOf({ model, name = model }: PolicySettings): string {
  return name;
}

/** What the log says of players and judge beside their names. */
function told(
  players: readonly PolicySettings[],
  judge: PolicySettings | undefined,
): Pick<Seating, "judge" | "modelOptions"> {
  const all = judge === undefined ? players : [...players, judge];
  const options = all.flatMap((settings) => {
    const answering = answerSettings(settings);
    return answering === undefined ? [] : [[labelOf(settings), answering] as const];
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
