import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { defineParallelEnvironment } from "../../../src/core/environment/define-parallel-environment.ts";
import type { Tokenizer } from "../../../src/core/tokens/tokenizer.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { isSlowTier } from "../../tier.ts";
import { runTraining } from "../../trainers/run-training.ts";
import { type ServedModel, servedModel } from "./served-model.ts";
import type { TinkerServer } from "./tinker-server.ts";

/** A completion, with the model that it belongs to and the ids before it. */
interface Completion {
  readonly model: string | undefined;
  readonly prompt: readonly number[];
  readonly ids: readonly number[];
}

let served: ServedModel;
let server: TinkerServer;
let tokenizer: Tokenizer;
beforeAll(async () => {
  served = await servedModel();
  server = await served.serve();
  ({ tokenizer } = await served.engine.openModel({ source: served.source, trainable: { type: "frozen" } }));
});
afterAll(() => served[Symbol.asyncDispose]());

/** Random rewards, so that no group is skipped for equal ones. */
function conversation(options: {
  readonly prompts: readonly string[];
  readonly turns: number;
  readonly agents: number;
}): EnvironmentDefinition {
  const { prompts, turns, agents } = options;
  if (agents === 1) {
    return defineEnvironment({
      id: "conversation",
      tasks: prompts,
      maxTurns: turns,
      reset: ({ task }) => task,
      step: ({ turn }) => ({ reward: Math.random(), ...(turn + 1 < turns ? { reply: `(${turn})` } : {}) }),
    });
  }
  return defineParallelEnvironment({
    id: "conversations",
    agents: ["left", "right"],
    tasks: prompts,
    maxTurns: turns,
    reset: ({ task }) => ({ left: `<${task}`, right: `>${task}` }),
    step: ({ turn }) => ({
      reward: Math.random(),
      ...(turn + 1 < turns ? { replies: { left: `[${turn}`, right: `]${turn}` } } : {}),
    }),
  });
}

/** Returns the completions of a datum: the runs of targets with an advantage. */
// biome-ignore lint/suspicious/noExplicitAny: the datum is what the client sends.
function completionsOf(model: string, { model_input, loss_fn_inputs: inputs }: any): Completion[] {
  // A loss that is linear in the log-probabilities is cross-entropy with the advantages as weights.
  const advantages: readonly number[] = (inputs.advantages ?? inputs.weights).data;
  const all: number[] = [model_input.chunks[0].tokens[0], ...inputs.target_tokens.data];
  expect(model_input.chunks[0].tokens).toEqual(all.slice(0, -1));
  const found: Completion[] = [];
  for (let start = 0; start < advantages.length; start++) {
    if (advantages[start] === 0) continue;
    let end = start;
    while (end < advantages.length && advantages[end] !== 0) end++;
    found.push({ model, prompt: all.slice(0, start + 1), ids: all.slice(start + 1, end + 1) });
    start = end;
  }
  return found;
}

/** Ends a completion with the token that completes a stop sequence. */
function cut({ ids, ...rest }: Completion, stop: readonly string[]): Completion {
  const length = ids.findIndex((_, i) => stop.some((text) => tokenizer.decode(ids.slice(0, i + 1)).includes(text)));
  return { ...rest, ids: length < 0 ? ids : ids.slice(0, length + 1) };
}

const sorted = (completions: readonly Completion[]): string[] => {
  return completions.map(({ model, prompt, ids }) => JSON.stringify({ model, prompt, ids })).toSorted();
};

const letter = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code));

it("trains each model on exactly the ids that the server sampled from it", async () => {
  const cases = fc.record({
    seed: fc.nat(1_000_000),
    prompts: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6, unit: letter }), { minLength: 2, maxLength: 4 }),
    turns: fc.integer({ min: 1, max: 3 }),
    agents: fc.integer({ min: 1, max: 2 }),
    maxTokens: fc.constantFrom(1, 3, 8),
    stop: fc.array(letter, { maxLength: 40 }),
    encoding: fc.constantFrom("json", "protobuf"),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, prompts, turns, agents, maxTokens, stop, encoding }) => {
      server.requests.length = 0;
      server.sampled.length = 0;
      await using backend = await createTinkerBackend({
        ...{ url: server.url, gradients: "sum", encoding, times: { delayMs: 1 } },
      });
      const run = await runTraining({
        output: temporaryFolder(),
        environment: conversation({ prompts, turns, agents }),
        backend,
        config: {
          algorithm: { id: agents === 1 ? "grpo" : "magrpo", groupSize: 4 },
          model: { path: served.source.path, chatTemplate: "none", adapter: { type: "lora", rank: 4 } },
          sampling: { maxTokens, ...(stop.length === 0 ? {} : { stop }) },
          ...{ seed, preflight: false, probe: { groups: 0 } },
          training: { steps: 1, batchSize: 2, learningRate: 0.01 },
        },
      });
      expect(run.error).toBeUndefined();
      const trained = server.requests
        .filter(({ route }) => route === "forward_backward")
        .flatMap(({ body }) =>
          body.forward_backward_input.data.flatMap((datum: unknown) => completionsOf(body.model_id, datum)),
        );
      expect(new Set(trained.map(({ model }) => model)).size).toBe(agents);
      expect(sorted(trained)).toEqual(sorted(server.sampled.map((sample) => cut(sample, stop))));
    }),
    { numRuns: isSlowTier ? 8 : 4 },
  );
});
