import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { debateEnvironment } from "../../environments/index.ts";
import { captureServer } from "../../server/capture/index.ts";
import type { AgentId } from "../../src/contract/action.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import { defineEnvironment } from "../../src/core/environment/define-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { execute } from "./execute.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment, pythonOf, trlEnvironment, type WantedEnvironment } from "./python-environment.ts";
import { type ServedPackages, servePackages } from "./served-packages.ts";
import { writeTinyCheckpoint } from "./tiny-checkpoint.ts";

const pettingZoo: WantedEnvironment = {
  name: "pettingzoo",
  requirements: "pettingzoo-requirements.txt",
  download: "30 MB",
};
const verifiers: WantedEnvironment = {
  name: "verifiers",
  requirements: "verifiers-requirements.txt",
  download: "120 MB",
};

const prompts = ["Write a.", "Write it again."];

function share(text: string): number {
  return [...text].filter((letter) => letter === "a").length / Math.max(text.length, 1);
}

/** The share of the letter a in the answer is the reward, so that a model that hardly writes has several rewards. */
const letters = defineEnvironment({
  id: "letters",
  tasks: prompts,
  reset: ({ task }) => task,
  step: ({ text }) => ({ reward: share(text) }),
}) as EnvironmentDefinition;

/** The texts of each episode of `pairs`. */
const played: string[][] = [];
/** Two turns, each with the reward of `letters`. */
const pairs = defineEnvironment<string, number>({
  id: "pairs",
  tasks: prompts,
  maxTurns: 2,
  reset: ({ task }) => ({ prompt: [textMessage("user", task)], state: played.push([]) - 1 }),
  step: ({ text, turn, state }) => {
    played[state]!.push(text);
    const reward = share(text);
    return turn === 0 ? { reward, reply: "Again." } : { reward };
  },
}) as EnvironmentDefinition;

let steps = 0;
/** Pays every text, and more for more kinds of characters. */
const variety = defineEnvironment({
  id: "variety",
  tasks: prompts,
  reset: ({ task }) => task,
  step: ({ text }) => {
    steps += 1;
    return { reward: 0.1 + new Set(text).size / 20 };
  },
}) as EnvironmentDefinition;
const debate = debateEnvironment({ rounds: 2 }) as EnvironmentDefinition;

let packages: ServedPackages;
beforeAll(async () => {
  packages = await servePackages([letters, pairs, variety, debate]);
});
afterAll(() => packages[Symbol.asyncDispose]());

/** Plays the environment without a server. Returns the sum of the rewards of each agent. */
async function rewardsOf(
  environment: string,
  options: { readonly split: string; readonly index: number; readonly texts: Readonly<Record<AgentId, string>> },
): Promise<Readonly<Record<AgentId, number>>> {
  const { split, index, texts } = options;
  await using session = await packages.host.runner.open({ environment });
  let acting = Object.keys((await session.reset({ split, index, seed: 1 })).observations);
  const rewards: Record<AgentId, number> = {};
  while (acting.length > 0) {
    const actions = Object.fromEntries(
      acting.map((agent) => [agent, { message: textMessage("assistant", texts[agent]!), finish: "stop" as const }]),
    );
    const { agents, observations, done } = await session.step({ actions });
    for (const [agent, { reward }] of Object.entries(agents)) {
      if (reward?.status === "scored") rewards[agent] = (rewards[agent] ?? 0) + reward.value;
    }
    acting = done ? [] : Object.keys(observations);
  }
  return rewards;
}

/** A message of TRL's completions. */
interface ChatMessage {
  readonly role: string;
  readonly content?: string;
  readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: unknown } }[];
}

/** Returns the texts of the calls of `answer` that ran, and the plain answer at the end. */
function textsOf(completion: readonly ChatMessage[]): string[] {
  return completion.flatMap(({ role, content = "", tool_calls }, place) => {
    if (role !== "assistant") return [];
    if (tool_calls === undefined) return [content];
    return tool_calls.flatMap(({ function: { name, arguments: given } }, index) => {
      // TRL drops a result that is too long.
      const result = completion[place + 1 + index]?.content ?? "Again.";
      if (name !== "answer" || !["Again.", "Done."].includes(result)) return [];
      return [(given as { readonly text: string }).text];
    });
  });
}

