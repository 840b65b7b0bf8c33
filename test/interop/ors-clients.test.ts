import { beforeAll, describe, expect, test } from "vitest";
import { mathEnvironment, numberGuessingEnvironment, toolsEnvironment } from "../../environments/index.ts";
import { serveEnvironments } from "../../server/http/serve-environments.ts";
import { localRunner } from "../../server/session/local-runner.ts";
import { createSessionHost } from "../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { type Message, textMessage, textOf } from "../../src/contract/message.ts";
import { scored } from "../../src/contract/reward.ts";
import { environmentFromReward } from "../../src/core/environment/environment-from-reward.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment } from "./python-environment.ts";

/** What the client saw of an episode. */
interface Played {
  readonly prompt: readonly string[];
  readonly messages: readonly (readonly [role: string, texts: readonly string[]])[];
  readonly tools: readonly string[];
  readonly final: boolean;
  readonly texts: readonly (readonly string[])[];
  readonly rewards: readonly (number | null)[];
  readonly finished: readonly boolean[];
  readonly correct: readonly (boolean | null)[];
  readonly refused: readonly (string | null)[];
}

interface Answers {
  readonly first: readonly [splits: readonly string[], count: number, range: number];
  readonly played: Readonly<Record<string, readonly Played[]>>;
  readonly scores: readonly number[];
  readonly unsupported: string;
}

interface Script {
  readonly index: number;
  readonly messages: readonly Message[];
}

/** Rewards the number of characters, and, in a group, the rank by length. */
const group: EnvironmentDefinition = {
  ...(environmentFromReward({
    id: "group",
    tasks: ["a", "b"],
    prompt: (task) => `Write about ${task}.`,
    reward: ({ text }) => Math.min(1, text.length / 10),
  }) as EnvironmentDefinition),
  scoreGroup: async (episodes) => {
    const lengths = episodes.map(({ agents }) => textOf(agents.agent!.nodes.at(-1)!.message).length);
    const rank = (length: number): number => lengths.filter((other) => other < length).length / (lengths.length - 1);
    return Object.fromEntries(episodes.map(({ id }, index) => [id, { agent: scored(rank(lengths[index]!)) }]));
  },
};

const definitions: Readonly<Record<string, EnvironmentDefinition>> = {
  math: mathEnvironment({ tasks: "arithmetic", limit: 50 }) as EnvironmentDefinition,
  tools: toolsEnvironment({ protocol: "native" }) as EnvironmentDefinition,
  "number-guessing": numberGuessingEnvironment() as EnvironmentDefinition,
};

let answers: Answers;
let local: Readonly<Record<string, readonly Omit<Played, "prompt" | "messages" | "tools" | "final" | "refused">[]>>;

beforeAll(async () => {
  const environment = await providePythonEnvironment({
    name: "openreward",
    requirements: "openreward-requirements.txt",
    download: "60 MB",
  });
  const scripts: Record<string, readonly Script[]> = {};
  for (const [name, definition] of Object.entries(definitions)) {
    scripts[name] = [await expert(definition, 0), await expert(definition, 3)];
  }
  scripts.math = [...scripts.math!, { index: 1, messages: [textMessage("assistant", "I do not know.")] }];
  const named = Object.entries({ ...definitions, group }).map(([name, definition]) => ({ name, definition }));
  await using host = createSessionHost(await localRunner(named));
  await using server = await serveEnvironments({ host, token: "a long random text" });
  answers = await runPython<Answers>({
    environment,
    script: "ors_client",
    request: {
      url: server.url,
      token: "a long random text",
      episodes: Object.fromEntries(
        Object.entries(scripts).map(([name, episodes]) => [
          name,
          episodes.map(({ index, messages }) => ({
            ...{ split: "train", index, named: index > 0 },
            actions: messages.flatMap(actionsOf),
          })),
        ]),
      ),
      group: { split: "train", texts: ["long text", "text", "a longer text"] },
    } as never,
  });
  expect(host.activeSessions).toBe(0);
  const played: [string, (typeof local)[string]][] = [];
  for (const [name, episodes] of Object.entries(scripts)) {
    const own = [];
    for (const script of episodes) own.push(await play(definitions[name]!, script));
    played.push([name, own]);
  }
  local = Object.fromEntries(played);
});

