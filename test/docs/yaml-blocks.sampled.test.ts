import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import { loadStages } from "../../cli/load-stages.ts";
import { readPolicySettings } from "../../cli/policy-settings.ts";
import { environments } from "../../environments/index.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { policySpec } from "../../trainers/config/model-config.ts";
import { checkConfig } from "../../trainers/config/training-config.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { startTinkerServer } from "../backends/tinker/tinker-server.ts";
import { chatServer, completion } from "../core/policy/chat-server.ts";
import { createTinyHub, type TinyHub } from "../examples/tiny-hub.ts";
import { trainOneStep } from "../examples/train-one-step.ts";
import { serveUnderTest } from "../server/client/server-under-test.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { sampleOf } from "../tier.ts";
import { blocksOf } from "./code-blocks.ts";

const blocks = await blocksOf("yaml");
let hub: TinyHub;
let backend: TrainingBackend;
/** The model that the documents call runs/grpo/model. */
let adapter: string;

type Keys = Readonly<Record<string, unknown>>;

beforeAll(async () => {
  hub = await createTinyHub();
  backend = await sharedEngine();
  adapter = temporaryFolder();
  const { model } = checkConfig({
    algorithm: { id: "sft" },
    model: { scratch: {}, adapter: { type: "lora" } },
  });
  await (await backend.openModel(policySpec(model, { seed: 0 }))).export(adapter, "peft");
  const agent = (await blocksOf("ts")).find(({ file }) => file === "agent.ts");
  await writeFile(join(adapter, "agent.ts"), agent!.code);
});
afterAll(async () => {
  await backend[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

/** The keys that complete a part of a config. */
const base = {
  environment: { id: "math", tasks: "arithmetic", answerOnly: true },
  algorithm: { id: "sft" },
  model: { scratch: {} },
};

/** The answer of a judge of two debaters. As the answer of a partner, it is an ordinary text. */
const verdict = JSON.stringify({
  speakers: [1, 2].map((speaker) => ({ speaker, evidence: 5, reasoning: 5, consistency: 5, answering: 5 })),
});

/** The keys that are changed to make a run one short step. */
function shortened({ rewards = [], training, ...rest }: Keys): object {
  const { epochs: _, ...steps } = (training ?? {}) as Keys;
  const short = (rewards as readonly Keys[]).map((link) => (link.cache === undefined ? link : { ...link, cache: 4 }));
  return {
    ...rest,
    ...(short.length === 0 ? {} : { rewards: short }),
    ...(training === undefined ? {} : { training: steps }),
  };
}

/** Replaces the servers, the adapter and the agent of a config by existing ones. */
function served(
  config: object,
  { baseUrl, guessing, trainer }: { readonly baseUrl: string; readonly guessing: string; readonly trainer: string },
): object {
  const text = JSON.stringify(config)
    .replaceAll(/"(?:openai|anthropic):([^"]+)"/g, `"${baseUrl}#$1"`)
    .replaceAll("http://127.0.0.1:8000/v1", baseUrl)
    .replaceAll('"http://127.0.0.1:8000"', `"${trainer}"`)
    // It is no MLflow server and says so at once. Without a server, the tracker would try for half a minute.
    .replaceAll("http://localhost:5000", trainer)
    .replaceAll("grpc://127.0.0.1:50051/guessing", guessing)
    .replaceAll("runs/grpo/model", adapter)
    .replaceAll("./agent.ts", join(adapter, "agent.ts"));
  return JSON.parse(text) as object;
}

describe("the configs of the documents", () => {
  it("exist, and one of them is complete", () => {
    const whole = blocks.filter(({ code }) => Object.keys(base).every((key) => key in (parse(code) as object)));
    expect(whole.length).toBeGreaterThan(0);
    expect(blocks.length).toBeGreaterThan(5);
  });

  const all = blocks.map((block) => [`${block.document}:${block.line}`, parse(block.code) as Keys] as const);
  // `model` is a mapping in a config and a text in a policy file. The agents of a config are not names of agents.
  const isPolicyFile = ({ model, agents }: Keys): boolean =>
    typeof model === "string" ||
    (agents !== undefined && !/^(policies|programs|weights|models)$/.test(Object.keys(agents!)[0]!));
  const named = all.filter(([, block]) => !isPolicyFile(block));
  const unstaged = named.filter(([, block]) => !("stages" in block));

  it.each(all.filter(([, block]) => isPolicyFile(block)))("%s is a policy file", async (_, block) => {
    const folder = temporaryFolder();
    try {
      const path = join(folder, "served.yaml");
      await writeFile(path, JSON.stringify(block));
      const settings = await readPolicySettings(path);
      if (block.agents === undefined) expect(settings).toEqual(block);
      else expect(Object.keys(settings.agents!)).toEqual(Object.keys(block.agents as object));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each(sampleOf(unstaged, 8))("%s trains", async (_, block) => {
    const { environment, ...rest } = base;
    const practised = "environments" in block ? {} : { environment };
    await using server = await chatServer(() => completion(verdict));
    await using games = await serveUnderTest(environments.create("number-guessing"), { protocol: "grpc" });
    const { baseUrl } = server;
    const source = { type: "pretrained", path: "Qwen/Qwen3-0.6B" } as const;
    await using trainer = await startTinkerServer({ backend, source });
    const addresses = { baseUrl, guessing: games.url, trainer: trainer.url };
    const config = served({ ...practised, ...rest, ...shortened(block) }, addresses);
    await using run = await trainOneStep({ config, hub, set: ["preflight=false"] });
    expect(run.output).toMatch(/\nstep 1\/1 /);
    expect(await readdir(run.folder)).toEqual(expect.arrayContaining(["metrics.jsonl", "model", "report.html"]));
  });

  it.each(named.filter(([, block]) => "stages" in block))("%s loads in stages", async (_, block) => {
    const folder = temporaryFolder();
    try {
      const path = join(folder, "train.yaml");
      await writeFile(path, JSON.stringify(block));
      const stages = await loadStages({ path, overrides: [], catalog: await openCatalog() });
      expect(stages.length).toBe((block.stages as unknown[]).length);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
