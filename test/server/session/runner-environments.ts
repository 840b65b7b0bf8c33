import { setTimeout as delay } from "node:timers/promises";
import type { OpenedEnvironments } from "../../../server/session/environment-module.ts";
import type { NamedDefinition } from "../../../server/session/local-runner.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { textOf } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import { faults } from "./runner-faults.ts";

/** The instances of `counted` that are open in this thread. */
let openInstances = 0;
/** The number of steps of `steps` that run in this thread. */
let running = 0;
let mostRunning = 0;

const letters: Readonly<Record<string, readonly string[]>> = { train: ["a", "b", "c"], test: ["d"] };

/** Repeats each text. Ends after three. The task is a letter. */
const repeating = defineEnvironment({
  id: "echo",
  tasks: (split) => letters[split]!,
  maxTurns: 3,
  deterministic: true,
  reset: ({ task, random }) => `${task} ${random.integer(1, 1_000_000)}`,
  step: ({ text, turn }) => ({ reward: text.length / 100, reply: text, done: turn === 2, info: { turn } }),
});

/** The same with a state: the agents whose actions it received. */
const echo: EnvironmentDefinition = {
  ...repeating,
  create: async () => {
    const environment = await repeating.create();
    const acted: string[] = [];
    return {
      specificationVersion: "v1",
      spec: environment.spec,
      reset: (options) => environment.reset(options as Parameters<typeof environment.reset>[0]),
      step: (actions, options) => {
        acted.push(...Object.keys(actions));
        return environment.step(actions, options);
      },
      state: () => ({ acted }),
      close: () => environment.close(),
    };
  },
};

/** Returns a function instead of plain data. */
const odd: EnvironmentDefinition = {
  ...echo,
  spec: { ...echo.spec, id: "odd" },
  create: async () => ({
    ...(await echo.create()),
    step: async () => ({ observations: {}, agents: {}, info: (() => 1) as never }),
  }),
};

/** Two agents that act at once, for one step. */
const pair = defineParallelEnvironment({
  id: "pair",
  agents: ["left", "right"],
  tasks: ["shared"],
  maxTurns: 1,
  reset: ({ task }) => ({ left: task, right: task }),
  step: () => ({ rewards: { left: 1, right: 0 }, done: true }),
});

/** A step fails as its text asks for. */
const failing = defineEnvironment({
  id: "failing",
  tasks: ["only"],
  maxTurns: 9,
  reset: () => "Fail.",
  step: ({ text }) => {
    if (text === "plain") throw new TypeError("The dice are gone.");
    if (text === "typed") {
      throw new LyceumError({
        code: "data.unavailable",
        message: "The word list cannot be downloaded.",
        hint: "Connect to the network.",
        data: { path: "words.txt", attempts: [1, 2] },
      });
    }
    return { reward: 0, reply: "Again." };
  },
});

/** A step waits for the milliseconds of its text, or until its signal aborts. */
const waiting = defineEnvironment({
  id: "waiting",
  tasks: ["only"],
  maxTurns: 9,
  reset: () => "Wait.",
  step: async ({ text, signal }) => {
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    try {
      await delay(Number(text), undefined, { signal });
    } finally {
      running -= 1;
    }
    return { reward: 1, reply: "Waited." };
  },
});

/** Instances count themselves: a reset shows how many are open, and how many steps of `waiting` ran at once. */
const counted = defineEnvironment({
  id: "counted",
  tasks: ["only"],
  open: async () => {
    openInstances += 1;
    return {
      [Symbol.asyncDispose]: async () => {
        openInstances -= 1;
      },
    };
  },
  reset: () => `${openInstances} ${mostRunning}`,
  step: () => ({ reward: 0 }),
});

/** Gives each episode of a group the share of the group's text that is its own. */
const grouped: EnvironmentDefinition = {
  ...(defineEnvironment({
    id: "grouped",
    tasks: ["only"],
    maxTurns: 1,
    reset: () => "Write.",
    step: () => ({ reward: 0 }),
  }) as EnvironmentDefinition),
  scoreGroup: async (episodes) => {
    const lengths = episodes.map(({ agents }) => textOf(agents.agent!.nodes.at(-1)!.message).length);
    const sum = lengths.reduce((total, length) => total + length, 0);
    return Object.fromEntries(episodes.map(({ id }, index) => [id, { agent: scored(lengths[index]! / sum) }]));
  },
};

/** The environments of the runner's tests. */
export function runnerEnvironments(): NamedDefinition[] {
  const definitions: readonly EnvironmentDefinition[] = [
    echo,
    odd,
    pair,
    failing,
    waiting,
    counted,
    grouped,
    ...faults,
  ];
  return definitions.map((definition) => ({ name: definition.spec.id, definition, version: "1.2.3" }));
}

/** Opens the environments in a worker thread. */
export async function openEnvironments(): Promise<OpenedEnvironments> {
  return { environments: runnerEnvironments() };
}
