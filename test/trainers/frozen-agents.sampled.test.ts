import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import type { Episode } from "../../src/contract/episode.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { textMessage, textOf } from "../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../src/contract/policy.ts";
import { defineParallelEnvironment } from "../../src/core/environment/define-parallel-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { readTrace } from "../../src/core/trace/read-trace.ts";
import type { AlgorithmDefinition } from "../../trainers/algorithms/index.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";
import type { TrainingConfigInput } from "../../trainers/config/training-config.ts";
import { type OpenPolicy, openModelPolicy } from "../../trainers/models/open-policy.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { sampleOf } from "../tier.ts";
import { createBigramBackend } from "./bigram-backend.ts";
import { type CatalogueCase, catalogue } from "./catalogue.ts";
import { eventsOf, letterConfig, type RunRecord, runEnd, runTraining } from "./run-training.ts";
import { teamEnvironment } from "./team-environment.ts";

const team = (turns = 1): EnvironmentDefinition => teamEnvironment({ turns }) as EnvironmentDefinition;

/** The policy of `right` that always answers correctly: with the class of the letter in its prompt. */
const rightPartner = scriptedPolicy(
  ({ messages }) => {
    const prompt = textOf(messages.at(-1)!);
    return String.fromCharCode(64 + ((prompt.charCodeAt(prompt.length - 1) - 97 + 1) % 2));
  },
  { name: "the right one" },
);

/** A model that is not trained and returns tokens. */
async function embeddedPartner(): Promise<OpenPolicy> {
  const model = await createBigramBackend().openModel({
    source: { type: "scratch", config: {}, seed: 5 },
    trainable: { type: "frozen" },
  });
  return openModelPolicy(model);
}

/** Returns the same policy without its tokens. */
function withoutTokens(policy: Policy): Policy {
  return {
    ...policy,
    act: async (request) => {
      const { action } = await policy.act(request);
      return { action };
    },
  };
}

const config = (changes: Partial<TrainingConfigInput> = {}): TrainingConfigInput =>
  letterConfig({
    algorithm: { id: "magrpo", groupSize: 8 },
    ...changes,
    training: { steps: 3, batchSize: 8, learningRate: 0.6, epsilon: 1e-3, sampleEvery: 1, ...changes.training },
  });

async function episodesOf(output: string): Promise<Episode[]> {
  return Array.fromAsync(readTrace(join(output, "trace.jsonl")));
}

/** Returns all files of the models in a run's last checkpoint. */
async function models(output: string): Promise<Record<string, string>> {
  const checkpoints = join(output, "checkpoints");
  const folder = join(checkpoints, (await readdir(checkpoints)).toSorted().at(-1)!);
  const files: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "manifest.json") continue;
    const path = join(entry.parentPath, entry.name);
    files[path.slice(folder.length)] = await readFile(path, "utf8");
  }
  return files;
}

async function played(options: Partial<Parameters<typeof runTraining>[0]>): Promise<RunRecord & { output: string }> {
  const output = temporaryFolder();
  const record = await runTraining({ output, environment: team(), config: config(), ...options });
  return { ...record, output };
}

const teams = catalogue.filter(({ environment }) => environment().spec.agents.length > 1);
const cases = teams.map((entry) => ({ name: `${entry.id} ${JSON.stringify(entry.settings ?? {})}`, entry }));

