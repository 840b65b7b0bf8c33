import type { SampleRequest } from "../src/contract/sampler.ts";
import { createRandom } from "../src/core/random/random.ts";
import { median } from "../src/core/statistics.ts";
import type { Model } from "../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { model135m } from "./model-135m.ts";

const rounds = 3;
const players = 4;
const turns = 8;
/** The tokens of one turn: what the environment says, and the answer. After eight turns there are 2,000. */
const turn = { observation: 200, answer: 50 };

/** What was measured of one round of games. */
interface Games {
  readonly seconds: number;
  readonly promptTokens: number;
  readonly reusedTokens: number;
}

/**
 * Plays four games of eight turns on the 135M shape, with 2,000 tokens at their end: with kept caches, and without, which
 * reads the whole conversation in each turn. The ratio is the median of neighbouring measurements.
 */
export const games: Benchmark = {
  prefix: "games",
  run: async () => {
    await using backend = await createOnnxBackend({ device: "cpu" });
    const model = await backend.openModel({ source: model135m, trainable: { type: "frozen" } });
    // Compiles the graphs.
    await play(model, { turns: 2, reuse: true });
    const found: { readonly kept: Games; readonly plain: Games }[] = [];
    for (let round = 0; round < rounds; round++) {
      const plain = await play(model, { turns, reuse: false });
      found.push({ plain, kept: await play(model, { turns, reuse: true }) });
    }
    const [{ kept }] = found as [(typeof found)[number]];
    const seconds = (of: "kept" | "plain"): number => median(found.map((each) => each[of].seconds));
    const ratio = median(found.map((each) => each.plain.seconds / each.kept.seconds));
    const results: BenchmarkResult[] = [
      { name: "games/seconds", value: seconds("kept"), unit: "s", baseline: seconds("plain") },
      { name: "games/ratio", value: ratio, unit: "times", baseline: 2.2 },
      { name: "games/prompt-tokens", value: kept.promptTokens, unit: "tokens" },
      { name: "games/reused-share", value: kept.reusedTokens / kept.promptTokens, unit: "ratio" },
    ];
    return results;
  },
};

/** Plays one game of each player, turn by turn, from weights that have read nothing. */
async function play(model: Model, options: { readonly turns: number; readonly reuse: boolean }): Promise<Games> {
  const sampler = await model.snapshot();
  const random = createRandom(1);
  const conversations: number[][] = Array.from({ length: players }, () => []);
  let [promptTokens, reusedTokens] = [0, 0];
  const start = performance.now();
  for (let played = 0; played < options.turns; played++) {
    const requests = conversations.map((ids, player): SampleRequest => {
      ids.push(...Array.from({ length: turn.observation }, () => random.integer(0, 49_151)));
      promptTokens += ids.length;
      const settings = { temperature: 1, maxTokens: turn.answer };
      return { promptIds: [...ids], settings, seed: 100 * player + played, stopTokenIds: [] };
    });
    for await (const sample of sampler.sample(requests, { reuse: options.reuse })) {
      conversations[sample.request]!.push(...sample.ids);
      reusedTokens += sample.reusedTokens ?? 0;
    }
  }
  const seconds = (performance.now() - start) / 1000;
  await sampler.close();
  return { seconds, promptTokens, reusedTokens };
}
