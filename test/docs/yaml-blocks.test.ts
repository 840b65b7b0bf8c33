import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadStages } from "../../src/cli/load-stages.ts";
import { readPolicySettings } from "../../src/cli/policy-settings.ts";
import { openRooms } from "../../src/cli/rooms.ts";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { createTinyHub, type TinyHub } from "../examples/tiny-hub.ts";
import { trainOneStep } from "../examples/train-one-step.ts";
import { chatServer, completion } from "../policy/chat-server.ts";
import { blocksOf } from "./code-blocks.ts";

const blocks = await blocksOf("yaml");
let hub: TinyHub;
let backend: TrainingBackend;

type Keys = Readonly<Record<string, unknown>>;

beforeAll(async () => {
  hub = await createTinyHub();
  backend = await createOnnxBackend({ device: "cpu", threads: 1 });
});
afterAll(async () => {
  await backend[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

/** What a part of a config is completed by. */
const base = {
  environment: { id: "math", tasks: "arithmetic", answerOnly: true },
  algorithm: { id: "sft" },
  model: { scratch: {} },
};

/** What a judge of two debaters answers; as the answer of a partner it is a text like any other. */
const verdict = JSON.stringify({
  speakers: [1, 2].map((speaker) => ({ speaker, evidence: 5, reasoning: 5, consistency: 5, answering: 5 })),
});

/** The config with a server that is there in the place of providers and addresses that are not. */
function served(config: object, baseUrl: string): object {
  const text = JSON.stringify(config)
    .replaceAll(/"(?:openai|anthropic):([^"]+)"/g, `"${baseUrl}#$1"`)
    .replaceAll("http://127.0.0.1:8000/v1", baseUrl);
  return JSON.parse(text) as object;
}

describe("the configs of the documents", () => {
  it("are there, one of them whole", () => {
    const whole = blocks.filter(({ code }) => Object.keys(base).every((key) => key in (parse(code) as object)));
    expect(whole.length).toBeGreaterThan(0);
    expect(blocks.length).toBeGreaterThan(5);
  });

  const all = blocks.map((block) => [`${block.document}:${block.line}`, parse(block.code) as Keys] as const);
  // A config's model is a mapping, a policy file's a name.
  const named = all.filter(([, block]) => typeof block.model !== "string");

  it.each(all.filter(([, block]) => typeof block.model === "string"))("%s is a policy file", async (_, block) => {
    const folder = await mkdtemp(join(tmpdir(), "lyceum-policy-"));
    try {
      const path = join(folder, "served.yaml");
      await writeFile(path, JSON.stringify(block));
      expect(await readPolicySettings(path)).toEqual(block);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each(named.filter(([, block]) => !("stages" in block)))("%s trains", async (_, block) => {
    const { environment, ...rest } = base;
    const practised = "environments" in block ? {} : { environment };
    await using server = await chatServer(() => completion(verdict));
    const config = served({ ...practised, ...rest, ...block }, server.baseUrl);
    await using run = await trainOneStep({ config, hub, backend });
    expect(run.output).toMatch(/\nstep 1\/1 /);
    expect(await readdir(run.folder)).toEqual(expect.arrayContaining(["metrics.jsonl", "model", "report.html"]));
  });

  it.each(named.filter(([, block]) => "stages" in block))("%s loads in stages", async (_, block) => {
    const folder = await mkdtemp(join(tmpdir(), "lyceum-stages-"));
    try {
      const path = join(folder, "train.yaml");
      await writeFile(path, JSON.stringify(block));
      const stages = await loadStages({ path, overrides: [], rooms: await openRooms() });
      expect(stages.length).toBe((block.stages as unknown[]).length);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
