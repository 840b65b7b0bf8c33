import type { Environment, EnvironmentDefinition, StepResult } from "../../src/contract/environment.ts";
import type { Episode } from "../../src/contract/episode.ts";
import type { Message } from "../../src/contract/message.ts";
import { type Reward, scored } from "../../src/contract/reward.ts";
import { defineEnvironment, type SingleAgentDefinition } from "../../src/core/environment/define-environment.ts";

export interface Task {
  readonly n: number;
}
type State = { left: number };
type Definition = SingleAgentDefinition<Task, State>;

const sound: Definition = {
  id: "sound",
  tasks: (split) => (split === "test" ? [{ n: 9 }] : [{ n: 1 }, { n: 2 }]),
  maxTurns: 3,
  reset: ({ task, random }) => ({ prompt: `${task.n} ${random.next()}`, state: { left: 2 } }),
  step: ({ state }) => (state.left-- > 0 ? { reply: "on" } : { reward: 1 }),
  demonstrate: () => ["a", "b", "c"],
};

/** Three turns, with a reward of 1 at the end. */
export const soundEnvironment: EnvironmentDefinition<Task> = defineEnvironment(sound);

/** The correct environment with one part replaced. */
export function changed(change: Partial<Definition>): EnvironmentDefinition<Task> {
  return defineEnvironment({ ...sound, ...change });
}

/** The correct environment without demonstrations, with parts of its instances replaced. */
export function instances(
  change: (inner: Environment<Task>) => Partial<Environment<Task>>,
): EnvironmentDefinition<Task> {
  return {
    ...changed({ demonstrate: () => undefined }),
    create: async () => {
      const inner = await soundEnvironment.create();
      const whole: Environment<Task> = {
        specificationVersion: "v1",
        spec: inner.spec,
        reset: (options) => inner.reset(options),
        step: (actions, options) => inner.step(actions, options),
        close: () => inner.close(),
      };
      return { ...whole, ...change(inner) };
    },
  };
}

function steps(change: (result: StepResult) => StepResult): EnvironmentDefinition<Task> {
  return instances((inner) => ({ step: async (actions, options) => change(await inner.step(actions, options)) }));
}

const over = { terminated: true, truncated: false };
const message: Message = { role: "user", content: [{ type: "text", text: "x" }] };

/** An environment that can fork. It counts its steps up to three, and its reward is the last digit of the seed. */
export function forking(change: (count: number) => number = (count) => count): EnvironmentDefinition<Task> {
  const create = (seed = 0, turn = -1): Environment<Task> => {
    let closed = false;
    const shown = () => ({ agent: { messages: [message], context: "append" as const, info: { turn } } });
    return {
      specificationVersion: "v1",
      spec: soundEnvironment.spec,
      reset: async (options) => {
        if (closed) throw new Error("closed");
        [seed, turn] = [options.seed, 0];
        return shown();
      },
      step: async (actions, options) => {
        if (turn < 0 || turn > 2) return (await soundEnvironment.create()).step(actions, options);
        turn += 1;
        if (turn < 3) return { observations: shown(), agents: { agent: { terminated: false, truncated: false } } };
        return { observations: {}, agents: { agent: { ...over, reward: scored((seed % 10) / 10) } } };
      },
      fork: async () => create(seed, change(turn)),
      close: async () => {
        closed = true;
      },
    };
  };
  const { demonstrate: _, ...rest } = soundEnvironment;
  return { ...rest, create: async () => create() };
}

/** Returns the same instance every time. */
function single(): EnvironmentDefinition<Task> {
  const open = instances(() => ({ close: async () => {} }));
  const only = open.create();
  return { ...open, create: () => only };
}

/** The correct environment with group rewards. */
export function grouped(
  scoreGroup: NonNullable<EnvironmentDefinition<Task>["scoreGroup"]>,
): EnvironmentDefinition<Task> {
  return { ...soundEnvironment, scoreGroup };
}

/** Returns a reward for each agent of each episode of a group. */
export function bySample(
  group: readonly Episode[],
  rewardOf: (episode: Episode, place: number) => number,
): Record<string, { agent: Reward }> {
  return Object.fromEntries(group.map((episode, i) => [episode.id, { agent: scored(rewardOf(episode, i)) }]));
}

const never = new Promise<never>(() => {});
let count = 0;

/** An environment that breaks a rule, and the other rules that the same fault breaks. */
export type PlantedFault = readonly [
  rule: string,
  environment: EnvironmentDefinition<Task>,
  others?: readonly string[],
];