describe("a frozen agent", () => {
  it("is played by its policy while the other learns, and is recorded in events, traces and checkpoints", async () => {
    const record = await played({
      policies: { right: rightPartner },
      config: config({
        rollout: { trace: true },
        evaluation: { split: "test", temperature: 1, limit: 32 },
        training: { steps: 20 },
      }),
    });
    expect(record.error).toBeUndefined();
    const evaluations = eventsOf(record, "evaluation").map(({ metrics }) => metrics["reward/mean"]!);
    expect(evaluations.at(-1)! - evaluations[0]!).toBeGreaterThan(0.4);
    for (const { agents } of await episodesOf(record.output)) {
      expect(agents.right!.policy).toBe("the right one");
      expect(agents.left!.policy).toMatch(/^weights \d+$/);
    }
    expect(eventsOf(record, "run-start")[0]!.agents).toEqual({
      left: { policy: "llama from scratch" },
      right: { policy: "the right one", frozen: true },
    });
    const path = join(record.output, "checkpoints", "step-000020", "manifest.json");
    const manifest = JSON.parse(await readFile(path, "utf8")) as {
      readonly models: object;
      readonly config: { readonly agents: object };
    };
    expect(Object.keys(manifest.models)).toEqual(["model/left"]);
    expect(manifest.config.agents).toMatchObject({ policies: { right: "the right one" } });
    expect(await readdir(join(record.output, "model"))).toEqual(["left"]);
    expect(eventsOf(record, "sample").every(({ prompt }) => prompt.startsWith("<"))).toBe(true);
  });

  it("that is a model never changes, while the trained one does", async () => {
    await using partner = await embeddedPartner();
    const request: ActRequest = {
      agent: "right",
      messages: [textMessage("user", ">Ac")],
      sampling: { temperature: 1, maxTokens: 8 },
      seed: 3,
    };
    const before = await partner.policy.act(request);
    const record = await played({
      policies: { right: partner.policy },
      config: config({ rollout: { trace: true }, checkpoint: { every: 1, keep: 9 } }),
    });
    expect(record.error).toBeUndefined();
    expect(await partner.policy.act(request)).toEqual(before);
    const weights = async (step: number): Promise<string> =>
      readFile(join(record.output, "checkpoints", `step-00000${step}`, "model", "left", "bigram.json"), "utf8");
    expect(await weights(3)).not.toBe(await weights(1));
    for (const { agents } of await episodesOf(record.output)) {
      expect(agents.right!.nodes.some(({ tokens }) => tokens?.mask === 1 && tokens.weightsVersion === 0)).toBe(true);
    }
  });

  it.each(cases)("gives no token to train on: $name", async ({ entry }) => {
    const run = async (change: (policy: Policy) => Policy): Promise<Record<string, string>> => {
      await using partner = await embeddedPartner();
      const { output, error } = await played({
        environment: entry.environment(),
        policies: { right: change(partner.policy) },
        config: config({ algorithm: { id: entry.id, ...entry.settings }, training: { steps: 2, batchSize: 4 } }),
      });
      expect(error).toBeUndefined();
      return models(output);
    };
    const found = await run((policy) => policy);
    expect(Object.keys(found).filter((name) => name.startsWith("/model/"))).toEqual(["/model/left/bigram.json"]);
    expect(found).toEqual(await run(withoutTokens));
  });

  it.each(sampleOf(cases, 6))("does not stop the other from learning, except with a broken part: $name", async ({
    entry,
  }) => {
    expect(await gain(entry)).toBeGreaterThan(0.3);
    const definition = algorithms.get(entry.id);
    const spoiled = { ...definition, create: (settings: never) => entry.control(definition.create(settings)) };
    expect(await gain(entry, [spoiled])).toBeLessThan(0.1);
  });

  it.each(sampleOf(cases, 5))("leaves the other's weights the same after a resume: $name", async ({ entry }) => {
    const settings = config({
      algorithm: { id: entry.id, ...entry.settings },
      checkpoint: { every: 1 },
      training: { steps: 3, batchSize: 4 },
    });
    const run = async (output: string, until?: number, resume = false): Promise<RunRecord> => {
      await using partner = await embeddedPartner();
      const stop = new AbortController();
      return runTraining({
        output,
        config: settings,
        environment: entry.environment(),
        policies: { right: partner.policy },
        signal: stop.signal,
        resume,
        onEvent: (event) => {
          if (event.type === "step" && event.step === until) stop.abort();
        },
      });
    };
    const [whole, parts] = [temporaryFolder(), temporaryFolder()];
    expect(runEnd(await run(whole)).reason).toBe("completed");
    expect(runEnd(await run(parts, 2)).reason).toBe("aborted");
    expect(runEnd(await run(parts, undefined, true)).reason).toBe("completed");
    expect(await models(parts)).toEqual(await models(whole));
  });

  it("with another policy makes another run", async () => {
    const { output } = await played({ policies: { right: rightPartner }, config: config({ training: { steps: 1 } }) });
    const { error } = await runTraining({
      output,
      environment: team(),
      policies: { right: scriptedPolicy(["A"], { name: "another" }) },
      config: config({ training: { steps: 2 } }),
      resume: true,
    });
    expect(error).toMatchObject({
      code: "checkpoint.unusable",
      message: expect.stringContaining('agents.policies.right (was "the right one", is "another")'),
    });
  });
});

