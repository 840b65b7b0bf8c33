import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Catalog, openCatalog } from "../../cli/catalog.ts";
import { createPolicyOpener } from "../../cli/policy-opener.ts";
import { trainCommand } from "../../cli/train-command.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { actRequest } from "../core/policy/act-request.ts";
import { chatServer, completion } from "../core/policy/chat-server.ts";
import { trainedFolder } from "./trained-folder.ts";

let folder: string;
beforeAll(async () => {
  folder = await trainedFolder();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const signal = new AbortController().signal;
const pair = defineParallelEnvironment({
  id: "pair",
  agents: ["aux", "main"],
  tasks: ["one"],
  reset: () => ({ aux: "a", main: "b" }),
  step: () => ({ rewards: {} }),
});

/** Everything that is part of Lyceum, with counts of started and closed engines. */
async function countedRooms(): Promise<{
  readonly catalog: Catalog;
  readonly engines: { started: number; closed: number };
}> {
  const catalog = await openCatalog();
  const engines = { started: 0, closed: 0 };
  const createBackend: Catalog["createBackend"] = async (config) => {
    const backend = await catalog.createBackend(config);
    engines.started += 1;
    return {
      specificationVersion: backend.specificationVersion,
      capabilities: backend.capabilities,
      openModel: (spec, options) => backend.openModel(spec, options),
      close: () => backend.close(),
      [Symbol.asyncDispose]: async () => {
        engines.closed += 1;
        await backend.close();
      },
    };
  };
  return { catalog: { ...catalog, createBackend }, engines };
}

test("the models of a command run on one engine, and each is opened once", async () => {
  const { catalog, engines } = await countedRooms();
  {
    await using opener = createPolicyOpener({ catalog, engine: { type: "onnx", device: "cpu" }, signal });
    const model = join(folder, "runs/lora/model");
    const judge = await opener.open(model, "judge");
    expect(await opener.open(model, "expert")).toBe(judge);
    expect(await opener.openSettings({ model })).toBe(judge);
    await opener.openSettings({ model: join(folder, "runs/team") }, { environment: pair });
    await opener.openSettings({ model: join(folder, "runs/team") }, { environment: pair, played: ["aux"] });
    expect(engines).toEqual({ started: 1, closed: 0 });
  }
  expect(engines).toEqual({ started: 1, closed: 1 });
});

test("no engine starts if no model needs one", async () => {
  const { catalog, engines } = await countedRooms();
  await using opener = createPolicyOpener({ catalog, signal });
  await opener.open("openai-compatible:http://127.0.0.1:1/v1#m", "judge");
  expect(engines.started).toBe(0);
});

test("a training shares its engine with a frozen partner", async () => {
  const { catalog, engines } = await countedRooms();
  const set = [`agents.policies.aux=${join(folder, "runs/team")}`, "training.steps=1"];
  await trainCommand(
    { config: join(folder, "team.yaml"), set, resume: false, output: join(folder, "runs/beside") },
    { catalog, view: { stream: { write: () => true }, color: false }, signal, resumeCommand: () => "" },
  );
  expect(engines).toEqual({ started: 1, closed: 1 });
});

test.each([
  [{ omit: ["temperature", "seed"] }, { max_tokens: 9 }],
  [{ maxTokensField: "max_completion_tokens" }, { temperature: 1, seed: 1, max_completion_tokens: 9 }],
  [
    { omit: ["temperature"], maxTokensField: "max_completion_tokens" },
    { seed: 1, max_completion_tokens: 9 },
  ],
  [{ omit: ["max_tokens", "seed"] }, { temperature: 1 }],
  [{ omit: ["temperature", "seed", "max_completion_tokens"], maxTokensField: "max_completion_tokens" }, {}],
])("a judge or an expert of a config is sent no more than %j", async (options, sent) => {
  await using server = await chatServer(() => completion("Yes."));
  await using opener = createPolicyOpener({ catalog: await openCatalog(), signal });
  for (const role of ["judge", "expert"]) {
    const policy = await opener.open({ model: "m", baseUrl: server.baseUrl, ...options }, role);
    await policy.act(actRequest({ seed: 1, sampling: { temperature: 1, maxTokens: 9 } }));
    const { model: _, messages: __, ...fields } = server.requests.at(-1)!.body;
    expect(fields).toEqual(sent);
  }
});

test("a provider's model has the settings that can be left out", async () => {
  await using opener = createPolicyOpener({ catalog: await openCatalog(), signal });
  await expect(opener.open({ model: "openai:m", omit: ["max_tokens"] }, "judge")).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringMatching(/omit.*maxOutputTokens, temperature, topP, topK, seed, stopSequences/s),
  });
});
