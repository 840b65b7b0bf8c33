import { createHash } from "node:crypto";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Sample } from "../../../src/contract/sampler.ts";
import type { Model, TrainingBackend } from "../../../trainers/backend/training-backend.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { adam, assertClose, exampleData, request, sampleAll } from "../../../trainers/testing/model-subject.ts";
import { isSlowTier } from "../../tier.ts";
import { misfortune, mishaps } from "./mishaps.ts";
import { type ServedModel, servedModel } from "./served-model.ts";
import type { TinkerServer } from "./tinker-server.ts";

let served: ServedModel;
let server: TinkerServer;
let undisturbed: Outcome;
const times = { delayMs: 1, maxDelayMs: 4, retryForMs: 20_000 };

beforeAll(async () => {
  served = await servedModel();
  server = await served.serve();
  undisturbed = await trained(await openModel(server.url), server);
});
afterAll(() => served[Symbol.asyncDispose]());

async function connect(address: string): Promise<TrainingBackend> {
  return createTinkerBackend({ url: address, gradients: "sum", times });
}

function openOn(backend: TrainingBackend): Promise<Model> {
  return backend.openModel({ source: served.source, trainable: { type: "lora", lora: { rank: 4, seed: 3 } } });
}

async function openModel(address: string): Promise<Model> {
  return openOn(await connect(address));
}

/** With this epsilon, the update grows with the gradient, so that data that count twice show. */
const params = { ...adam, epsilon: 1, learningRate: 0.5, clipNorm: Infinity };
const steps = 3;

async function step(model: Model, stepId: number): Promise<void> {
  await model.trainStep!(exampleData(stepId), [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }], { adam: params, stepId });
}

/** What a training ends with. */
interface Outcome {
  readonly samples: readonly Sample[];
  /** The bytes of the trained adapter. */
  readonly adapter: string;
}

/** Samples from a trained model, and exports it after the end of all faults. */
async function outcomeOf(model: Model, to: TinkerServer): Promise<Outcome> {
  // Completions of equal lengths: their shape does not show a swap.
  const requests = [1, 2, 3, 4].map((seed) => {
    return { ...request(model, { seed, temperature: 1, length: 4 }), stopTokenIds: [] };
  });
  const samples = await sampleAll(await model.snapshot(), requests);
  to.fault = {};
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-tinker-adapter-"));
  await model.export(join(folder.path, "adapter"), "peft");
  const adapter = await readFile(join(folder.path, "adapter", "adapter_model.safetensors"));
  return { samples, adapter: createHash("sha256").update(adapter).digest("hex") };
}

/** Trains on a server to the end, without a way to resume. */
async function trained(model: Model, to: TinkerServer): Promise<Outcome> {
  for (let stepId = 1; stepId <= steps; stepId++) await step(model, stepId);
  return outcomeOf(model, to);
}

/** Trains on a server, saves each step, and resumes each time the backend reports that the server lost something. */
async function resumed(to: TinkerServer): Promise<Outcome> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-tinker-states-"));
  let last: { readonly step: number; readonly state: string } | undefined;
  for (let tries = 1; ; tries++) {
    try {
      await using backend = await connect(to.url);
      const model = await openOn(backend);
      if (last !== undefined) await model.load(last.state);
      for (let stepId = (last?.step ?? 0) + 1; stepId <= steps; stepId++) {
        await step(model, stepId);
        const state = join(folder.path, `${tries}-${stepId}`);
        await model.save(state);
        last = { step: stepId, state };
      }
      return await outcomeOf(model, to);
    } catch (error) {
      expect(error).toMatchObject({ code: "backend.unavailable" });
      expect(tries).toBeLessThan(40);
    }
  }
}

/** Compares adapters to the bit. The rounding of a sample depends on what the engine samples at the same time. */
function expectSame(found: Outcome, expected: Outcome): void {
  expect(found.adapter).toBe(expected.adapter);
  expect(found.samples.map(({ ids, finish }) => ({ ids, finish }))).toEqual(
    expected.samples.map(({ ids, finish }) => ({ ids, finish })),
  );
  for (const [i, { logprobs }] of found.samples.entries()) {
    assertClose(Float32Array.from(logprobs), Float32Array.from(expected.samples[i]!.logprobs), 1e-4);
  }
}

const finite = mishaps.filter((mishap) => mishap !== "gone");

