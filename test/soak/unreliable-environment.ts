import type { Action, AgentId } from "../../src/contract/action.ts";
import type { Environment, EnvironmentFactory, Observations, StepResult } from "../../src/contract/environment.ts";
import { textMessage } from "../../src/contract/message.ts";
import { type Reward, scored, unscored } from "../../src/contract/reward.ts";
import { createRandom, deriveSeed, type Random } from "../../src/core/random/random.ts";
import { forever } from "../core/rollout/scripted-environment.ts";

const agents = ["left", "right"];
const maxTurns = 4;

/** Instances of an {@link unreliableEnvironment}, counted. */
export interface UnreliableEnvironment extends EnvironmentFactory<number> {
  readonly instances: { created: number; closed: number };
}

/**
 * An environment with two agents and up to four turns in which everything fails sometimes, by random numbers from
 * `seed`: create, reset, step, close and scoreGroup throw, hang, return invalid results, or are slow.
 */
export function unreliableEnvironment(options: {
  readonly seed: number;
  readonly scoresGroups: boolean;
}): UnreliableEnvironment {
  const random = createRandom(options.seed);
  const instances = { created: 0, closed: 0 };
  const spec = { id: "unreliable", agents, maxTurns, rewardRange: [0, 8] as const, deterministic: false };
  return {
    specificationVersion: "v1",
    spec,
    instances,
    create: async () => {
      await failOrDelay(random, 0.01);
      instances.created += 1;
      return new UnreliableInstance({ spec, random, onClose: () => (instances.closed += 1) });
    },
    ...(options.scoresGroups
      ? {
          scoreGroup: async (group) => {
            await failOrDelay(random, 0.01);
            return Object.fromEntries(group.map(({ id }) => [id, { left: scored(1) }]));
          },
        }
      : {}),
  };
}

class UnreliableInstance implements Environment<number> {
  readonly specificationVersion = "v1";
  readonly spec: Environment["spec"];
  readonly #random: Random;
  readonly #onClose: () => void;
  #turns = 0;
  #turn = 0;

  constructor(options: { readonly spec: Environment["spec"]; readonly random: Random; readonly onClose: () => void }) {
    this.spec = options.spec;
    this.#random = options.random;
    this.#onClose = options.onClose;
  }

  async reset({ task, seed }: { readonly task: number; readonly seed: number }): Promise<Observations> {
    this.#turn = 0;
    this.#turns = createRandom(deriveSeed(seed, "turns")).integer(0, maxTurns);
    await failOrDelay(this.#random, 0.003);
    return this.#turns === 0 ? {} : this.#observe(`Task ${task} begins.`);
  }

  async step(actions: Readonly<Record<AgentId, Action>>): Promise<StepResult> {
    await failOrDelay(this.#random, 0.003);
    this.#turn += 1;
    const over = this.#turn === this.#turns;
    if (this.#random.next() < 0.001) return { observations: {}, agents: {} };
    return {
      observations: over ? {} : this.#observe(`Turn ${this.#turn}.`),
      agents: Object.fromEntries(
        Object.keys(actions).map((agent) => [agent, { reward: this.#reward(), terminated: over, truncated: false }]),
      ),
      ...(this.#random.next() < 0.1 ? { info: { turn: this.#turn } } : {}),
    };
  }

  async close(): Promise<void> {
    this.#onClose();
    if (this.#random.next() < 0.05) throw new Error("It does not close well.");
  }

  #observe(text: string): Observations {
    const draw = this.#random.next();
    const observed = draw < 0.6 ? agents : draw < 0.8 ? agents.slice(0, 1) : agents.slice(1);
    const context = this.#random.next() < 0.1 ? ("replace" as const) : ("append" as const);
    return Object.fromEntries(observed.map((agent) => [agent, { messages: [textMessage("user", text)], context }]));
  }

  #reward(): Reward {
    const draw = this.#random.next();
    if (draw < 0.001) return scored(Number.NaN);
    return draw < 0.01 ? unscored("The judge is silent.") : scored(draw);
  }
}

/** Takes no time, some time or infinitely long, or throws. The latter two have about the given probability together. */
export async function failOrDelay(random: Random, probability: number): Promise<void> {
  const draw = random.next();
  if (draw < probability / 10) await forever();
  if (draw < probability) throw draw < probability / 2 ? new RangeError("Trouble.") : "trouble";
  if (draw > 0.97) await new Promise((resolve) => setTimeout(resolve, 3 * random.next()));
  else if (draw > 0.9) await new Promise((resolve) => setImmediate(resolve));
}
