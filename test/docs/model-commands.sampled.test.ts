import { cp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { runInProcess } from "../cli/run-in-process.ts";
import { lyceum } from "../cli/run-lyceum.ts";
import { trainedFolder } from "../cli/trained-folder.ts";
import { repository } from "../examples/run-program.ts";
import { createTinyHub, type TinyHub } from "../examples/tiny-hub.ts";
import { isSlowTier, sampleOf } from "../tier.ts";
import { type CodeBlock, codeBlocks } from "./code-blocks.ts";
import { modelKeys, modelOptions, type ShellCommand, shellCommands, takesModel } from "./shell-commands.ts";

/**
 * Runs every command of the documents that takes a model. Each model is replaced by the output of a LoRA run, or by the
 * output of a team if several agents may play. In the slow tier, all run, and the latter with both. Commands are found
 * by their options, so new ones are included.
 */

/**
 * The agents of a command's environment. A team needs a model for each. The two files are examples of a user's
 * environments.
 */
const agentsOf: Readonly<Record<string, readonly string[]>> = {
  gsm8k: ["agent"],
  humaneval: ["agent"],
  math: ["agent"],
  coophumaneval: ["aux", "main"],
  code: ["aux", "main"],
  debate: ["debater-1", "debater-2"],
  "win-rate": ["model", "reference"],
  "./my-env.ts": ["aux", "main"],
  "./environment.ts": ["agent"],
  "./examples/sums/sums.ts": ["agent"],
  conversations: ["agent"],
};

const run = (await shellCommands()).filter(
  ({ lyceum: words, block }) => words !== undefined && block.notRun === undefined && takesModel(words),
);

/** The output of a kind of run: all of it, and by agent. */
interface Trained {
  /** Returns the model that plays these agents. */
  folder(agents: readonly string[]): Promise<string>;
  readonly run: string;
  readonly checkpoint: string;
  readonly base: string;
}

let folder: string;
let hub: TinyHub;
beforeAll(async () => {
  folder = await trainedFolder({ maxLength: 16_384 });
  hub = await createTinyHub();
  await cp(join(folder, "pair.ts"), join(folder, "my-env.ts"));
  await cp(join(folder, "one.ts"), join(folder, "environment.ts"));
  await cp(join(repository, "cli/template/train.yaml.template"), join(folder, "train.yaml"));
  await symlink(join(repository, "examples"), join(folder, "examples"));
  const agent = (await codeBlocks("docs/agents.md")).find(({ file }) => file === "agent.ts")!;
  await writeFile(join(folder, "agent.ts"), agent.code);
  const question = { turns: ["Why?"], category: "open", reference: ["So."] };
  await writeFile(join(folder, "questions.jsonl"), `${JSON.stringify(question)}\n`);
  const row = {
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
    ],
    reward: 1,
  };
  const rows = ["agent", "aux", "main"].map((agent) => `${JSON.stringify({ ...row, agent })}\n`).join("");
  for (const name of ["good.jsonl", "played.jsonl"]) await writeFile(join(folder, name), rows);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await hub[Symbol.asyncDispose]();
});
afterEach(() => void vi.unstubAllEnvs());

const checkpoint = "checkpoints/step-000060";
const kinds: Readonly<Record<string, Trained>> = {
  "a LoRA run": {
    folder: async () => "runs/lora/model",
    run: "runs/lora",
    checkpoint: `runs/lora/${checkpoint}`,
    base: "runs/base/model",
  },
  "a team": {
    // A single agent gets the model of one agent of the team.
    folder: async (agents) => (agents.length === 1 ? teamMember(agents[0]!) : teamOf(agents)),
    run: "runs/team",
    checkpoint: `runs/team/${checkpoint}`,
    base: "runs/team/model/aux/base",
  },
};

const teamMember = async (agent: string): Promise<string> =>
  agent === "main" ? "runs/team/model/main" : "runs/team/model/aux";

/** Renames the agents in the team's folder. */
async function teamOf(agents: readonly string[]): Promise<string> {
  if (agents.includes("aux")) return "runs/team/model";
  const name = `teams/${agents.join("-")}`;
  for (const [index, agent] of agents.entries()) {
    await cp(join(folder, "runs/team/model", ["aux", "main"][index]!), join(folder, name, agent), { recursive: true });
  }
  return name;
}

let outputs = 0;

/** Replaces the models of a command by trained ones. */
async function withModels({ lyceum: given = [], block }: ShellCommand, trained: Trained): Promise<string[]> {
  const words = [...given];
  const agents = await agentsIn(words, block);
  const modelFor = async (value: string, players: readonly string[] = agents): Promise<string> => {
    const [, agent] = /^([\w-]+)=/.exec(value) ?? [];
    if (agent !== undefined) return `${agent}=${await trained.folder([agent])}`;
    if (value.endsWith(".yaml")) return policyFile(value, block, trained);
    const whole = trained === kinds["a LoRA run"] || players.includes("aux");
    if (whole && value.includes("/checkpoints/")) return trained.checkpoint;
    if (whole && /^runs\/[\w-]+$/.test(value)) return trained.run;
    return trained.folder(players);
  };
  if (words[0] === "export") words[1] = await modelFor(words[1]!);
  for (const [index, word] of words.entries()) {
    const before = words[index - 1] ?? "";
    const [, key = "", value = ""] = /^([\w.]+)=(.*)$/.exec(word) ?? [];
    // Players of a tournament need different names, so the same folder gets several.
    if (before === "--opponent") words[index] = `${"./".repeat(index)}${await modelFor(word)}`;
    else if (before === "--judge") words[index] = await modelFor(word, ["agent"]);
    else if (modelOptions.includes(before)) words[index] = await modelFor(word);
    else if (before === "--base") words[index] = trained.base;
    else if (before === "--set" && key === "model") {
      const model = parse(value) as { readonly path: string };
      words[index] = `model=${JSON.stringify({ ...model, path: await modelFor(model.path) })}`;
    } else if (before === "--set" && modelKeys.test(word)) words[index] = `${key}=${await modelFor(value)}`;
  }
  return words;
}

