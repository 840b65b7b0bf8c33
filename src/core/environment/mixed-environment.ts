import type { Action, AgentId } from "../../contract/action.ts";
import type {
  Environment,
  EnvironmentDefinition,
  EnvironmentSpec,
  Observations,
  StepResult,
} from "../../contract/environment.ts";
import type { Episode } from "../../contract/episode.ts";
import { LyceumError } from "../../contract/errors/index.ts";
import type { Json } from "../../contract/json.ts";
import type { InstanceJudge, JudgeDeclaration } from "../../contract/judge.ts";
import { mixedTaskset } from "../taskset/mixed-taskset.ts";
import { createInstance, splitTasks } from "./checked-environment.ts";
import { contractError } from "./environment-error.ts";
import { environmentName } from "./environment-name.ts";
import { taskGroup } from "./task-group.ts";

/** One environment of a mixture. */
export interface MixedPart {
  readonly environment: EnvironmentDefinition;
  /** Its share of the tasks, relative to the other weights. 1 by default. */
  readonly weight?: number;
  /**
   * Its name in metrics and task ids. The environment's id by default, with a number if several environments have that
   * id.
   */
  readonly name?: string;
}

/** A task of a mixture: the environment's name, and the environment's own task. */
export interface MixedTask {
  readonly environment: string;
  readonly task: unknown;
}

/**
 * Combines several environments. Each episode belongs to one of them. Tasks are interleaved by weight: in any number of
 * tasks, the share of each environment is exact within one or two tasks. A split, with its slice, is loaded from each
 * environment. The mixture is infinite: a finite taskset starts again after its end, and `seed` shuffles each pass.
 *
 * All environments must have the same agents. A task id begins with the name of its environment and a slash.
 * `environmentOf` returns the environment of a task id. The group of a task (`groupOf`) is the name of its environment,
 * with the environment's own group after a slash. Throws `config.invalid` for an empty list, for agents or names
 * that do not fit, and for weights that are not positive.
 *
 * @example
 * import { mixedEnvironment } from "lyceum";
 * import { mathEnvironment, numberGuessingEnvironment } from "lyceum/environments";
 * export const environment = mixedEnvironment([
 *   { environment: mathEnvironment({ tasks: "arithmetic" }), weight: 3 },
 *   { environment: numberGuessingEnvironment() },
 * ]);
 * environment.spec.id; // => "math+number-guessing"
 */
export function mixedEnvironment(
  parts: readonly MixedPart[],
  options: { readonly seed?: number } = {},
): EnvironmentDefinition<MixedTask> {
  const named = checkedParts(parts);
  const { seed = 0 } = options;
  const environments = new Map(named.map(({ name, environment }) => [name, environment]));
  const list = [...environments.values()];
  const spec = mixedSpec(environments);
  const nameOf = (taskId: string): string | undefined => environmentName(taskId, [...environments.keys()]);
  const splits = list[0]!.splits.filter((split) => list.every((environment) => environment.splits.includes(split)));
  return {
    specificationVersion: "v1",
    spec,
    splits,
    tasks: async (split, loading) => {
      const tasksets = await Promise.all(
        named.map(async ({ name, weight, environment }) => ({
          name,
          weight,
          taskset: await splitTasks(environment, split, loading),
        })),
      );
      const task = (name: string, inner: unknown): MixedTask => ({ environment: name, task: inner });
      return mixedTaskset(`${spec.id}/${split}`, { parts: tasksets, task, seed });
    },
    judge: mixedJudge(list),
    create: async (given) => new MixedEnvironment(spec, environments, given?.judge),
    groupOf: ({ environment: name, task }) => {
      const group = taskGroup(environments.get(name)!, task);
      return group === undefined ? name : `${name}/${group}`;
    },
    environmentOf: (taskId) => {
      const name = nameOf(taskId);
      return name === undefined ? undefined : { name, spec: environments.get(name)!.spec };
    },
    ...(list.some(({ demonstratesPairs }) => demonstratesPairs === true) ? { demonstratesPairs: true } : {}),
    ...(list.every(({ demonstrate }) => demonstrate !== undefined)
      ? { demonstrate: ({ environment, task }, given) => environments.get(environment)!.demonstrate!(task, given) }
      : {}),
    ...(list.some(({ scoreGroup }) => scoreGroup !== undefined)
      ? {
          scoreGroup: async (group: readonly Episode[], given: { readonly signal?: AbortSignal }) =>
            (await environments.get(nameOf(group[0]!.task.id)!)!.scoreGroup?.(group, given)) ?? {},
        }
      : {}),
  };
}

/** One instance of a mixture. Creates one instance of each environment that it plays. */
class MixedEnvironment implements Environment<MixedTask> {
  readonly specificationVersion = "v1";
  readonly spec: EnvironmentSpec;
  readonly #environments: ReadonlyMap<string, EnvironmentDefinition>;
  readonly #judge: InstanceJudge | undefined;
  readonly #instances = new Map<string, Environment>();
  #playing: { readonly name: string; readonly instance: Environment } | undefined;
  #closed = false;
  /** Present while the current episode's environment has them. */
  fork?: () => Promise<Environment<MixedTask>>;
  state?: () => Json;

  constructor(
    spec: EnvironmentSpec,
    environments: ReadonlyMap<string, EnvironmentDefinition>,
    judge: InstanceJudge | undefined,
  ) {
    this.spec = spec;
    this.#environments = environments;
    this.#judge = judge;
  }

