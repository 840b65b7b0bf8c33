import { mkdtempDisposable } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Model } from "../../../trainers/backend/training-backend.ts";
import { createTinkerBackend } from "../../../trainers/backends/tinker/index.ts";
import { adam, exampleData, request, sampleAll } from "../../../trainers/testing/model-subject.ts";
import { type ServedModel, servedModel } from "./served-model.ts";
import type { Answer, Fault, TinkerServer } from "./tinker-server.ts";

/** What can happen to one request. */
type Mishap =
  | "none"
  | "refused-for-now"
  | "too-many"
  | "failed-before"
  | "dropped-before"
  | "failed-after"
  | "dropped-after"
  | "truncated"
  | "not-ready"
  | "earlier-answer";

const mishaps: readonly Mishap[] = [
  ...["none", "refused-for-now", "too-many", "failed-before", "dropped-before"],
  ...["failed-after", "dropped-after", "truncated", "not-ready", "earlier-answer"],
] as Mishap[];

let served: ServedModel;
let server: TinkerServer;
const times = { delayMs: 1, maxDelayMs: 4, retryForMs: 20_000 };

beforeAll(async () => {
  served = await servedModel();
  server = await served.serve();
});
afterAll(() => served[Symbol.asyncDispose]());

/** Does the next mishap of a list to each request, and none after its end. */
function misfortune(list: readonly Mishap[], only: (route: string) => boolean = () => true): Fault {
  const left = [...list];
  let earlier: Answer | undefined;
  let current: Mishap = "none";
  const answer = (response: ServerResponse, status: number, body: string | Buffer, type = "application/json"): true => {
    response.writeHead(status, { "content-type": type, "retry-after-ms": "1" }).end(body);
    return true;
  };
  return {
    before: (route, request, response) => {
      current = only(route) ? (left.shift() ?? "none") : "none";
      // One mishap belongs to one request: others may come in between.
      const poll = route === "retrieve_future";
      if (current === "refused-for-now") return answer(response, 408, "{}");
      if (current === "too-many") return answer(response, 429, "{}");
      if (current === "failed-before") return answer(response, 503, "{}");
      if (current === "not-ready" && poll) return answer(response, 200, '{"type":"try_again"}');
      if (current === "earlier-answer" && poll && earlier !== undefined) {
        return answer(response, 200, earlier.body, earlier.headers["content-type"]);
      }
      if (current === "dropped-before") {
        request.socket.destroy();
        return true;
      }
      return false;
    },
    after: (route, response, given) => {
      const mishap = current;
      current = "none";
      if (mishap === "none" && route === "retrieve_future") earlier = given;
      if (mishap === "failed-after") return answer(response, 500, "{}");
      if (mishap === "truncated")
        return answer(response, 200, given.body.subarray(0, given.body.length / 2), given.headers["content-type"]);
      if (mishap === "dropped-after") {
        response.socket?.destroy();
        return true;
      }
      return false;
    },
  };
}

async function openModel(address: string): Promise<Model> {
  const backend = await createTinkerBackend({ url: address, gradients: "sum", times });
  return backend.openModel({ source: served.source, trainable: { type: "lora", lora: { rank: 4, seed: 3 } } });
}

/** With this epsilon, the update grows with the gradient, so that data that count twice show. */
const params = { ...adam, epsilon: 1, learningRate: 0.5, clipNorm: Infinity };

/** Takes three steps and samples once. Returns what the model computes afterwards. */
async function trained(model: Model): Promise<unknown> {
  for (let step = 1; step <= 3; step++) {
    await model.trainStep!(exampleData(step), [{ type: "ppo", clipLow: 0.2, clipHigh: 0.2 }], {
      adam: params,
      stepId: step,
    });
  }
  const samples = await sampleAll(await model.snapshot(), [request(model, { seed: 1, temperature: 1, length: 4 })]);
  return { samples, logprobs: await model.forward(exampleData(9), { outputs: ["logprobs"] }) };
}

/** Returns how many steps the server has applied to the newest model. */
function appliedSteps(to: TinkerServer): number | undefined {
  return to.steps.at(-1);
}

describe("a server with sequence ids", () => {
  it.each(mishaps)("applies each step once if every other request meets: %s", async (mishap) => {
    const expected = await trained(await openModel(server.url));
    const model = await openModel(server.url);
    server.fault = misfortune(Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? mishap : "none")));
    expect(await trained(model)).toEqual(expected);
    server.fault = {};
    expect(appliedSteps(server)).toBe(3);
  });

  it("applies each step once under any sequence of mishaps", async () => {
    const expected = await trained(await openModel(server.url));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...mishaps), { maxLength: 60 }), async (list) => {
        const model = await openModel(server.url);
        server.fault = misfortune(list);
        try {
          expect(await trained(model)).toEqual(expected);
          expect(appliedSteps(server)).toBe(3);
        } finally {
          server.fault = {};
        }
        await model.close();
      }),
      { numRuns: 15 },
    );
  });
});

describe("a server without sequence ids", () => {
  const only = (wanted: string) => (route: string) => route === wanted;
  let plain: TinkerServer;
  let expected: unknown;
  beforeAll(async () => {
    plain = await served.serve({ numbered: false });
    expected = await trained(await openModel(plain.url));
  });

  it.each([
    "dropped-after",
    "failed-after",
    "truncated",
  ] as const)("does not count data twice if the answer to forward_backward is lost: %s", async (mishap) => {
    const model = await openModel(plain.url);
    plain.fault = misfortune([mishap, "none", "none", mishap], only("forward_backward"));
    expect(await trained(model)).toEqual(expected);
  });

  it("does not send optim_step again if its answer is lost, and says how to go on", async () => {
    const model = await openModel(plain.url);
    plain.fault = misfortune(["dropped-after"], only("optim_step"));
    const before = plain.requests.length;
    await expect(trained(model)).rejects.toMatchObject({
      code: "backend.unavailable",
      hint: expect.stringContaining("--resume"),
    });
    expect(plain.requests.slice(before).filter(({ route }) => route === "optim_step")).toHaveLength(1);
    await expect(model.optimStep(adam, { stepId: 1 })).rejects.toMatchObject({ code: "backend.unavailable" });
  });

  it.each(["refused-for-now", "too-many"] as const)("sends optim_step again after: %s", async (mishap) => {
    const model = await openModel(plain.url);
    plain.fault = misfortune([mishap, mishap], only("optim_step"));
    expect(await trained(model)).toEqual(expected);
    expect(appliedSteps(plain)).toBe(3);
  });
});

it.each([
  "dropped-after",
  "dropped-before",
  "truncated",
] as const)("loads a state again into a new model if nobody knows whether it was loaded: %s", async (mishap) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "lyceum-tinker-state-"));
  const model = await openModel(server.url);
  await trained(model);
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
    await expect(trained(model)).rejects.toMatchObject({ code: "backend.unavailable" });
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
    await expect(trained(model)).rejects.toMatchObject({
      code: "backend.failed",
      message: expect.stringContaining("out of memory"),
    });
    server.fault = {};
  });
});