/** Returns the agents of a command's environment. */
async function agentsIn(words: readonly string[], block: CodeBlock): Promise<readonly string[]> {
  const [command] = words;
  if (command === "export") return ["aux", "main"];
  const named = (...options: readonly string[]): string | undefined =>
    words.find((_, index) => options.includes(words[index - 1] ?? ""));
  let ids: readonly string[];
  if (command === "train") {
    const path = named("--config", "-c") ?? "train.yaml";
    const inDocument = (await codeBlocks(block.document)).find(({ file }) => file === path);
    if (inDocument !== undefined) await writeFile(join(folder, path), inDocument.code);
    const config = parse(await readFile(join(folder, path), "utf8")) as { readonly environment: unknown };
    const override = words.find((word) => word.startsWith("environment="))?.slice("environment=".length);
    const environment = override === undefined ? config.environment : (parse(override) as unknown);
    const { id, agents } = (typeof environment === "string" ? { id: environment } : environment) as {
      readonly id: string;
      readonly agents?: number;
    };
    ids = [id === "code" && agents !== 2 ? "math" : id];
  } else {
    const positional = words.slice(1).findIndex((word) => word.startsWith("-"));
    const environment = named("--env", "-e");
    ids = environment === undefined ? words.slice(1, positional + 1) : [environment];
  }
  const [agents, ...others] = ids.map((id) => {
    const known = agentsOf[id];
    if (known === undefined)
      throw new Error(`Add the agents of ${id} to agentsOf, or leave the command out and say why.`);
    return known;
  });
  expect(others.every((other) => other.join() === agents!.join())).toBe(true);
  return agents!;
}

/** Replaces the model of a policy file in the document by a trained one. */
async function policyFile(name: string, { document }: CodeBlock, trained: Trained): Promise<string> {
  const block = (await codeBlocks(document)).find(({ file }) => file === name)!;
  const { agents, ...rest } = parse(block.code) as { readonly agents: Readonly<Record<string, unknown>> };
  const members: Record<string, unknown> = {};
  for (const [agent, given] of Object.entries(agents)) {
    const model = await trained.folder([agent]);
    members[agent] = typeof given === "string" ? model : { ...(given as object), model, base: trained.base };
  }
  await writeFile(join(folder, name), stringify({ ...rest, agents: members }));
  return name;
}

/** Limits the command to a few tokens of one task, in a new output folder. */
function small(words: readonly string[]): string[] {
  const tiny: Readonly<Record<string, readonly string[]>> = {
    eval: ["--limit", "1", "--max-tokens", "2", "--device", "cpu"],
    collect: ["--episodes", "8", "--max-tokens", "2", "--device", "cpu"],
    play: ["--max-tokens", "2", "--device", "cpu"],
    train: [
      "training.steps=1",
      "preflight=false",
      "model.device=cpu",
      "model.adapter={type: lora}",
      "sampling.maxTokens=2",
      "evaluation={}",
    ].flatMap((change) => ["--set", change]),
    export: [],
  };
  const [command] = words as [string];
  const epochs = words.includes("--num_epochs") ? ["--num_epochs", "1", "--set", "tasks.split=test[:1]"] : [];
  const questions = words.includes("win-rate") ? ["--set", "path=questions.jsonl"] : [];
  outputs += 1;
  const output = command === "play" ? [] : ["--output", `out/${outputs}${command === "collect" ? ".jsonl" : ""}`];
  return [...words, ...tiny[command]!, ...epochs, ...questions, ...output];
}

/** A team's model for one agent is an ordinary adapter. A team is used only if several agents play. */
const ofTeams = run.filter(({ lyceum: words = [] }) => {
  const [command] = words;
  return command === "export" || command === "train" || words.some((word) => (agentsOf[word]?.length ?? 0) > 1);
});

const ofOneModel = run.filter((command) => isSlowTier || !ofTeams.includes(command));

describe.each(Object.entries(kinds))("with the output of %s", (kind, trained) => {
  test.each(
    sampleOf(kind === "a team" ? ofTeams : ofOneModel, 4).map(
      (command) => [`${command.place}: ${command.text}`, command] as const,
    ),
  )("%s", async (__, command) => {
    for (const [name, value] of Object.entries(hub.environment)) vi.stubEnv(name, value);
    const words = small(await withModels(command, trained));
    const result =
      words[0] === "play"
        ? await lyceum(words, { folder, input: { text: ".\n".repeat(9) } })
        : await runInProcess(words, { folder });
    // The untrained judge gives no verdict, and an evaluation without a score ends with 1.
    const hasScore = !result.stderr.includes("episodes of win-rate has a score");
    expect(result.code, `${words.join(" ")}\n${result.stderr}`).toBe(hasScore ? 0 : 1);
  });
});
