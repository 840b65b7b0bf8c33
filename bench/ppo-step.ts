import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StepEvent } from "../src/contract/training-event.ts";
import { defineEnvironment } from "../src/core/environment/define-environment.ts";
import type { Model, TrainingBackend } from "../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../trainers/backends/onnx/index.ts";
import { train } from "../trainers/training/train.ts";
import type { Benchmark, BenchmarkResult } from "./benchmark.ts";
import { model135m } from "./model-135m.ts";

const [promptTokens, sampledTokens] = [96, 32];
const rounds = 6;
/** 12 of the 30 layers of the 135M shape. */
const source = { ...model135m, config: { ...model135m.config, num_hidden_layers: 12 } };

/** Milliseconds per trained token. */
interface StepTime {
  readonly rollout: number;
  readonly update: number;
  /** Processor time of all threads, over both. Other work on the machine affects it least. */
  readonly processor: number;
}

/**
 * Measures the cost of PPO's critic as a head on the policy: steps of PPO relative to steps of GRPO with equal tokens.
 * It uses 12 layers of the 135M shape with LoRA, and four episodes of 128 tokens, of which 32 are sampled. It also
 * measures PPO with a sampler that returns no values, so that a separate pass computes them. The variants alternate
 * step by step because a machine's speed drifts, and the fastest step of each counts.
 */
export const ppoStep: Benchmark = {
  prefix: "ppo-step",
  run: async () => {
    await using backend = await createOnnxBackend({ device: "cpu" });
    // Kept open so that all runs share its weights.
    await backend.openModel({ source, trainable: { type: "frozen" } });
    const output = await mkdtemp(join(tmpdir(), "lyceum-bench-ppo-"));
    const open = (id: string, change: Change) =>
      steps({ id, backend: changed(backend, change), output: join(output, `${id}-${change.name}`) });
    const runs = { grpo: open("grpo", asItIs), ppo: open("ppo", asItIs), pass: open("ppo", withoutValues) };
    try {
      const found: Record<keyof typeof runs, StepTime>[] = [];
      // The first round compiles the graphs.
      for (let round = 0; round <= rounds; round++) {
        const times = { grpo: await next(runs.grpo), ppo: await next(runs.ppo), pass: await next(runs.pass) };
        if (round > 0) found.push(times);
      }
      const fastest = (run: keyof typeof runs): StepTime => ({
        rollout: Math.min(...found.map((times) => times[run].rollout)),
        update: Math.min(...found.map((times) => times[run].update)),
        processor: Math.min(...found.map((times) => times[run].processor)),
      });
      const grpo = fastest("grpo");
      const tokens = 4 * sampledTokens;
      const results: BenchmarkResult[] = [
        { name: "ppo-step/grpo-rollout-ms", value: tokens * grpo.rollout, unit: "ms" },
        { name: "ppo-step/grpo-update-ms", value: tokens * grpo.update, unit: "ms" },
      ];
      for (const [name, run] of [
        ["", "ppo"],
        ["with-pass-", "pass"],
      ] as const) {
        const asked = run === "ppo" ? { baseline: 1.3 } : {};
        const add = (part: string, time: (step: StepTime) => number): void => {
          const value = time(fastest(run)) / time(grpo);
          results.push({ name: `ppo-step/${name}${part}over-grpo`, value, unit: "ratio", ...asked });
        };
        add("", ({ rollout, update }) => rollout + update);
        add("update-", ({ update }) => update);
        add("rollout-", ({ rollout }) => rollout);
        add("processor-", ({ processor }) => processor);
      }
      return results;
    } finally {
      for (const run of Object.values(runs)) await run.return();
      await rm(output, { recursive: true, force: true });
    }
  },
};

type Change = (model: Model) => Partial<Model>;

const asItIs: Change = () => ({});

const withoutValues: Change = (model) => ({
  snapshot: async () => {
    const sampler = await model.snapshot();
    return {
      specificationVersion: "v1",
      version: sampler.version,
      async *sample(requests, options) {
        for await (const { values: _, ...sample } of sampler.sample(requests, options)) yield sample;
      },
      close: () => sampler.close(),
    };
  },
});

/** Wraps the backend: every model has that shape, and some of its methods are replaced. */
function changed(backend: TrainingBackend, change: Change): TrainingBackend {
  return new Proxy(backend, {
    get: (target, key) =>
      key === "openModel"
        ? async (...[spec, options]: Parameters<TrainingBackend["openModel"]>) => {
            const model = await target.openModel({ ...spec, source }, options);
            return replaced(model, change(model));
          }
        : bound(target, key),
  });
}

function replaced(model: Model, changes: Partial<Model>): Model {
  return new Proxy(model, {
    get: (target, key) => (Object.hasOwn(changes, key) ? Reflect.get(changes, key) : bound(target, key)),
  });
}

function bound(target: object, key: PropertyKey): unknown {
  const value: unknown = Reflect.get(target, key, target);
  return typeof value === "function" ? value.bind(target) : value;
}

/** Yields the steps of a run. Each step runs when it is requested. */
async function* steps(options: {
  readonly id: string;
  readonly backend: TrainingBackend;
  readonly output: string;
}): AsyncGenerator<StepEvent, void, undefined> {
  const events = train({
    ...options,
    environment: guessing,
    config: {
      algorithm: { id: options.id, groupSize: 2, epochs: 1, minibatches: 1, klWeight: 0 },
      model: { scratch: {}, adapter: { type: "lora", rank: 16 } },
      sampling: { maxTokens: sampledTokens },
      training: { steps: rounds + 2, batchSize: 2, learningRate: 1e-5, sampleEvery: 0 },
      checkpoint: { every: 0 },
      export: { format: "none" },
    },
  });
  for await (const event of events) if (event.type === "step") yield event;
}

async function next(run: AsyncGenerator<StepEvent, void, undefined>): Promise<StepTime> {
  const before = process.cpuUsage();
  const { value } = await run.next();
  const { user, system } = process.cpuUsage(before);
  const metrics = value!.metrics;
  const tokens = metrics["tokens/trained"];
  if (!tokens) throw new Error("A step had no samples.");
  return {
    rollout: metrics["time/rollout-ms"]! / tokens,
    update: metrics["time/update-ms"]! / tokens,
    processor: (user + system) / 1000 / tokens,
  };
}

let played = 0;

/** An environment with a long prompt and an uninformative reward that differs between episodes. */
const guessing = defineEnvironment<number>({
  id: "guessing",
  tasks: Array.from({ length: 100 }, (_, index) => index),
  reset: ({ task }) => String(task).padStart(promptTokens, "."),
  step: () => ({ reward: played++ }),
});
