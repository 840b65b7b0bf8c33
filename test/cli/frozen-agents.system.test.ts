import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import { openCatalog } from "../../cli/catalog.ts";
import { trainCommand } from "../../cli/train-command.ts";
import { readMetrics } from "../../reports/training/index.ts";
import type { Episode } from "../../src/contract/episode.ts";
import type { PolicySpecification } from "../../src/core/policy/policy-specification.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import type { OnnxBackendOptions } from "../../trainers/backends/onnx/index.ts";
import { sharedEngine } from "../backends/onnx/shared-engine.ts";
import { chatServer, completion } from "../core/policy/chat-server.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { tinyModel } from "../tiny-model.ts";
import { folderContents } from "./run-lyceum.ts";

/** A debate of two agents. The second agent is frozen. */
const debate = (partner: PolicySpecification | undefined, changes: object = {}): object => ({
  environment: { id: "debate", rounds: 1 },
  model: tinyModel(4096),
  algorithm: { id: "magrpo", groupSize: 2, turnStructure: "episodes", dropGroupsWithoutSignal: false },
  agents: partner === undefined ? {} : { policies: { "debater-2": partner } },
  sampling: { maxTokens: 4 },
  rollout: { trace: true },
  preflight: false,
  probe: { groups: 0 },
  training: { steps: 1, batchSize: 2, learningRate: 0.01, sampleEvery: 1 },
  ...changes,
});

let shared = "";
beforeAll(async () => {
  shared = temporaryFolder();
  await writeFile(join(shared, "answers.json"), '["First things first.", "So much for that."]');
  await train(debate(undefined), { output: join(shared, "earlier") });
});
afterEach(() => void vi.unstubAllEnvs());