describe("openreward's client on a Lyceum server", () => {
  test.each(Object.keys(definitions))("%s gives the rewards of the same episode without a server", (name) => {
    const seen = answers.played[name]!.map(({ texts, rewards, finished, correct }) => ({
      ...{ texts, rewards, finished, correct },
    }));
    expect(seen).toEqual(local[name]);
    expect(local[name]!.every(({ finished }) => finished.at(-1) === true)).toBe(true);
    expect(Math.max(...local[name]!.map(({ rewards }) => rewards.at(-1)!))).toBeGreaterThan(0.9);
  });

  test("a wrong answer has the lowest reward", () => {
    expect(answers.played.math!.at(-1)!.rewards).toEqual([0]);
  });

  test("the client reads prompts, conversations, tools and the terminal tool", () => {
    const [{ prompt, messages, tools, final }] = answers.played.math! as [Played];
    expect(messages.flatMap(([, texts]) => texts)).toEqual(prompt);
    expect(messages.at(-1)![0]).toBe("user");
    expect([tools, final]).toEqual([[], true]);
    expect(answers.played.tools![0]).toMatchObject({ tools: expect.arrayContaining(["calculator"]), final: true });
    expect(answers.played["number-guessing"]![0]).toMatchObject({ tools: ["answer"], final: false });
  });

  test("calls after the end are refused", () => {
    for (const { refused } of Object.values(answers.played).flat()) {
      expect(refused).toEqual(["episode_finished", "episode_finished"]);
    }
  });

  test("a server reads tasks of the first environment without a name", () => {
    expect(answers.first).toEqual([["train", "test"], 50, 3]);
  });

  test("score_group gives the rewards of scoreGroup, and other environments have none", () => {
    expect(answers.scores).toEqual([0.5, 0, 1]);
    expect(answers.unsupported).toBe("unsupported");
  });
});

async function expert(definition: EnvironmentDefinition, index: number): Promise<Script> {
  const { task } = await (await definition.tasks("train")).get(index);
  const turns = await definition.demonstrate!(task, { seed: 0 });
  const messages = turns!.map((turn) => {
    const said = Object.values(turn)[0]!;
    return typeof said === "string" ? textMessage("assistant", said) : said;
  });
  return { index, messages };
}

/** ORS calls one tool at a time. */
function actionsOf(message: Message): readonly Readonly<Record<string, unknown>>[] {
  const { toolCalls = [] } = message;
  if (toolCalls.length === 0) return [{ text: textOf(message) }];
  return toolCalls.map(({ name, arguments: input }) => ({ call: name, input }));
}

/** Plays an episode without a server. */
async function play(
  definition: EnvironmentDefinition,
  { index, messages }: Script,
): Promise<(typeof local)[string][number]> {
  const { task } = await (await definition.tasks("train")).get(index);
  const environment = await definition.create();
  try {
    await environment.reset({ task, seed: 0 });
    const results = [];
    for (const message of messages.flatMap(oneCallEach)) {
      const finish = message.toolCalls === undefined ? ("stop" as const) : ("tool-calls" as const);
      results.push(await environment.step({ agent: { message, finish } }));
    }
    return {
      texts: results.map(({ observations }) => observations.agent?.messages.map(textOf) ?? []),
      rewards: results.map(({ agents: { agent } }) => (agent?.reward?.status === "scored" ? agent.reward.value : null)),
      finished: results.map(({ observations }) => Object.keys(observations).length === 0),
      correct: results.map(({ correct }) => correct ?? null),
    };
  } finally {
    await environment.close();
  }
}

function oneCallEach(message: Message): readonly Message[] {
  const { toolCalls = [] } = message;
  if (toolCalls.length === 0) return [message];
  return toolCalls.map((call) => ({ role: "assistant", content: [], toolCalls: [call] }));
}