/** One fault for each rule, in the order of the rules. */
export const plantedFaults: readonly PlantedFault[] = [
  ["spec-is-playable", { ...soundEnvironment, spec: { ...soundEnvironment.spec, rewardRange: [1, 0] } }],
  ["splits-have-tasks", changed({ tasks: (split) => (split === "test" ? [] : [{ n: 1 }]) })],
  ["names-are-visible", changed({ id: "sound\u001b[31m" })],
  ["tasks-are-reproducible", changed({ tasks: (split) => [{ n: split === "test" ? -1 : count++ }] })],
  [
    "tasks-are-distinct",
    changed({ tasks: (split) => (split === "test" ? [{ n: 9 }] : [{ n: 1 }, { n: 2 }, { n: 1 }]) }),
  ],
  ["splits-are-disjoint", changed({ tasks: () => [{ n: 1 }] })],
  ["tasks-are-data", changed({ tasks: [{ n: 1, when: new Date(0) } as Task], splits: ["train"] })],
  [
    "groups-without-error",
    changed({
      groupOf: () => {
        throw new TypeError("no topic");
      },
    }),
  ],
  ["demonstrations-reach-the-end", changed({ demonstrate: () => ["a", "b"] })],
  [
    "demonstrations-reach-the-top",
    changed({ step: ({ text, state }) => (state.left-- > 0 ? { reply: "on" } : { reward: text === "c" ? 0.9 : 0 }) }),
  ],
  [
    "groups-score-each-episode",
    grouped(async (group) =>
      bySample(
        group.filter(({ sampleIndex }) => sampleIndex !== 1),
        () => 0,
      ),
    ),
  ],
  ["groups-ignore-order", grouped(async (group) => bySample(group, (_, place) => place / 10))],
  ["results-are-valid", changed({ step: () => 1 as never })],
  [
    "resets-without-error",
    changed({
      reset: ({ task }) => {
        if (task.n === 2) throw new TypeError("There is no two.");
        return { prompt: "1", state: { left: 2 } };
      },
      demonstrate: () => undefined,
    }),
  ],
  [
    "accepts-any-answer",
    changed({
      step: ({ text, state }) => {
        if (/\d/.test(text)) throw new SyntaxError("a digit");
        return state.left-- > 0 ? { reply: "on" } : { reward: 1 };
      },
    }),
  ],
  [
    "answers-in-time",
    changed({ step: async ({ text }) => (text === "a" ? { reward: 1 } : never), demonstrate: () => "a" }),
  ],
  ["ends-within-max-turns", { ...forking(), spec: { ...soundEnvironment.spec, maxTurns: 2 } }],
  [
    "ends-with-a-reward",
    changed({ step: ({ state }) => (state.left-- > 0 ? { reply: "on" } : {}), demonstrate: () => undefined }),
  ],
  [
    "rewards-are-finite",
    steps((result) => ({ ...result, agents: { agent: { ...result.agents.agent!, reward: scored(Number.NaN) } } })),
  ],
  ["rewards-are-in-range", changed({ step: () => ({ reward: 2 }), demonstrate: () => undefined })],
  [
    "components-sum-to-the-reward",
    changed({ step: () => ({ reward: 1, components: { a: 0.5 } }), demonstrate: () => undefined }),
  ],
  [
    "states-whether-correct",
    changed({ statesCorrect: true, step: () => ({ reward: 1 }), demonstrate: () => undefined }),
  ],
  ["rewards-known-agents", steps((result) => ({ ...result, agents: { ...result.agents, ghost: over } }))],
  [
    "steps-return-all-acting-agents",
    steps((result) => (Object.keys(result.observations).length > 0 ? { ...result, agents: {} } : result)),
  ],
  [
    "ends-for-all-agents",
    steps((result) => ({ ...result, agents: { agent: { ...result.agents.agent!, terminated: false } } })),
  ],
  [
    "observes-known-agents",
    instances((inner) => ({
      reset: async (options) => ({
        ...(await inner.reset(options)),
        ghost: { messages: [message], context: "append" },
      }),
    })),
    ["steps-return-all-acting-agents"],
  ],
  [
    "observes-only-active-agents",
    steps((result) => ({ ...result, agents: { agent: { ...result.agents.agent!, ...over } } })),
  ],
  [
    "messages-are-valid",
    instances((inner) => ({
      reset: async (options) => {
        await inner.reset(options);
        return { agent: { messages: [], context: "append" } };
      },
    })),
  ],
  [
    "first-prompts-are-not-empty",
    instances((inner) => ({
      reset: async (options) => {
        await inner.reset(options);
        return { agent: { messages: [{ role: "user", content: [{ type: "text", text: " " }] }], context: "append" } };
      },
    })),
  ],
  [
    "sends-no-assistant-messages",
    changed({ reset: () => ({ prompt: { ...message, role: "assistant" }, state: { left: 2 } }) }),
  ],
  ["results-are-data", steps((result) => ({ ...result, info: new Map() as never }))],
  [
    "results-are-not-mutated",
    instances((inner) => {
      const log: Message[] = [];
      return {
        reset: async (options) => {
          await inner.reset(options);
          log.splice(0, Infinity, message);
          return { agent: { messages: log, context: "replace" } };
        },
        step: (actions, options) => {
          log.push(message);
          return inner.step(actions, options);
        },
      };
    }),
  ],
  [
    "actions-are-not-mutated",
    instances((inner) => ({
      step: (actions, options) => {
        Object.assign(actions.agent ?? {}, { finish: "error" });
        return inner.step(actions, options);
      },
    })),
  ],
  [
    "tasks-are-not-mutated",
    changed({
      reset: ({ task }) => {
        Object.assign(task, { n: task.n + 1 });
        return { prompt: "x", state: { left: 2 } };
      },
    }),
  ],
  [
    "refuses-a-step-after-the-end",
    instances((inner) => {
      let begun = false;
      return {
        reset: (options) => {
          begun = true;
          return inner.reset(options);
        },
        step: (actions, options) =>
          begun
            ? inner.step(actions, options).catch(() => ({ observations: {}, agents: { agent: over } }))
            : inner.step(actions, options),
      };
    }),
  ],
  [
    "repeats-under-a-seed",
    instances((inner) => {
      const own = count++;
      return { step: async (actions, options) => ({ ...(await inner.step(actions, options)), info: own }) };
    }),
  ],
  [
    "reset-restores-the-start",
    instances((inner) => {
      let resets = 0;
      return {
        reset: async (options) => {
          const seen = await inner.reset(options);
          return { agent: { ...seen.agent!, info: Math.min(1, resets++) } };
        },
      };
    }),
    ["instances-are-independent"],
  ],
  [
    "instances-are-independent",
    (() => {
      let last = 0;
      return changed({
        reset: ({ task, random }) => {
          last = random.next();
          return { prompt: `${task.n}`, state: { left: 2 } };
        },
        step: () => ({ reward: last / 2 }),
        demonstrate: () => undefined,
      });
    })(),
  ],
  ["fork-is-equal", forking((turn) => turn - 1)],
  ["state-is-json", instances(() => ({ state: () => ({ at: new Date(0) }) as never }))],
  [
    "refuses-a-step-before-reset",
    instances((inner) => {
      let begun = false;
      return {
        reset: (options) => {
          begun = true;
          return inner.reset(options);
        },
        step: (actions, options) => {
          if (begun) return inner.step(actions, options);
          return Promise.resolve({ observations: {}, agents: { agent: over } });
        },
      };
    }),
  ],
  [
    "stops-on-abort",
    instances((inner) => ({
      reset: (options) => (options.signal?.aborted ? never : inner.reset(options)),
    })),
  ],
  [
    "closes-twice",
    instances((inner) => {
      let closed = 0;
      return {
        close: async () => {
          await inner.close();
          if (++closed === 2) throw new Error("closed already");
        },
      };
    }),
  ],
  ["refuses-use-after-close", instances(() => ({ close: async () => {} }))],
  ["some-episode-has-a-reward", changed({ step: () => ({ reply: "on" }), demonstrate: () => undefined })],
];

/** Environments that break a rule in another way than its first fault. */
export const otherFaults: readonly PlantedFault[] = [
  // A failed episode has no last turn.
  [
    "groups-score-each-episode",
    grouped(async (group) => bySample(group, ({ agents }) => agents.agent!.turns.at(-1)!.turn)),
  ],
  ["groups-score-each-episode", grouped(() => never), ["demonstrations-reach-the-top"]],
  ["instances-are-independent", single(), ["refuses-use-after-close"]],
  // Checks the signal in reset, and lets step wait for something that never comes.
  [
    "stops-on-abort",
    instances((inner) => ({
      step: (actions, options) => (options?.signal === undefined ? inner.step(actions) : never),
    })),
  ],
  // Keeps the state of an unfinished episode, and only that.
  [
    "reset-restores-the-start",
    instances((inner) => {
      let left = false;
      return {
        reset: async (options) => {
          const { agent } = await inner.reset(options);
          const before = left;
          left = true;
          return { agent: { ...agent!, info: before } };
        },
        step: async (actions, options) => {
          const result = await inner.step(actions, options);
          left = Object.keys(result.observations).length > 0;
          return result;
        },
      };
    }),
  ],
];