describe("an exported package", () => {
  test("passes PettingZoo's parallel_api_test on debate, with the rewards of the environment", async () => {
    const [split] = packages.host.runner.environments.find(({ name }) => name === "debate")!.splits;
    const texts = {
      "debater-1": "It is right, because it saves time and helps people who have little of it.",
      "debater-2": "No.",
    };
    const played = await runPython<{
      readonly warnings: readonly string[];
      readonly agents: readonly string[];
      readonly rewards: Readonly<Record<AgentId, number>>;
      readonly rounds: number;
    }>({
      environment: await providePythonEnvironment(pettingZoo),
      script: "pettingzoo_episode",
      packages: join(packages.folder, "debate"),
      request: { url: packages.server.url, split: split!.name, texts },
    });
    expect(played.warnings).toEqual([]);
    expect(played.agents).toEqual(["debater-1", "debater-2"]);
    // The debaters speak in turn, twice each.
    expect(played.rounds).toBe(4);
    const own = await rewardsOf("debate", { split: split!.name, index: 1, texts });
    expect(Object.values(own).some((reward) => reward !== 0)).toBe(true);
    for (const [agent, reward] of Object.entries(own)) expect(played.rewards[agent]).toBeCloseTo(reward, 6);
  });

  test("have modules that a linter of Python accepts", async () => {
    const python = pythonOf(await providePythonEnvironment(pettingZoo));
    const rules = ["--isolated", "--no-cache", "--select", "E,F,W,B", "--line-length", "120"];
    const templates = join(import.meta.dirname, "../../server/python/templates");
    await execute(python, ["-m", "ruff", "check", ...rules, templates], { timeoutMs: 60_000 });
  });

  test("trains a model from scratch by TRL's GRPOTrainer, whose plain answers are rewarded", async () => {
    const model = join(packages.folder, "model");
    const engine = await createOnnxBackend({ device: "cpu" });
    await writeTinyCheckpoint(engine, { family: "qwen3", folder: model });
    await engine.close();
    const trained = await runPython<{
      readonly rewards: readonly number[];
      readonly norms: readonly number[];
      readonly changed: number;
    }>({
      environment: await providePythonEnvironment(trlEnvironment),
      script: "trl_plain",
      packages: join(packages.folder, "variety"),
      request: { ...{ url: packages.server.url, model, tasks: prompts.length, steps: 2 }, folder: packages.folder },
    });
    expect(trained.rewards).toHaveLength(2);
    expect(Math.min(...trained.rewards)).toBeGreaterThan(0.1);
    expect(Math.min(...trained.norms)).toBeGreaterThan(0);
    expect(trained.changed).toBeGreaterThan(0);
    // Four completions in each step, each of them sent once.
    expect(steps).toBe(8);
  });

  test("trains a tiny model that calls tools and answers by plain texts, each sent once", async () => {
    const trained = await runPython<{
      readonly played: readonly (readonly [completion: readonly ChatMessage[], reward: number, again: number])[];
      readonly rewards: readonly number[];
      readonly deviations: readonly number[];
      readonly calls: readonly number[];
      readonly changed: number;
    }>({
      environment: await providePythonEnvironment(trlEnvironment),
      script: "trl_grpo",
      packages: join(packages.folder, "pairs"),
      request: { url: packages.server.url, prompts, steps: 4, warmUp: 100, folder: join(packages.folder, "trl") },
      timeoutMs: 1_800_000,
    });
    const sent = trained.played.map(([completion, reward, again]) => {
      const texts = textsOf(completion).slice(0, 2);
      expect([reward, again]).toEqual(Array(2).fill(texts.reduce((sum, text) => sum + share(text), 0)));
      return texts;
    });
    expect(sent).toHaveLength(16);
    expect(played.toSorted()).toEqual(sent.toSorted());
    const isPlain = (texts: readonly string[], [first]: readonly ChatMessage[]): boolean =>
      texts.length > 0 && first!.tool_calls === undefined;
    const plain = trained.played.filter(([completion], place) => isPlain(sent[place]!, completion));
    expect(plain.some(([, reward]) => reward > 0)).toBe(true);
    expect(Math.max(...trained.calls)).toBeGreaterThan(0);
    expect(new Set(trained.rewards).size).toBeGreaterThan(1);
    expect(Math.max(...trained.deviations)).toBeGreaterThan(0);
    expect(trained.changed).toBeGreaterThan(0);
  });

  test("is a taskset of verifiers, whose rewards are those of the environment", async () => {
    const answers: Readonly<Record<string, string>> = { "Write a.": "aab", "Write it again.": "ba" };
    await using capture = await captureServer();
    const policy = scriptedPolicy(({ messages }) => answers[textOf(messages.at(-1) ?? textMessage("user", ""))] ?? "");
    await using session = capture.open({ policy });
    const evaluated = await runPython<
      readonly {
        readonly index: number;
        readonly ok: boolean;
        readonly rewards: Readonly<Record<string, { readonly score: number }>>;
      }[]
    >({
      environment: await providePythonEnvironment(verifiers),
      script: "verifiers_eval",
      packages: join(packages.folder, "letters"),
      request: {
        url: packages.server.url,
        model: `${capture.url}/v1`,
        key: session.id,
        count: prompts.length,
        folder: join(packages.folder),
      },
    });
    const scores = evaluated
      .toSorted((one, other) => one.index - other.index)
      .map(({ ok, rewards }) => [ok, rewards.environment?.score]);
    const own: unknown[] = [];
    for (const [index, prompt] of prompts.entries()) {
      const { agent } = await rewardsOf("letters", { split: "train", index, texts: { agent: answers[prompt]! } });
      own.push([true, agent]);
    }
    expect(scores).toEqual(own);
    expect(own).toEqual([
      [true, 2 / 3],
      [true, 1 / 2],
    ]);
    expect(session.calls()).toHaveLength(prompts.length);
  });
});