/** Returns the rise of the held-out reward with a partner that is always right. */
async function gain(
  { id, settings, environment, steps, learningRate = 0.6 }: CatalogueCase,
  algorithms?: readonly AlgorithmDefinition[],
): Promise<number> {
  const record = await played({
    environment: environment(),
    policies: { right: rightPartner },
    ...(algorithms === undefined ? {} : { algorithms }),
    config: config({
      seed: 2,
      algorithm: { id, ...settings },
      evaluation: { split: "test", temperature: 1, limit: 64 },
      checkpoint: { every: 0 },
      training: { steps, batchSize: 8, learningRate, sampleEvery: 0 },
    }),
  });
  if (record.error !== undefined) throw record.error;
  const rewards = eventsOf(record, "evaluation").map(({ metrics }) => metrics["reward/mean"]!);
  return rewards.at(-1)! - rewards[0]!;
}

/** The reward of `free` is the value of its letter, or 0. The messages of `paid` have a value of their own. */
function ownRewards(free: (text: string) => number, paid: (text: string) => number): EnvironmentDefinition {
  return defineParallelEnvironment<"free" | "paid", { readonly n: number }>({
    id: "own",
    agents: ["free", "paid"],
    rewardRange: [0, 10],
    tasks: [{ n: 1 }, { n: 2 }, { n: 3 }],
    reset: ({ task }) => ({ free: `f${task.n}`, paid: `p${task.n}` }),
    step: ({ texts }) => ({
      rewards: {
        free: { status: "scored", value: free(texts.free), components: { free: free(texts.free) } },
        paid: { status: "scored", value: paid(texts.paid), components: { paid: paid(texts.paid) } },
      },
    }),
  }) as EnvironmentDefinition;
}

const five = scriptedPolicy(["5"], { name: "five" });

describe("the metrics with a frozen agent", () => {
  it("are those of the trained agents, and each agent's reward is there too", async () => {
    const record = await played({
      environment: ownRewards(
        () => 1,
        () => 5,
      ),
      policies: { paid: five },
      config: config({ evaluation: { split: "train[:1]", every: 1 }, tasks: { split: "train[1:]" } }),
    });
    expect(record.error).toBeUndefined();
    for (const { metrics } of [...eventsOf(record, "step"), ...eventsOf(record, "evaluation")]) {
      expect(metrics).toMatchObject({ "reward/mean": 1, "agents/free/reward": 1, "agents/paid/reward": 5 });
      expect(metrics).not.toHaveProperty("reward/component/paid");
    }
  });

  it("do not count its rewards as a signal", async () => {
    let said = 0;
    const restless = scriptedPolicy(() => String(said++ % 7));
    const record = await played({
      environment: ownRewards(() => 1, Number),
      policies: { paid: restless },
      config: config({ algorithm: { id: "magrpo", dropGroupsWithoutSignal: true } }),
    });
    expect(record.error).toBeUndefined();
    for (const { metrics } of eventsOf(record, "step")) {
      expect(metrics).toMatchObject({ "groups/without-signal": 1, "groups/trained": 0, "optimizer/steps": 0 });
    }
  });

  it("do not count its success as the trained agents' success", async () => {
    const record = await played({
      environment: ownRewards(
        () => 0,
        () => 10,
      ),
      policies: { paid: five },
      config: config({ evaluation: { split: "train[:1]" }, tasks: { split: "train[1:]" } }),
    });
    expect(eventsOf(record, "evaluation")[0]!.metrics).toMatchObject({ accuracy: 0 });
    const other = await played({
      environment: ownRewards(
        () => 10,
        () => 0,
      ),
      policies: { paid: five },
      config: config({ evaluation: { split: "train[:1]" }, tasks: { split: "train[1:]" } }),
    });
    expect(eventsOf(other, "evaluation")[0]!.metrics).toMatchObject({ accuracy: 1 });
  });
});

