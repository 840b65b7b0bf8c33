import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCatalog } from "../../cli/catalog.ts";
import { createPolicyOpener } from "../../cli/policy-opener.ts";
import type { PolicySettings } from "../../cli/policy-settings.ts";
import { textMessage } from "../../src/contract/message.ts";
import type { ActRequest } from "../../src/contract/policy.ts";
import { defaultSampling } from "../../src/contract/sampler.ts";
import { readEntries } from "../../src/evaluation/log/read-log.ts";
import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createTinkerBackend } from "../../trainers/backends/tinker/index.ts";
import { adam, exampleData } from "../../trainers/testing/model-subject.ts";
import { type ServedModel, servedModel } from "../backends/tinker/served-model.ts";
import type { TinkerServer } from "../backends/tinker/tinker-server.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { letterEnvironment } from "../trainers/letter-environment.ts";
import { runTraining } from "../trainers/run-training.ts";
import { lyceum } from "./run-lyceum.ts";

let served: ServedModel;
let server: TinkerServer;
let training: TrainingBackend;
/** A model in training on the server, far from the base model. */
let trained: Model;
beforeAll(async () => {
  served = await servedModel();
  server = await served.serve();
  training = await createTinkerBackend({ url: server.url, gradients: "sum", times: { delayMs: 1 } });
  trained = await training.openModel({ source: served.source, trainable: { type: "lora", lora: { rank: 4 } } });
  for (let stepId = 1; stepId <= 3; stepId++) {
    await trained.forwardBackward(exampleData(1), [{ type: "crossEntropy" }]);
    await trained.optimStep({ ...adam, learningRate: 0.3 }, { stepId });
  }
});
afterAll(async () => {
  await training.close();
  await served[Symbol.asyncDispose]();
});

/** Opens a policy as `lyceum eval` does, and returns its greedy answer to one prompt. */
async function answer(settings: Partial<PolicySettings> & { readonly model: string }): Promise<readonly number[]> {
  const opener = createPolicyOpener({ catalog: await openCatalog(), signal: new AbortController().signal });
  await using _ = opener;
  const policy = await opener.openSettings({ chatTemplate: "none", ...settings });
  const request: ActRequest = {
    agent: "agent",
    messages: [textMessage("user", "Twice 2?")],
    sampling: { ...defaultSampling, temperature: 0, maxTokens: 8 },
    seed: 1,
  };
  return (await policy.act(request)).tokens!.completionIds;
}

/** Returns the paths of the newest saved weights of a kind on the server. */
const saved = (route: string): string => {
  const { body } = server.requests.findLast((request) => request.route === route)!;
  const kind = route === "save_weights" ? "weights" : "sampler_weights";
  return `tinker://${body.model_id}/${kind}/${body.path}`;
};

describe("a model on a Tinker server", () => {
  it("is the base model", async () => {
    const local = await answer({ model: served.source.path });
    server.sampled.length = 0;
    expect(await answer({ model: served.source.path, backendUrl: server.url })).toEqual(local);
    expect(server.sampled.map(({ ids }) => ids)).toEqual([local]);
  });

  it("is not waited for after an abort", async () => {
    const stop = new AbortController();
    const opener = createPolicyOpener({ catalog: await openCatalog(), signal: stop.signal });
    await using _ = opener;
    const { path } = served.source;
    // Nothing listens on this port, so that the client tries again and again.
    const opening = opener.openSettings({ model: path, chatTemplate: "none", backendUrl: "http://127.0.0.1:9" });
    stop.abort(new Error("ended by the user"));
    await expect(opening).rejects.toThrow("ended by the user");
  });

  it("is a saved state or saved sampler weights, with the answers of the model that was saved", async () => {
    await trained.save(join(temporaryFolder(), "state"));
    const sampler = await trained.snapshot();
    const base = await answer({ model: served.source.path, backendUrl: server.url });
    const remote = { backendUrl: server.url, base: served.source.path };
    const state = await answer({ model: saved("save_weights"), ...remote });
    expect(state).not.toEqual(base);
    // The snapshot of the state was the last one that was saved. The sampler's own is before it.
    const [first] = server.requests.filter(({ route }) => route === "save_weights_for_sampler");
    const path = `tinker://${first!.body.model_id}/sampler_weights/${first!.body.path}`;
    expect(await answer({ model: path, ...remote })).toEqual(state);
    await sampler.close();
  });

  it("is a checkpoint of a run on the server", async () => {
    const output = temporaryFolder();
    const model = { path: served.source.path, chatTemplate: "none", adapter: { type: "lora", rank: 4 } } as const;
    const config = { algorithm: { id: "sft" }, model, training: { steps: 2, batchSize: 4, learningRate: 0.3 } };
    const { error } = await runTraining({ output, config, environment: letterEnvironment(), backend: training });
    expect(error).toBeUndefined();
    const exported = await answer({ model: join(output, "model"), base: served.source.path });
    const checkpoint = join(output, "checkpoints/step-000002");
    server.sampled.length = 0;
    expect(await answer({ model: checkpoint, backendUrl: server.url })).toEqual(exported);
    expect(server.sampled).toHaveLength(1);
    const refused = answer({ model: join(output, "model"), backendUrl: server.url });
    await expect(refused).rejects.toMatchObject({
      code: "backend.unsupported",
      message: expect.stringContaining("is an adapter, which cannot be sent to the server"),
      hint: expect.stringContaining("checkpoint"),
    });
  });

  it.each([
    [{}, "config.invalid", /--backend-url/],
    [{ backendUrl: "URL" }, "config.invalid", /--base/],
    [{ backendUrl: "URL", base: "BASE" }, "backend.unavailable", /tinker:\/\/none/],
  ])("is refused with what is missing: %o", async (given: Record<string, string>, code, text) => {
    const known: Record<string, string> = { URL: server.url, BASE: served.source.path };
    const settings = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, known[value]!]));
    const error = await answer({ model: "tinker://none/sampler_weights/a", ...settings }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code });
    expect(`${error.message} ${error.hint}`).toMatch(text);
  });
});

it("lyceum eval plays on the server", async () => {
  const folder = temporaryFolder();
  const define = JSON.stringify(join(import.meta.dirname, "../../src/core/environment/define-environment.ts"));
  await writeFile(
    join(folder, "echo.ts"),
    `import { defineEnvironment } from ${define};
export const environment = defineEnvironment({ id: "echo", tasks: ["a", "b"], reset: ({ task }) => task, step: () => ({ reward: 1 }) });
`,
  );
  server.sampled.length = 0;
  const words = ["eval", "--env", "./echo.ts", "-m", served.source.path, "-M", "chatTemplate=none"];
  const { code, stderr } = await lyceum([...words, "--backend-url", server.url, "--max-tokens", "3", "-o", "run"], {
    folder,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect((await readEntries(join(folder, "run"))).size).toBe(2);
  expect(server.sampled).toHaveLength(2);
});
