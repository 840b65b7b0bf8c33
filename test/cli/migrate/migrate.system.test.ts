import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../../temporary-folder.ts";
import { runInProcess } from "../run-in-process.ts";

/** Creates a folder with this text as `old.yaml`. It is removed when the test ends. */
async function folderWith(text: string): Promise<string> {
  const folder = temporaryFolder();
  await writeFile(join(folder, "old.yaml"), text);
  return folder;
}

const team = `
model: { name: Qwen/Qwen2.5-Coder-3B, temperature: "0.7", top_p: 0.9, max_length: 2048 }
dataset: { name: openai/openai_humaneval, type: humaneval, train_split: "test[33:163]", eval_split: "test[:32]" }
external: { mode: level_feedback, sandbox_slice: None, original_prompt: True, previous_response: True }
magrpo:
  num_turns: 2
  num_train_epochs: 6
  learning_rate: "3e-5"
  num_generations: 4
  turn_gradient_weights: [1.2, 0.8]
  early_termination_threshold: 4.0
  handoff: best
  flux_capacitor: 88
wandb: { project: mine }
`;

describe("lyceum migrate", () => {
  it("writes a config with the source of each key, and lists keys without a counterpart", async () => {
    const folder = await folderWith(team);
    const { code, stdout } = await runInProcess(["migrate", "old.yaml", "-o", "new.yaml"], { folder });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^- magrpo\.flux_capacitor: 88 \(no known version of the program/m);
    expect(stdout).toMatch(/^- wandb\b.*Weights & Biases/m);
    expect(stdout).toContain("Train with: lyceum train --config new.yaml\n");
    const text = await readFile(join(folder, "new.yaml"), "utf8");
    expect(text).toMatch(/^# - magrpo\.flux_capacitor: 88/m);
    expect(text).toContain("maxTurns: 2 # magrpo.num_turns\n");
    expect(parse(text)).toMatchObject({
      environment: {
        id: "code",
        dataset: "humaneval",
        agents: 2,
        maxTurns: 2,
        rewardEveryTurn: true,
        sandboxSlice: "all",
        shareTests: true,
      },
      algorithm: {
        id: "magrpo",
        turnStructure: "handoff",
        handoff: "best",
        turnWeights: [1.2, 0.8],
        terminationThreshold: 3.99,
      },
      model: { path: "Qwen/Qwen2.5-Coder-3B" },
      tasks: { split: "test[33:163]" },
      evaluation: { split: "test[:32]" },
      sampling: { temperature: 0.7, topP: 0.9 },
      training: { steps: 780, learningRate: 3e-5, batchSize: 1 },
      trackers: ["tensorboard"],
    });
  });

  it.each([
    ["humaneval", {}, 1],
    ["coophumaneval", { sandbox_slice: 2 }, 2],
    ["classeval", {}, "all"],
    ["classeval", { sandbox_slice: 2 }, 2],
    ["my-problems", {}, 1],
  ])("shares the tests of %s between feedback and reward, with %j", async (type, external, slice) => {
    const old = { model: { name: "a/b" }, dataset: { type }, external, magrpo: { num_turns: 2 } };
    const folder = await folderWith(JSON.stringify(old));
    const { environment } = parse((await runInProcess(["migrate", "old.yaml"], { folder })).stdout);
    const { sandboxSlice = 1, shareTests } = environment;
    expect({ sandboxSlice, shareTests }).toEqual({ sandboxSlice: slice, shareTests: true });
  });

  it("says in advance that a CPU refuses float16", async () => {
    const model = { model_name_or_path: "gpt2", torch_dtype: "float16" };
    const math = { env_type: "math" };
    for (const old of [
      { model: { name: "a/b", torch_dtype: "float16" }, dataset: { type: "humaneval" }, magrpo: {} },
      { training: { algorithm: "ppo" }, model, eval_envs: [math] },
      { training: { algorithm: "ppo", use_fp16: true }, model: { ...model, torch_dtype: null }, eval_envs: [math] },
    ]) {
      const folder = await folderWith(JSON.stringify(old));
      const { stdout, stderr } = await runInProcess(["migrate", "old.yaml"], { folder });
      expect(stdout).toMatch(/# float16 .* a CPU refuses it.*\n {2}precision: float16/);
      expect(stderr).toMatch(/^Note: float16 .* a CPU refuses it: set model.precision to float32$/m);
    }
  });

  it("uses an environment on the server of MRLM's server_address", async () => {
    const convert = async (...entries: readonly object[]) => {
      const model = { model_name_or_path: "gpt2" };
      const old = { training: { algorithm: "ppo" }, model, eval_envs: entries };
      const folder = await folderWith(JSON.stringify(old));
      const { code, stdout, stderr } = await runInProcess(["migrate", "old.yaml"], { folder });
      expect(code, stderr).toBe(0);
      const { environment, environments } = parse(stdout);
      return { environment, environments, text: stdout };
    };
    const server = { remote: true, server_address: "gpu-7:50051" };
    const math = await convert({ env_type: "math", max_attempts: 3, ...server });
    expect(math.environment).toEqual({ url: "grpc://gpu-7:50051/math" });
    expect(math.text).toContain("lyceum serve --environments NAME --grpc-port PORT");
    expect(math.text).toMatch(/eval_envs\[0\]\.max_attempts: 3 \(an option of the server/);
    expect((await convert({ env_type: "tool", ...server })).environment).toEqual({ url: "grpc://gpu-7:50051/tools" });
    const secure = { ...server, server_address: "grpcs://a:1/" };
    expect((await convert({ env_type: "custom", ...secure })).environment).toEqual({ url: "grpcs://a:1" });
    const both = await convert({ env_type: "code", ...server }, { env_type: "math" });
    expect(both.environments).toEqual([{ url: "grpc://gpu-7:50051/code" }, expect.objectContaining({ id: "math" })]);
    const unused = await convert({ env_type: "math", ...server, remote: false });
    expect(unused.environment).toMatchObject({ id: "math" });
    const lost = await convert({ env_type: "math", remote: true });
    expect(lost.environment).toMatchObject({ id: "math" });
    expect(lost.text).toContain("eval_envs[0].remote: true (without server_address, set environment.url)");
  });

  it("does not overwrite files, and prints without --output", async () => {
    const folder = await folderWith(team);
    await writeFile(join(folder, "new.yaml"), "mine");
    const refused = await runInProcess(["migrate", "old.yaml", "-o", "new.yaml"], { folder });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("new.yaml exists already");
    expect(await readFile(join(folder, "new.yaml"), "utf8")).toBe("mine");
    const printed = await runInProcess(["migrate", "old.yaml"], { folder });
    expect(parse(printed.stdout)).toMatchObject({ algorithm: { id: "magrpo" } });
    expect(printed.stderr).toContain("flux_capacitor");
  });

  it.each([
    [".", ". is a folder"],
    ["nowhere.yaml", "There is no file nowhere.yaml"],
  ])("refuses the path %j", async (path, message) => {
    const { code, stderr } = await runInProcess(["migrate", path], { folder: await folderWith(team) });
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it.each([
    ["{ algorithm: { id: sft } }", "is already a config of Lyceum"],
    ["", "is empty"],
    ["- 1", "is not a training config"],
    ["evaluation: { temperature: 1 }\ndataset: { name: x }", "trains nothing"],
    ["a: [", "is not YAML"],
    ["training: { algorithm: reinforce }", 'Unknown algorithm of MRLM "reinforce"'],
    ["training: { algorithm: ppo }", "is too incomplete to be converted: set either environment"],
    ["magrpo: {}\ndataset: { type: humaneval }", "is too incomplete to be converted: model is missing"],
  ])("refuses %j", async (text, message) => {
    const { code, stderr } = await runInProcess(["migrate", "old.yaml"], { folder: await folderWith(text) });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe("lyceum train", () => {
  it("explains how to convert an old config, even one with a duplicate key", async () => {
    const folder = await folderWith(team.replace("num_turns: 2", "num_turns: 1\n  num_turns: 2"));
    const { code, stderr } = await runInProcess(["train", "--config", "old.yaml"], { folder });
    expect(code).toBe(2);
    expect(stderr).toContain("old.yaml is a config of LLM_Collab");
    expect(stderr).toContain("lyceum migrate old.yaml --output old-lyceum.yaml");
  });
});
