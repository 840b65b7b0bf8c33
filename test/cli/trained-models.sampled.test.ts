import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { sampleOf } from "../tier.ts";
import { runInProcess } from "./run-in-process.ts";
import { lyceum } from "./run-lyceum.ts";
import { trainedFolder } from "./trained-folder.ts";

let folder: string;
beforeAll(async () => {
  // Long enough for the prompts of debates and judges.
  folder = await trainedFolder({ maxLength: 16_384 });
  const problem = {
    id: "twice",
    prompt: "Write twice(x).",
    entryPoint: "twice",
    tests: ["assert.deepEqual(twice(2), 4);", "assert.deepEqual(twice(3), 6);"],
  };
  await writeFile(join(folder, "problems.jsonl"), `${JSON.stringify(problem)}\n`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

let count = 0;
const newName = (): string => `out${++count}`;
const greedy = ["--temperature", "0", "--max-tokens", "2", "--device", "cpu"];

async function run(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(words, { folder });
  expect(code, stderr).toBe(0);
  return stdout;
}

/** An evaluation in which no episode has a score ends with 1. */
async function runWithoutScore(...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(words, { folder });
  expect(code, stderr).toBe(1);
  expect(stderr).toContain("has a score");
  return stdout;
}

/** Returns the error and the exit code of a command line. */
async function failure(...words: readonly string[]): Promise<{ readonly code: number | null; readonly text: string }> {
  const { code, stderr } = await runInProcess(words, { folder });
  return { code, text: stderr };
}

const modelWords = (models: readonly string[]): string[] => models.flatMap((model) => ["--model", model]);

/** Returns each agent's answer to the first task, if these models play it. */
async function said(environment: string, ...words: readonly string[]): Promise<Record<string, string>> {
  const output = `${newName()}.jsonl`;
  await run("collect", "--env", `./${environment}.ts`, "--output", output, ...greedy, ...words);
  const rows = (await readFile(join(folder, output), "utf8")).trim().split("\n");
  const answers = rows.map((row) => JSON.parse(row) as { agent: string; messages: { content: string }[] });
  return Object.fromEntries(answers.map(({ agent, messages }) => [agent, messages.at(-1)!.content]));
}

/** Returns the mean reward of an evaluation. */
async function earned(environment: string, ...words: readonly string[]): Promise<number> {
  const text = await run("eval", "--env", `./${environment}.ts`, "--output", newName(), "--json", ...greedy, ...words);
  const [summary] = JSON.parse(text) as { metrics: Record<string, { value: number }> }[];
  return summary!.metrics.reward!.value;
}

const policyFile = async (text: string): Promise<string> => {
  const name = `${newName()}.yaml`;
  await writeFile(join(folder, name), text);
  return name;
};

test("trained models differ from untrained ones", async () => {
  expect(await said("one", "--model", "runs/base/model")).not.toEqual({ agent: "s" });
  expect(await said("one", "--model", "runs/lora/model")).toEqual({ agent: "s" });
});

describe("a model with one set of weights", () => {
  const places: readonly [what: string, model: string][] = [
    ["an adapter", "runs/lora/model"],
    ["an adapter of peft's own", "peft"],
    ["a checkpoint", "runs/lora/checkpoints/step-000060"],
    ["a run", "runs/lora"],
    ["a merged folder", "merged"],
  ];
  beforeAll(async () => {
    await run("export", "runs/lora/model", "--merged", "--output", "merged");
  });

  test.each(places)("%s plays in eval, collect and play, by itself and in a policy file", async (_, model) => {
    expect(await earned("one", "--model", model)).toBe(1);
    expect(await said("one", "--model", await policyFile(`model: ${model}`))).toEqual({ agent: "s" });
    expect(await run("play", "./one.ts", "--model", model, ...greedy)).toMatch(
      /\[agent answers\]\ns\n[\s\S]*agent: reward 1/,
    );
    // Each agent of a team plays with the same weights.
    expect(await said("pair", "--model", model)).toMatchObject({ aux: expect.any(String), main: expect.any(String) });
  });

  test.each(sampleOf(places, 5))("%s is an opponent and a judge", async (_, model) => {
    const few = ["--limit", "1", ...greedy];
    const judge = await policyFile(`{ model: ${model}, sampling: { maxTokens: 4 } }`);
    const debate = ["eval", "debate", "--set", "rounds=1", ...few, "--output", newName()];
    const words = [...debate, "--model", "demonstration", "--opponent", model, "--judge", judge];
    const judged = await runWithoutScore(...words);
    expect(judged).toContain(`debate, demonstration and ${model}: 1 tasks, 2 episodes`);
    // This model's answer is not a verdict.
    expect(judged).toContain("2 unscored");
    const own = [
      "eval",
      "--env",
      "debate",
      "--set",
      "rounds=1",
      "--set",
      `judge=${judge}`,
      ...few,
      "--output",
      newName(),
    ];
    expect(await runWithoutScore(...own, "--model", "demonstration")).toContain("1 unscored");
  });

  test("an adapter is an expert", async () => {
    const code = {
      dataset: "jsonl",
      path: "problems.jsonl",
      language: "javascript",
      sandbox: "isolated-vm",
      maxTurns: 2,
    };
    const set = Object.entries({ ...code, mode: "expert_edits", expert: "runs/lora/model" }).map(
      ([key, value]) => `${key}=${value}`,
    );
    const output = newName();
    const words = set.flatMap((option) => ["--set", option]);
    await run("eval", "--env", "code", ...words, "--model", "runs/base/model", "--output", output, ...greedy);
    const episodes = await readFile(join(folder, output, "episodes.jsonl"), "utf8");
    expect(episodes).toContain("An expert edited your code");
  });

  test.each(sampleOf(places, 3))("%s can be trained further, and can be a partner", async (_, model) => {
    const output = newName();
    const whole = ["--set", "model.adapter={type: lora}"];
    await run("train", "-c", "lora.yaml", "--set", `model.path=${model}`, ...whole, "-o", output);
    expect(await said("one", "--model", output)).toEqual({ agent: "s" });
    const partner = newName();
    await run("train", "-c", "team.yaml", "--set", `agents.policies.aux=${model}`, "-o", partner);
    expect((await said("pair", "--model", `aux=${model}`, "--model", `main=${partner}`)).main).toBe("m");
  });

  test("an adapter on the hub loads its base model from the hub", async () => {
    const { startFakeHub } = await import("../core/hub/fake-hub.ts");
    const commits = { base: "1".repeat(40), adapter: "2".repeat(40) };
    await cp(join(folder, "peft"), join(folder, "published"), { recursive: true });
    const file = join(folder, "published/adapter_config.json");
    const config = JSON.parse(await readFile(file, "utf8")) as object;
    await writeFile(file, JSON.stringify({ ...config, base_model_name_or_path: "owner/base", revision: commits.base }));
    await using hub = await startFakeHub([
      {
        type: "model",
        name: "owner/base",
        branches: { main: commits.base },
        commits: { [commits.base]: await filesOf("runs/base/model") },
      },
      {
        type: "model",
        name: "owner/adapter",
        branches: { main: commits.adapter },
        commits: { [commits.adapter]: await filesOf("published") },
      },
    ]);
    vi.stubEnv("HF_ENDPOINT", hub.url);
    vi.stubEnv("HF_HUB_CACHE", join(folder, "hub"));
    expect(await said("one", "--model", "owner/adapter")).toEqual({ agent: "s" });
    // An adapter that is trained on it finds it by hub id and commit.
    await run("train", "-c", "lora.yaml", "--set", "model.path=owner/base", "-o", "runs/of-hub");
    const exported = JSON.parse(await readFile(join(folder, "runs/of-hub/model/adapter_config.json"), "utf8"));
    expect(exported).toMatchObject({ base_model_name_or_path: "owner/base", revision: commits.base });
    expect(await said("one", "--model", "runs/of-hub")).toEqual({ agent: "s" });
  });

  async function filesOf(name: string): Promise<Record<string, Uint8Array>> {
    const { readdir } = await import("node:fs/promises");
    const names = await readdir(join(folder, name));
    return Object.fromEntries(
      await Promise.all(names.map(async (file) => [file, await readFile(join(folder, name, file))])),
    );
  }
});

describe("a team", () => {
  const teams: readonly [what: string, models: readonly string[]][] = [
    ["its folder", ["runs/team/model"]],
    ["its run", ["runs/team"]],
    ["its checkpoint", ["runs/team/checkpoints/step-000060"]],
    ["a model for each agent", ["aux=runs/team/model/aux", "main=runs/team/model/main"]],
    ["a place for each agent that has more", ["aux=runs/team", "main=runs/team/checkpoints/step-000060"]],
  ];

  test.each(teams)("by %s plays each agent with its own weights", async (_, models) => {
    const words = modelWords(models);
    expect(await said("pair", ...words)).toEqual({ aux: "x", main: "m" });
    expect(await earned("pair", ...words)).toBe(1);
    const watched = await run("play", "./pair.ts", ...words, ...greedy);
    expect(watched).toMatch(/\[aux answers\]\nx\n/);
    expect(watched).toMatch(/aux: reward 1 [\s\S]*main: reward 1 /);
  });

  test("changes with its agents' models, and may mix kinds", async () => {
    const swapped = ["aux=runs/team/model/main", "main=runs/team/model/aux"];
    expect(await said("pair", ...modelWords(swapped))).toEqual({ aux: "m", main: "x" });
    const file = await policyFile(
      "agents:\n  aux: runs/team/model\n  main: { model: demonstration }\nname: the pair\n",
    );
    expect(await said("pair", "--model", file)).toEqual({ aux: "x", main: "m" });
    expect(await run("eval", "--env", "./pair.ts", "--model", file, "--output", newName(), ...greedy)).toContain(
      "pair, the pair: ",
    );
  });

  test("leaves one agent to a person", async () => {
    const words = ["play", "./pair.ts", "--agent", "main", "--model", "runs/team", ...greedy];
    const { code, stdout } = await lyceum(words, { folder, input: { text: "m\n.\n" } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/Your answer as main[\s\S]*main: reward 1 /);
    expect(stdout).toMatch(/\[aux answers\]\nx\n/);
  });

  test.each(
    sampleOf(
      teams.filter(([, models]) => models.length === 1),
      3,
    ),
  )("by %s gives a partner in training its weights", async (_, [model]) => {
    const output = newName();
    await run("train", "-c", "team.yaml", "--set", `agents.policies.aux=${model}`, "-o", output);
    // The partner's weights are not part of the trained model.
    expect(await said("pair", "--model", "aux=runs/team", "--model", `main=${output}`)).toEqual({
      aux: "x",
      main: "m",
    });
    expect((await failure("eval", "--env", "./pair.ts", "--model", output, "-o", newName())).text).toMatch(
      /no model for the agent "aux", only for main/,
    );
    // They are not part of its checkpoint either, although the run started with a team.
    const begun = newName();
    const start = ["--set", "model={path: runs/team/model, adapter: {type: lora}, device: cpu}"];
    await run("train", "-c", "team.yaml", ...start, "--set", `agents.policies.aux=${model}`, "-o", begun);
    const checkpoint = `${begun}/checkpoints/step-000060`;
    expect(await said("pair", "--model", "aux=demonstration", "--model", `main=${checkpoint}`)).toEqual({
      aux: "x",
      main: "m",
    });
  });

  test("is trained further from its checkpoint, and the run resumes without it", async () => {
    const [from, output, moved] = [newName(), newName(), newName()];
    await cp(join(folder, "runs/team"), join(folder, from), { recursive: true });
    const path = `${from}/checkpoints/step-000060`;
    const words = ["train", "-c", "team.yaml", "-o", output, "--set", "training.learningRate=1e-9"];
    const start = ["--set", `model={path: ${path}, adapter: {type: lora}, device: cpu}`];
    await run(...words, ...start, "--set", "training.steps=1");
    await rename(join(folder, from, "checkpoints"), join(folder, from, "gone"));
    await mkdir(join(folder, from, "checkpoints/step-000060"), { recursive: true });
    await writeFile(join(folder, path, "manifest.json"), "{}");
    await run(...words, ...start, "--set", "training.steps=2", "--resume");
    await cp(join(folder, output), join(folder, moved), { recursive: true });
    for (const model of [output, `${output}/checkpoints/step-000002`, `${moved}/checkpoints/step-000002`]) {
      expect(await said("pair", "--model", model)).toEqual({ aux: "x", main: "m" });
    }
  });

  test("is trained further", async () => {
    const output = newName();
    await run(
      "train",
      "-c",
      "team.yaml",
      "--set",
      "model={path: runs/team, adapter: {type: lora}, device: cpu}",
      "-o",
      output,
    );
    expect(await said("pair", "--model", output)).toEqual({ aux: "x", main: "m" });
  });

  test("is exported, a folder for each agent", async () => {
    const shown = await run("export", "runs/team", "--output", "team-adapters");
    expect(shown).toBe("team-adapters/aux: a PEFT adapter\nteam-adapters/main: a PEFT adapter\n");
    expect(await said("pair", "--model", "team-adapters")).toEqual({ aux: "x", main: "m" });
    await run("export", "runs/team/checkpoints/step-000060", "--merged", "--output", "team-merged");
    await expect(readFile(join(folder, "team-merged/aux/adapter_config.json"))).rejects.toThrow();
    expect(await said("pair", "--model", "team-merged")).toEqual({ aux: "x", main: "m" });
  });
});

describe("a base model", () => {
  test("is found after the run was moved, and with --base, base: and model.base after the base was moved", async () => {
    await cp(join(folder, "runs/lora"), join(folder, "elsewhere/deep/lora"), { recursive: true });
    expect(await said("one", "--model", "elsewhere/deep/lora")).toEqual({ agent: "s" });
    await mkdir(join(folder, "away"));
    await rename(join(folder, "runs/base"), join(folder, "away/base"));
    try {
      for (const model of ["elsewhere/deep/lora", "peft", "runs/lora/checkpoints/step-000060"]) {
        const { code, text } = await failure("eval", "--env", "./one.ts", "--model", model, "-o", newName(), ...greedy);
        expect(text).toMatch(/^error\[model\.missing\]/);
        expect(code).toBe(1);
        if (!model.includes("checkpoint")) expect(text).toMatch(/--base MODEL/);
        expect(await said("one", "--model", model, "--base", "away/base/model")).toEqual({ agent: "s" });
        expect(await said("one", "--model", await policyFile(`model: ${model}\nbase: away/base/model`))).toEqual({
          agent: "s",
        });
        const output = newName();
        await run("export", model, "--merged", "--base", "away/base/model", "-o", output);
        expect(await said("one", "--model", output)).toEqual({ agent: "s" });
      }
      const output = newName();
      const words = ["--set", "model={path: peft, base: away/base/model, adapter: {type: lora}, device: cpu}"];
      await run("train", "-c", "lora.yaml", ...words, "-o", output);
      expect(await said("one", "--model", output)).toEqual({ agent: "s" });
    } finally {
      await rename(join(folder, "away/base"), join(folder, "runs/base"));
    }
  });

  test("is used only for the first stage: the next one starts from its result", async () => {
    const config = await readFile(join(folder, "lora.yaml"), "utf8");
    await writeFile(join(folder, "stages.yaml"), `${config}stages: [{ name: first }, { name: second }]\n`);
    const model = "model={path: peft, base: runs/base/model, adapter: {type: lora}, device: cpu}";
    const output = newName();
    await run("train", "-c", "stages.yaml", "--set", model, "--set", "training.steps=2", "-o", output);
    expect(await said("one", "--model", `${output}/second`)).toEqual({ agent: "s" });
  });

  test("from scratch moves with the adapter", async () => {
    await cp(join(folder, "runs/team/model"), join(folder, "elsewhere/team"), { recursive: true });
    expect(await said("pair", "--model", "elsewhere/team")).toEqual({ aux: "x", main: "m" });
  });
});

describe("an invalid model is refused", () => {
  beforeAll(async () => {
    const copied = async (from: string, to: string): Promise<string> => {
      await cp(join(folder, from), join(folder, to), { recursive: true });
      return join(folder, to);
    };
    await run("train", "-c", "base.yaml", "--set", "seed=2", "-o", "runs/other-weights");
    await run("train", "-c", "base.yaml", "--set", "model.scratch.hiddenSize=32", "-o", "runs/other-shapes");
    await copied("runs/team/model/aux", "bad/half-team/aux");
    await copied("runs/team/model", "bad/third/");
    await copied("runs/team/model/aux", "bad/third/judge");
    const lost = await copied("peft", "bad/lost");
    await changed(lost, { base_model_name_or_path: "../nowhere" });
    const nameless = await copied("peft", "bad/nameless");
    await changed(nameless, { base_model_name_or_path: null });
    const half = await copied("peft", "bad/half-written");
    await rm(join(half, "adapter_model.safetensors"));
    const cut = join(await copied("peft", "bad/cut"), "adapter_model.safetensors");
    await writeFile(cut, (await readFile(cut)).subarray(0, -100));
    await mkdir(join(folder, "bad/notes"));
    await writeFile(join(folder, "bad/notes/README.md"), "Nothing here.");
    await mkdir(join(folder, "bad/empty"));
    await copied("runs/lora", "bad/torn");
    await writeFile(join(folder, "bad/torn/checkpoints/step-000060/manifest.json"), "{");
  });

  async function changed(at: string, change: object): Promise<void> {
    const file = join(at, "adapter_config.json");
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), ...change }));
  }

  const one = ["--env", "./one.ts"];
  const pair = ["--env", "./pair.ts"];
  const refusals: readonly [what: string, words: readonly string[], code: number, text: RegExp][] = [
    ["an adapter of other weights", [...one, "--model", "peft", "--base", "runs/other-weights/model"], 0, /./],
    [
      "an adapter of ours on other weights",
      [...one, "--model", "runs/lora/model", "--base", "runs/other-weights/model"],
      1,
      /model\.mismatch\][\s\S]*trained on other weights[\s\S]*--base MODEL/,
    ],
    [
      "an adapter on a base of other shapes",
      [...one, "--model", "peft", "--base", "runs/other-shapes/model"],
      1,
      /model\.mismatch\][\s\S]*the model needs \[[\s\S]*--base MODEL/,
    ],
    [
      "a checkpoint on other weights",
      [...one, "--model", "runs/lora/checkpoints/step-000060", "--base", "runs/other-weights/model"],
      1,
      /checkpoint\.unusable\][\s\S]*other base weights/,
    ],
    [
      "a base for a whole model",
      [...one, "--model", "runs/base/model", "--base", "runs/base/model"],
      2,
      /config\.invalid\][\s\S]*a whole model/,
    ],
    [
      "a base for a checkpoint from scratch",
      [...pair, "--model", "runs/team/checkpoints/step-000060", "--base", "runs/base/model"],
      2,
      /config\.invalid\][\s\S]*from scratch/,
    ],
    [
      "a base for a server's model",
      [...one, "--model", "http://127.0.0.1:1/v1#m", "--base", "runs/base/model"],
      2,
      /"base" is not an option of the model http[\s\S]*Policies of the kind "engine" have "base"\. A local model/,
    ],
    [
      "a team without one agent's weights",
      [...pair, "--model", "bad/half-team"],
      2,
      /config\.invalid\][\s\S]*no model for the agent "main", only for aux[\s\S]*--model aux=MODEL --model main=MODEL/,
    ],
    [
      "a team with an agent too many",
      [...pair, "--model", "bad/third"],
      2,
      /config\.unknown-name\][\s\S]*"judge"[\s\S]*Its agents: aux, main/,
    ],
    ["a team for a single agent", [...one, "--model", "runs/team"], 2, /config\.unknown-name\][\s\S]*a single agent/],
    [
      "an unknown agent",
      [...pair, "--model", "foo=runs/team/model/aux", "--model", "main=runs/team/model/main"],
      2,
      /config\.unknown-name\][\s\S]*"foo"[\s\S]*Its agents: aux, main/,
    ],
    [
      "one agent's model alone",
      [...pair, "--model", "aux=runs/team/model/aux"],
      2,
      /config\.invalid\][\s\S]*no model for the agent "main"/,
    ],
    ["several models without agents", [...pair, "--model", "peft", "--model", "merged"], 2, /names no agent/],
    [
      "a team as a judge",
      ["--env", "debate", "--model", "peft", "--judge", "runs/team"],
      2,
      /one model is needed[\s\S]*team\/model\/aux|one model is needed/,
    ],
    [
      "an adapter whose base is lost",
      [...one, "--model", "bad/lost"],
      1,
      /model\.missing\][\s\S]*names the base model \.\.\/nowhere[\s\S]*--base MODEL/,
    ],
    [
      "an adapter that names no base",
      [...one, "--model", "bad/nameless"],
      1,
      /model\.missing\][\s\S]*does not name its base model[\s\S]*--base MODEL/,
    ],
    [
      "an adapter without its weights",
      [...one, "--model", "bad/half-written"],
      1,
      /model\.missing\][\s\S]*lacks adapter_model\.safetensors[\s\S]*save_pretrained/,
    ],
    [
      "an adapter that is cut",
      [...one, "--model", "bad/cut"],
      1,
      /model\.malformed\][\s\S]*adapter_model\.safetensors/,
    ],
    [
      "a folder that is none of these",
      [...one, "--model", "bad/notes"],
      1,
      /model\.missing\][\s\S]*It has README\.md[\s\S]*a model, an adapter, a team, a checkpoint or a run/,
    ],
    ["an empty folder", [...one, "--model", "bad/empty"], 1, /model\.missing\][\s\S]*It is empty/],
    ["no folder at all", [...one, "--model", "./bad/nothing"], 1, /model\.missing\][\s\S]*There is no folder/],
    [
      "a checkpoint that is torn",
      [...one, "--model", "bad/torn/checkpoints/step-000060"],
      1,
      /checkpoint\.unusable\][\s\S]*manifest\.json is missing or damaged/,
    ],
  ];

  test.each(refusals.filter(([, , code]) => code !== 0))("%s", async (_, words, code, text) => {
    const command = words.includes("--judge") ? "eval" : "collect";
    const refused = await failure(command, ...words, "--output", `${newName()}.jsonl`, ...greedy);
    expect(refused.text).toMatch(text);
    expect(refused.text).toMatch(/^error\[/);
    expect(refused.code).toBe(code);
  });

  test("in a policy file too, with the name of the agent", async () => {
    const unknown = await policyFile("agents: { aux: peft, mian: peft }");
    const eval_ = ["eval", ...pair, "--output", newName(), "--model"];
    expect((await failure(...eval_, unknown)).text).toMatch(/config\.unknown-name\][\s\S]*"mian"/);
    const lost = await policyFile("agents:\n  aux: { model: bad/lost }\n  main: peft\n");
    expect((await failure(...eval_, lost)).text).toMatch(/model\.missing\][\s\S]*\.\.\/nowhere/);
  });

  test("by export and play too", async () => {
    expect((await failure("export", "bad/notes", "-o", newName())).text).toMatch(/^error\[model\.missing\]/);
    expect((await failure("export", "bad/lost", "-o", newName())).text).toMatch(/--base MODEL/);
    expect(await failure("export", "peft", "-o", "runs/lora")).toMatchObject({
      code: 2,
      text: expect.stringMatching(/config\.invalid\][\s\S]*exists already/),
    });
    expect((await failure("play", "./pair.ts", "--model", "bad/half-team")).text).toMatch(/for the agent "main"/);
    expect(await failure("play", "./one.ts", "--agent", "agent", "--model", "peft")).toMatchObject({
      code: 2,
      text: expect.stringMatching(/No agent is left for the model/),
    });
  });

  test("by training too", async () => {
    const train = (...set: readonly string[]) =>
      failure("train", "-c", "team.yaml", ...set.flatMap((change) => ["--set", change]), "-o", newName());
    const start = (path: string): string => `model={path: ${path}, adapter: {type: lora}, device: cpu}`;
    expect((await train(start("bad/half-team"))).text).toMatch(/no model for the agent "main"/);
    expect((await train(start("bad/lost"))).text).toMatch(/model\.missing/);
    expect((await train("agents.policies.foo=runs/team")).text).toMatch(/Unknown agent "foo"/);
    expect((await train("agents.policies.main=bad/half-team")).text).toMatch(/no model for the agent "main"/);
    expect((await train("agents.policies.main=bad/lost")).text).toMatch(/--base MODEL/);
  });
});
