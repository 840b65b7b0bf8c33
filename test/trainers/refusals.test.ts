import { expect, it } from "vitest";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { letterConfig, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

const algorithm = (id: string, settings: Readonly<Record<string, unknown>> = {}): Partial<TrainingConfigInput> => ({
  algorithm: { id, ...settings },
});

/** Common mistakes in a config, and the text that says what to do. */
const mistakes: readonly {
  readonly name: string;
  readonly config: Partial<TrainingConfigInput>;
  readonly code: string;
  readonly message: RegExp;
  readonly valueHead?: boolean;
}[] = [
  {
    name: "a group of one for GRPO",
    config: algorithm("grpo", { groupSize: 1 }),
    code: "config.invalid",
    message: /groupSize.*2 or more: an episode is compared/,
  },
  {
    name: "rewards that a scale of 0 makes equal",
    config: {
      ...algorithm("grpo"),
      rewards: [
        { type: "shift", by: 1 },
        { type: "scale", factor: 0 },
      ],
    },
    code: "config.invalid",
    message: /rewards\[1\] \(scale\) makes all rewards equal/,
  },
  {
    name: "rewards that an empty range makes equal",
    config: { ...algorithm("ppo"), rewards: [{ type: "clamp", minimum: 1, maximum: 1 }] },
    code: "config.invalid",
    message: /rewards\[0\] \(clamp\) makes all rewards equal/,
  },
  {
    name: "sampling of the likeliest token alone",
    config: { ...algorithm("grpo"), sampling: { topK: 1 } },
    code: "config.invalid",
    message: /sampling\.topK is 1/,
  },
  {
    name: "SFT that weighs no message",
    config: algorithm("sft", { actionWeight: 0 }),
    code: "config.invalid",
    message: /algorithm\.actionWeight and algorithm\.observationWeight are 0/,
  },
  {
    name: "a tree of joint actions that grows too large",
    config: algorithm("magrpo", { groupSize: 40, jointMode: "cross" }),
    code: "config.invalid",
    message: /1601 nodes.*maxNodes is 1000/,
  },
  {
    name: "cross joint actions over several turns without a turn structure",
    config: algorithm("rloo", { jointMode: "cross" }),
    code: "config.invalid",
    message: /"team" has up to 2 turns, so jointMode cross needs turnStructure/,
  },
  {
    name: "turn weights of the wrong length",
    config: algorithm("magrpo", { turnWeights: [1, 2, 3] }),
    code: "config.invalid",
    message: /turnWeights has 3 numbers.*"team" has up to 2 turns/,
  },
  {
    name: "a critic on a backend without value heads",
    config: algorithm("ppo"),
    code: "backend.unsupported",
    message: /no value head.*critic/,
    valueHead: false,
  },
  {
    name: "a shared critic on a backend without value heads",
    config: algorithm("maac", { critic: "shared" }),
    code: "backend.unsupported",
    message: /no value head.*critic/,
    valueHead: false,
  },
  {
    name: "a model for an unknown agent",
    config: { ...algorithm("rloo"), agents: { models: { lefty: { scratch: {} } } } },
    code: "config.unknown-name",
    message: /lefty/,
  },
  {
    name: "own models for agents that share weights",
    config: { ...algorithm("rloo"), agents: { weights: "shared", models: { left: { scratch: {} } } } },
    code: "config.invalid",
    message: /share weights/,
  },
  {
    name: "splits that overlap",
    config: { ...algorithm("rloo"), evaluation: { split: "train[:4]" } },
    code: "data.malformed",
    message: /./,
  },
];

it.each(mistakes)("refuses $name before anything runs", async ({ config, code, message, valueHead = true }) => {
  const backend = createBigramBackend();
  const { events, error } = await runTraining({
    output: temporaryFolder(),
    environment: teamEnvironment(),
    backend: { ...backend, capabilities: { ...backend.capabilities, valueHead } },
    config: letterConfig(config),
  });
  expect(events).toEqual([]);
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
});