describe("a server with sequence ids", () => {
  it.each(finite)("applies each step once if every other request has this fault: %s", async (mishap) => {
    const model = await openModel(server.url);
    server.fault = misfortune(Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? mishap : "none")));
    expectSame(await trained(model, server), undisturbed);
    expect(server.steps.at(-1)).toBe(steps);
    await model.close();
  });
});

describe.each([
  ["with sequence ids", {}, mishaps],
  ["with sequence ids, in protobuf", { binary: true }, mishaps],
  ["without sequence ids", { numbered: false }, mishaps],
  // The client cannot distinguish answers of the same shape there.
  [
    "without sequence ids that does not copy the ids of requests",
    { numbered: false, copiesIds: false },
    mishaps.filter((mishap) => mishap !== "swapped" && mishap !== "earlier-answer"),
  ],
] as const)("a server %s", (_, options, possible) => {
  it("has the weights of a run without faults after any sequence of faults", async () => {
    const hostile = await served.serve({ ...options, pollMs: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...possible), { maxLength: 60 }), async (list) => {
        hostile.fault = misfortune(list);
        expectSame(await resumed(hostile), undisturbed);
      }),
      { numRuns: isSlowTier ? 6 : 2 },
    );
  });
});

describe("a server without sequence ids", () => {
  const only = (wanted: string) => (route: string) => route === wanted;
  let plain: TinkerServer;
  beforeAll(async () => {
    plain = await served.serve({ numbered: false });
  });

  it.each([
    "dropped-after",
    "failed-after",
    "truncated",
    "earlier-answer",
  ] as const)("does not count data twice if the answer to forward_backward is lost: %s", async (mishap) => {
    const model = await openModel(plain.url);
    plain.fault = misfortune([mishap, "none", "none", mishap], only("forward_backward"));
    expectSame(await trained(model, plain), undisturbed);
  });

  it("does not send optim_step again if its answer is lost, and says how to go on", async () => {
    const model = await openModel(plain.url);
    plain.fault = misfortune(["dropped-after"], only("optim_step"));
    const before = plain.requests.length;
    await expect(trained(model, plain)).rejects.toMatchObject({
      code: "backend.unavailable",
      hint: expect.stringContaining("--resume"),
    });
    expect(plain.requests.slice(before).filter(({ route }) => route === "optim_step")).toHaveLength(1);
    await expect(model.optimStep(adam, { stepId: 1 })).rejects.toMatchObject({ code: "backend.unavailable" });
  });

  it.each(["refused-for-now", "too-many"] as const)("sends optim_step again after: %s", async (mishap) => {
    const model = await openModel(plain.url);
    plain.fault = misfortune([mishap, mishap], only("optim_step"));
    expectSame(await trained(model, plain), undisturbed);
    expect(plain.steps.at(-1)).toBe(steps);
  });
});

it.each([
  "dropped-after",
  "dropped-before",
  "truncated",
] as const)("loads a state again into a new model if the outcome of loading is unknown: %s", async (mishap) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-tinker-state-"));
  const model = await openModel(server.url);
  await trained(model, server);
  await model.save(join(folder.path, "state"));
  const other = await openModel(server.url);
  server.fault = misfortune([mishap], (route) => route === "load_weights");
  await other.load(join(folder.path, "state"));
  const outputs = { outputs: ["logprobs"] } as const;
  expect(await other.forward(exampleData(9), outputs)).toEqual(await model.forward(exampleData(9), outputs));
});

describe("a server that loses a request", () => {
  it.each([404, 410])("ends the run with the way to go on: %s", async (status) => {
    const model = await openModel(server.url);
    server.fault = {
      before: (route, _request, response) => {
        if (route !== "retrieve_future") return false;
        response.writeHead(status).end("{}");
        return true;
      },
    };
    await expect(trained(model, server)).rejects.toMatchObject({ code: "backend.unavailable" });
    server.fault = {};
  });

  it("gives up when it has been away for too long", async () => {
    const gone = createTinkerBackend({ url: "http://127.0.0.1:9", times: { ...times, retryForMs: 50 } });
    await expect(gone).rejects.toMatchObject({ code: "backend.unavailable" });
  });

  it("passes on the reason of a request that failed", async () => {
    const model = await openModel(server.url);
    server.fault = {
      before: (route, _request, response) => {
        if (route !== "retrieve_future") return false;
        response.writeHead(400).end('{"detail":"out of memory"}');
        return true;
      },
    };
    await expect(trained(model, server)).rejects.toMatchObject({
      code: "backend.failed",
      message: expect.stringContaining("out of memory"),
    });
    server.fault = {};
  });
});