/** Runs `lyceum train` with a config in this process, and returns its output. */
async function train(
  config: object,
  { output, resume = false, set = [] }: { readonly output: string; readonly resume?: boolean; readonly set?: string[] },
): Promise<string> {
  const folder = temporaryFolder();
  try {
    await writeFile(join(folder, "config.yaml"), stringify(config));
    let shown = "";
    const write = (text: string): boolean => {
      shown += text;
      return true;
    };
    await trainCommand(
      { config: join(folder, "config.yaml"), set, resume, output },
      {
        catalog: {
          ...(await openCatalog()),
          createBackend: ({ type: _, ...options }) => sharedEngine(options as OnnxBackendOptions),
        },
        view: { stream: { write }, color: false },
        signal: new AbortController().signal,
        resumeCommand: () => "",
      },
    );
    return shown;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function newFolder(): Promise<string> {
  const folder = temporaryFolder();
  return join(folder, "run");
}

const episodesOf = (output: string): Promise<Episode[]> => Array.fromAsync(readTrace(join(output, "trace.jsonl")));

/** Returns the text of the frozen agent. */
function partnerTexts(episodes: readonly Episode[]): Set<string> {
  return new Set(
    episodes.flatMap(({ agents }) => {
      const { nodes, turns } = agents["debater-2"]!;
      return turns.map(({ node }) =>
        nodes[node]!.message.content.map((part) => ("text" in part ? part.text : "")).join(""),
      );
    }),
  );
}

describe("a config assigns an agent a frozen policy", () => {
  test.each<[kind: string, specification: () => PolicySpecification, texts?: RegExp]>([
    ["a script", () => `scripted:${join(shared, "answers.json")}`, /^(First things first|So much for that)\.$/],
    ["a model's folder", () => join(shared, "earlier", "model", "debater-2")],
    ["a checkpoint", () => join(shared, "earlier", "checkpoints", "step-000001")],
    ["a recorded run", () => `replay:${join(shared, "earlier", "trace.jsonl")}`],
    ["the environment's expert", () => "demonstration", /\w+ \w+/],
    [
      "a model with settings of its own",
      () => ({ model: join(shared, "earlier", "model", "debater-2"), sampling: { temperature: 0, maxTokens: 9 } }),
    ],
  ])("%s", async (_, specification, texts = /[\s\S]*/) => {
    const output = await newFolder();
    const given = specification();
    const name = typeof given === "string" ? given : (given.model as string);
    const shown = await train(debate(given), { output });
    expect(shown).toContain("debater-2: ");
    const { events } = await readMetrics(join(output, "metrics.jsonl"));
    const played = (events[0] as { readonly agents: Readonly<Record<string, { readonly policy: string }>> }).agents;
    expect(played["debater-2"]).toMatchObject({ frozen: true });
    const episodes = await episodesOf(output);
    expect(episodes.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "completed"]);
    for (const { agents } of episodes) {
      expect(agents["debater-1"]!.policy).toBe("weights 0");
      expect(agents["debater-2"]!.policy).toBe(played["debater-2"]!.policy);
    }
    for (const text of partnerTexts(episodes)) expect(text).toMatch(texts);
    expect(await readFile(join(output, "report.html"), "utf8")).toContain("(frozen)");
    const { header } = await readMetrics(join(output, "metrics.jsonl"));
    expect(JSON.stringify(header.config)).toContain(JSON.stringify(name).slice(1, -1));
  });

  test.each([
    ["its address"],
    ["the keys of a policy file"],
    ["a policy file"],
  ])("a served model by %s", async (how) => {
    await using server = await chatServer(({ messages }) =>
      messages === undefined ? { body: { data: [] } } : completion("I beg to differ."),
    );
    const output = await newFolder();
    const settings = { model: "partner", baseUrl: server.baseUrl, name: "the served one" };
    const file = join(shared, "served.yaml");
    await writeFile(file, stringify(settings));
    const given = { "its address": `${server.baseUrl}#partner`, "a policy file": file }[how] ?? settings;
    await train(debate(given), { output });
    expect(partnerTexts(await episodesOf(output))).toEqual(new Set(["I beg to differ."]));
    const asked = server.requests.filter(({ body }) => body.messages !== undefined);
    expect(asked.map(({ body }) => body.model)).toEqual(Array.from({ length: 4 }, () => "partner"));
  });
});

describe("a run with a frozen model", () => {
  // Entropy is a training signal if all rewards are equal. The partner's text is in the prompts.
  const steps = (count: number) => ({
    algorithm: { id: "magrpo", groupSize: 2, dropGroupsWithoutSignal: false, entropyWeight: 0.5 },
    training: { steps: count, batchSize: 2, learningRate: 0.01, sampleEvery: 0 },
  });

  test("is bitwise reproducible, resumed or not, and leaves the frozen model unchanged", async () => {
    const partner = join(shared, "earlier", "model", "debater-2");
    const before = await folderContents(partner);
    const weights = async (output: string): Promise<string | undefined> =>
      (await folderContents(join(output, "model", "debater-1")))["model.safetensors"];
    const [whole, again, parts] = [await newFolder(), await newFolder(), await newFolder()];
    await train(debate(partner, steps(4)), { output: whole });
    await train(debate(partner, steps(4)), { output: again });
    await train(debate(partner, steps(2)), { output: parts });
    const half = await weights(parts);
    await train(debate(partner, steps(4)), { output: parts, resume: true });
    expect(await weights(whole)).toBeDefined();
    expect(await weights(again)).toBe(await weights(whole));
    expect(await weights(parts)).toBe(await weights(whole));
    expect(half).not.toBe(await weights(whole));
    expect(await folderContents(partner)).toEqual(before);
    expect(Object.keys(await folderContents(join(whole, "model"))).every((path) => path.startsWith("debater-1/"))).toBe(
      true,
    );
  });

  test("resumes only with the same partner, even if its server has moved", async () => {
    const answer = ({ messages }: { readonly messages?: unknown }) =>
      messages === undefined ? { body: { data: [] } } : completion("No.");
    await using first = await chatServer(answer);
    await using second = await chatServer(answer);
    const served = (baseUrl: string, extraBody: object): PolicySpecification =>
      ({ model: "m", baseUrl, extraBody }) as PolicySpecification;
    const output = await newFolder();
    await train(debate(served(first.baseUrl, { top_k: 1 }), steps(1)), { output });
    await train(debate(served(second.baseUrl, { top_k: 1 }), steps(2)), { output, resume: true });
    await expect(
      train(debate(served(second.baseUrl, { top_k: 2 }), steps(3)), { output, resume: true }),
    ).rejects.toMatchObject({
      code: "checkpoint.unusable",
      message: expect.stringContaining("agents.policies.debater-2.extraBody.top_k (was 1, is 2)"),
    });
  });
});

test("a served partner that fails sometimes leaves its episodes unscored, and the run continues", async () => {
  let asked = 0;
  await using server = await chatServer(({ messages }) => {
    if (messages === undefined) return { body: { data: [] } };
    asked += 1;
    return asked % 3 === 0 ? { status: 500, body: "" } : completion("Perhaps.");
  });
  const output = await newFolder();
  const partner = { model: "m", baseUrl: server.baseUrl, maxRetries: 0 };
  const changes = { training: { steps: 3, batchSize: 2, learningRate: 0.01 } };
  const shown = await train(debate(partner, changes), { output });
  expect(shown).toMatch(/episodes are unscored and were left out/);
  const { events } = await readMetrics(join(output, "metrics.jsonl"));
  const shares = events.flatMap((event) => (event.type === "step" ? [event.metrics["episodes/failed"]!] : []));
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  for (const { status, agents } of await episodesOf(output)) {
    for (const { reward } of Object.values(agents)) expect(reward.status === "scored").toBe(status === "completed");
  }
});

describe("an invalid frozen agent", () => {
  test.each<[string, object, string, RegExp]>([
    [
      "unknown",
      debate(undefined, { agents: { policies: { "debater-3": "demonstration" } } }),
      "config.unknown-name",
      /Unknown agent "debater-3"/,
    ],
    [
      "and leaves nobody to train",
      debate(undefined, { agents: { policies: { "debater-1": "demonstration", "debater-2": "demonstration" } } }),
      "config.invalid",
      /No agent is left to train/,
    ],
    [
      "and trained",
      debate("demonstration", {
        agents: { policies: { "debater-2": "demonstration" }, models: { "debater-2": { scratch: {} } } },
      }),
      "config.invalid",
      /"debater-2" has both a model to train/,
    ],
    ["without a key", debate("openai:gpt-5-mini"), "config.invalid", /OPENAI_API_KEY is not set/],
    ["by half a name", debate("deepseek-coder"), "config.invalid", /DeepSeek serves/],
    [
      "with a key in the config",
      debate({ model: "m", baseUrl: "http://127.0.0.1:1/v1", apiKey: "k" }),
      "config.invalid",
      /apiKey/,
    ],
    ["without a name", debate({ baseUrl: "http://127.0.0.1:1/v1" }), "config.invalid", /agents.policies.debater-2/],
    ["a number", debate(5 as never), "config.invalid", /agents.policies.debater-2/],
  ])("%s is refused before anything is written", async (_, config, code, message) => {
    vi.stubEnv("OPENAI_API_KEY", "");
    const output = await newFolder();
    const error = await train(config, { output }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String((error as Error).message)).toMatch(message);
    await expect(readFile(join(output, "metrics.jsonl"))).rejects.toThrow();
  });
});

test("stages freeze an agent with the weights of an earlier stage", async () => {
  const output = await newFolder();
  const stages = [
    { name: "both", agents: {} },
    { name: "one", agents: { policies: { "debater-2": join(output, "both", "model", "debater-2") } } },
  ];
  await train({ ...debate(undefined), stages }, { output });
  const left = await folderContents(join(output, "one", "model"));
  expect(Object.keys(left).every((path) => path.startsWith("debater-1/"))).toBe(true);
});
