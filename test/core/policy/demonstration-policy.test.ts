import { describe, expect, test } from "vitest";
import { textMessage } from "../../../src/contract/message.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { tokenSequences } from "../../../src/core/rollout/token-sequences.ts";
import { characterRenderer, decodeCharacters } from "../rollout/character-renderer.ts";
import { countingEnvironment, oneTask } from "../rollout/scripted-environment.ts";

const countdown = defineEnvironment({
  id: "countdown",
  tasks: [2, 3],
  maxTurns: 5,
  reset: ({ task }) => ({ prompt: `Count down from ${task}.`, state: { next: task } }),
  step: ({ state, text }) => {
    if (Number(text) !== state.next) return { reward: 0 };
    state.next -= 1;
    return state.next < 0 ? { reward: 1 } : { reply: "Go on." };
  },
  demonstrate: (task) =>
    task === 3 ? undefined : Array.from({ length: task + 1 }, (_, index) => String(task - index)),
});

describe("demonstrations", () => {
  test("are an ordinary rollout, with tokens to train on", async () => {
    const task = await (await countdown.tasks("train")).get(0);
    const renderer = characterRenderer();
    const policies = demonstrationPolicy({ environment: countdown, renderer });
    const episode = await rolloutEpisode({ environment: countdown, task, policies, seed: 0 });
    expect(episode).toMatchObject({ status: "completed", turns: 3, agents: { agent: { reward: { value: 1 } } } });
    const [sequence, ...others] = tokenSequences(episode);
    expect(others).toEqual([]);
    const trained = sequence!.ids.filter((_, index) => sequence!.mask[index] === 1);
    expect(decodeCharacters(trained)).toBe("210");
    expect(trained.filter((id) => id === 0)).toHaveLength(3);
    expect(sequence!.logprobs.every((logprob) => logprob === 0)).toBe(true);
    const conversation = [
      textMessage("user", "Count down from 2."),
      textMessage("assistant", "2"),
      textMessage("user", "Go on."),
      textMessage("assistant", "1"),
      textMessage("user", "Go on."),
    ];
    expect(sequence!.ids).toEqual([
      ...renderer.start({ messages: conversation }),
      ...renderer.complete(textMessage("assistant", "0")),
    ]);
  });

  test("need no renderer if no tokens are wanted", async () => {
    const task = await (await countdown.tasks("train")).get(0);
    const policies = demonstrationPolicy({ environment: countdown });
    const episode = await rolloutEpisode({ environment: countdown, task, policies, seed: 0 });
    expect(episode.agents.agent!.reward).toMatchObject({ value: 1 });
    expect(tokenSequences(episode)).toEqual([]);
  });

  test("that are missing fail the episode", async () => {
    const task = await (await countdown.tasks("train")).get(1);
    const policies = demonstrationPolicy({ environment: countdown });
    const episode = await rolloutEpisode({ environment: countdown, task, policies, seed: 0 });
    expect(episode).toMatchObject({ status: "failed", error: { code: "policy.unsupported-input" } });
    const none = demonstrationPolicy({ environment: { spec: countdown.spec } });
    expect(await rolloutEpisode({ environment: countdown, task, policies: none, seed: 0 })).toMatchObject({
      status: "failed",
    });
  });
});

describe("a script", () => {
  test("answers by turn, with texts, messages and actions", async () => {
    const policies = scriptedPolicy([
      "text",
      textMessage("assistant", "message"),
      { message: textMessage("assistant", "action"), finish: "length" },
    ]);
    const episode = await rolloutEpisode({
      environment: countingEnvironment(3),
      task: await oneTask(),
      policies,
      seed: 0,
    });
    expect(episode.agents.agent!.turns.map(({ finish }) => finish)).toEqual(["stop", "stop", "length"]);
    expect(
      episode.agents.agent!.nodes.filter(({ message }) => message.role === "assistant").map(({ message }) => message),
    ).toEqual(["text", "message", "action"].map((text) => textMessage("assistant", text)));
  });

  test("that is too short fails the episode", async () => {
    const policies = scriptedPolicy(["only one"]);
    const episode = await rolloutEpisode({
      environment: countingEnvironment(2),
      task: await oneTask(),
      policies,
      seed: 0,
    });
    expect(episode).toMatchObject({ status: "failed", turns: 1, error: { code: "policy.failed" } });
  });
});
