import { expect, it } from "vitest";
import { modelOfAgent, tokenTexts } from "../../../reports/viewer/token-texts.ts";
import type { AgentEpisode, Episode } from "../../../src/contract/episode.ts";
import { textMessage } from "../../../src/contract/message.ts";
import { scored } from "../../../src/contract/reward.ts";
import { createByteTokenizer } from "../../../src/core/tokens/byte-tokenizer.ts";
import type { EvaluationManifest } from "../../../src/evaluation/log/manifest.ts";

const tokenizer = createByteTokenizer();

function agent(text: string): AgentEpisode {
  const ids = tokenizer.encode(text);
  const asked = { ids: tokenizer.encode("?"), mask: 0, startsSequence: true } as const;
  const sampled = { ids, mask: 1, logprobs: ids.map(() => -1), startsSequence: false } as const;
  return {
    nodes: [
      { id: 0, parent: null, turn: 0, message: textMessage("user", "?"), tokens: asked },
      { id: 1, parent: 0, turn: 0, message: textMessage("assistant", text), tokens: sampled },
    ],
    turns: [{ turn: 0, node: 1, finish: "stop" }],
    reward: scored(1),
    terminated: true,
    truncated: false,
  };
}

function episode(sampleIndex: number): Episode {
  return {
    id: `e-${sampleIndex}`,
    environment: "e",
    task: { index: 0, id: "0", hash: "0" },
    seed: 0,
    sampleIndex,
    status: "completed",
    agents: { one: agent("aü🙂"), two: agent("b") },
    turns: 1,
    durationMs: 1,
  };
}

function identity(rotated: boolean): Pick<EvaluationManifest, "identity"> {
  const models = { one: "here", two: "elsewhere" };
  return { identity: { models, rotated } as Partial<EvaluationManifest["identity"]> as EvaluationManifest["identity"] };
}

const tokenizerOf = (sampleIndex: number, rotated: boolean) => async (agent: string) =>
  modelOfAgent(agent, { sampleIndex, ...identity(rotated) }) === "here" ? tokenizer : undefined;

it("are one per sampled token, and a character is whole in its last token", async () => {
  const texts = await tokenTexts(episode(0), tokenizerOf(0, false));
  expect(texts).toEqual({ one: { 1: ["a", "", "ü", "", "", "", "🙂"] } });
});

it("are of the agent's model", async () => {
  const texts = await tokenTexts(episode(1), tokenizerOf(1, true));
  expect(texts).toEqual({ two: { 1: ["b"] } });
});