  async reset(options: {
    readonly task: MixedTask;
    readonly seed: number;
    readonly signal?: AbortSignal;
  }): Promise<Observations> {
    if (this.#closed) throw this.#broken("was reset after it was closed", "Create a new instance.");
    const { environment: name, task } = options.task;
    const given = this.#judge === undefined ? {} : { judge: this.#judge };
    const instance = this.#instances.get(name) ?? (await createInstance(this.#environments.get(name)!, given));
    this.#instances.set(name, instance);
    this.#play(name, instance);
    return withTools(await instance.reset({ ...options, task }), this.#environments.get(name)!.spec);
  }

  async step(
    actions: Readonly<Record<AgentId, Action>>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<StepResult> {
    if (this.#playing === undefined) {
      throw this.#broken(
        "was stepped without a running episode",
        "Call reset before step, and again after each episode.",
      );
    }
    const { name, instance } = this.#playing;
    const result = await instance.step(actions, options);
    return { ...result, observations: withTools(result.observations, this.#environments.get(name)!.spec) };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#playing = undefined;
    const instances = [...this.#instances.values()];
    this.#instances.clear();
    const closed = await Promise.allSettled(instances.map((instance) => instance.close()));
    const failed = closed.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  #play(name: string, instance: Environment): void {
    this.#playing = { name, instance };
    delete this.fork;
    delete this.state;
    if (instance.fork !== undefined) this.fork = () => this.#fork(name, instance);
    if (instance.state !== undefined) this.state = () => instance.state!();
  }

  async #fork(name: string, instance: Environment): Promise<Environment<MixedTask>> {
    const copy = new MixedEnvironment(this.spec, this.#environments, this.#judge);
    const inner = await instance.fork!();
    copy.#instances.set(name, inner);
    copy.#play(name, inner);
    return copy;
  }

  #broken(problem: string, rule: string): LyceumError {
    return contractError({ environment: this.spec.id, problem, rule });
  }
}

/** Adds the tools of an environment to its observations, because the spec of the mixture has no tools. */
function withTools(observations: Observations, { tools }: EnvironmentSpec): Observations {
  if (tools === undefined) return observations;
  return Object.fromEntries(
    Object.entries(observations).map(([agent, observation]) => [
      agent,
      { ...observation, tools: observation.tools ?? tools },
    ]),
  );
}

/** Returns the judge of a mixture: what its environments say about theirs. */
function mixedJudge(environments: readonly EnvironmentDefinition[]): JudgeDeclaration | undefined {
  const judges = environments.flatMap(({ judge }) => (judge === undefined ? [] : [judge]));
  if (judges.length === 0) return undefined;
  const open = judges.filter(({ required, opened }) => required && opened === undefined);
  const models = new Set(open.map(({ model }) => model));
  const [model] = models.size === 1 ? models : [];
  const opened = [...new Set(judges.flatMap((judge) => judge.opened ?? []))].join(" and ");
  return {
    ...(model === undefined ? {} : { model }),
    required: open.length > 0,
    ...(open.length > 0 || opened === "" ? {} : { opened }),
  };
}

function mixedSpec(environments: ReadonlyMap<string, EnvironmentDefinition>): EnvironmentSpec {
  const named = [...environments].map(([name, { spec }]) => [name, spec] as const);
  const specs = named.map(([, spec]) => spec);
  return {
    id: [...new Set(specs.map(({ id }) => id))].join("+"),
    agents: specs[0]!.agents,
    maxTurns: Math.max(...specs.map(({ maxTurns }) => maxTurns)),
    rewardRange: [
      Math.min(...specs.map(({ rewardRange }) => rewardRange[0])),
      Math.max(...specs.map(({ rewardRange }) => rewardRange[1])),
    ],
    deterministic: specs.every(({ deterministic }) => deterministic),
    ...(specs.every(({ statesCorrect }) => statesCorrect === true) ? { statesCorrect: true } : {}),
    environments: Object.fromEntries(named),
    description: `A mixture of ${specs.map(({ id }) => id).join(", ")}.`,
  };
}

function checkedParts(parts: readonly MixedPart[]): Required<MixedPart>[] {
  if (parts.length === 0) throw invalid("There are no environments to mix.", "List at least one.");
  const first = parts[0]!.environment.spec;
  const counts = new Map<string, number>();
  const named = parts.map(({ environment, weight = 1, name }) => {
    const { id, agents } = environment.spec;
    if (agents.join("\n") !== first.agents.join("\n")) {
      throw invalid(
        `Environments of different agents cannot be mixed: "${first.id}" has ${first.agents.join(", ")}, "${id}" has ${agents.join(", ")}.`,
        "Mix environments of one agent, or of the same agents.",
      );
    }
    if (!(weight > 0) || !Number.isFinite(weight)) {
      throw invalid(
        `The weight of "${name ?? id}" is ${weight}.`,
        "Give a number above 0, or leave the environment out.",
      );
    }
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return { environment, weight, name: name ?? (count === 1 ? id : `${id}-${count}`) };
  });
  const twice = named.find(({ name }, place) => named.findIndex((other) => other.name === name) !== place);
  if (twice !== undefined) throw invalid(`Two environments are called "${twice.name}".`, "Give each its own name.");
  return named;
}

function invalid(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