describe("a frozen agent that fails", () => {
  /** Fails in the second turn of the tasks with a letter. */
  const failingAt = (letter: string, error: () => unknown): Policy => ({
    ...rightPartner,
    act: async (request) => {
      if (request.episode!.turn === 1 && textOf(request.messages.at(-1)!).endsWith(letter)) throw error();
      return rightPartner.act(request);
    },
  });
  const unavailable = (): LyceumError => new LyceumError({ code: "policy.unavailable", message: "503 of 3 tries." });
  const tooLong = (): LyceumError => new LyceumError({ code: "policy.prompt-too-long", message: "9000 tokens." });

  it.each([
    ["magrpo", "a server that does not answer", unavailable],
    ["magrpo", "a conversation that it cannot read", tooLong],
    ["ippo", "a server that does not answer", unavailable],
    ["ippo", "a conversation that it cannot read", tooLong],
  ])("leaves its episodes unscored under %s: %s", async (id, _, error) => {
    const record = await played({
      environment: team(2),
      policies: { right: failingAt("a", error) },
      config: config({ algorithm: { id, groupSize: 2 }, rollout: { trace: true }, training: { steps: 4 } }),
    });
    expect(record.error).toBeUndefined();
    const episodes = await episodesOf(record.output);
    const failed = episodes.filter(({ status }) => status === "failed");
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.length).toBeLessThan(episodes.length);
    for (const { agents } of failed) {
      for (const { reward } of Object.values(agents)) expect(reward.status).toBe("unscored");
    }
    const steps = eventsOf(record, "step");
    expect(steps.some(({ metrics }) => metrics["episodes/failed"]! > 0)).toBe(true);
    expect(eventsOf(record, "warning").some(({ message }) => /episodes are unscored/.test(message))).toBe(true);
  });

  it("in every episode ends the run with its error", async () => {
    const broken = scriptedPolicy(() => {
      throw unavailable();
    });
    const { error } = await played({ policies: { right: broken } });
    expect(error).toMatchObject({
      code: "policy.unavailable",
      message: expect.stringMatching(/^All \d+ episodes failed/),
    });
  });

  it("because it cannot read a part of a message ends the run with a hint", async () => {
    const blind = scriptedPolicy(["A"], { accepts: ["image"], name: "blind" });
    const { error } = await played({ policies: { right: blind } });
    expect(error).toMatchObject({
      code: "policy.unsupported-input",
      message: expect.stringContaining('its policy "blind" only accepts image'),
      hint: expect.stringContaining("Use a policy that accepts such parts"),
    });
  });
});

describe("invalid frozen agents", () => {
  it.each([
    ["an unknown agent", { policies: { write: rightPartner } }, "config.unknown-name", 'Unknown agent "write"'],
    [
      "every agent",
      { policies: { left: rightPartner, right: rightPartner } },
      "config.invalid",
      "No agent is left to train",
    ],
    [
      "an agent with a model to train",
      { policies: { right: rightPartner }, config: config({ agents: { models: { right: { scratch: {} } } } }) },
      "config.invalid",
      '"right" has both a model to train (agents.models) and a frozen policy (agents.policies)',
    ],
    [
      "a policy that was not opened",
      { config: config({ agents: { policies: { right: "openai:gpt-5-mini" } } }) },
      "config.invalid",
      'agents.policies names a policy for "right", but no opened policy is given',
    ],
  ])("are refused before the run: %s", async (_, options, code, message) => {
    const { events, error } = await played(options as Parameters<typeof played>[0]);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message), hint: expect.any(String) });
    expect(events).toEqual([]);
  });
});
