import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { serveModel } from "../cli/serve-model-process.ts";
import { codeBlocks } from "../docs/code-blocks.ts";
import { execute } from "./execute.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment, pythonOf } from "./python-environment.ts";

/** Recipes of the Tinker cookbook, unchanged, on `lyceum serve-model`, with the commands of docs/serve-model.md. */

const problems = join(
  process.env.LYCEUM_TEST_DATA ?? join(import.meta.dirname, "../../../shared/data"),
  "gsm8k-train.jsonl",
);

/** The answer of python/cookbook_folder.py. */
interface CookbookFolder {
  /** The name of the model, which is also its folder. */
  readonly model: string;
  /** The first prompt of the guessing game, and the first token of a guess in the right form. */
  readonly prompt: readonly number[];
  readonly guess: number;
}

/** Returns the options of a recipe in docs/serve-model.md. */
async function documented(recipe: string): Promise<string[]> {
  const blocks = await codeBlocks("docs/serve-model.md");
  const lines = blocks.flatMap(({ code }) => code.replaceAll("\\\n", " ").split("\n"));
  const start = `uv run python -m tinker_cookbook.recipes.${recipe} `;
  const line = lines.find((each) => each.startsWith(start));
  if (line === undefined) throw new Error(`docs/serve-model.md does not run ${recipe}.`);
  return line.slice(start.length).trim().split(/\s+/);
}

async function linesOf(path: string): Promise<string[]> {
  return (await readFile(path, "utf8")).trim().split("\n");
}

describe.skipIf(!existsSync(problems))("recipes of the Tinker cookbook (LYCEUM_TEST_DATA)", () => {
  let folder: string;
  let environment: string;
  let made: CookbookFolder;
  let engine: TrainingBackend;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lyceum-cookbook-"));
    engine = await createOnnxBackend({ device: "cpu" });
    environment = await providePythonEnvironment({
      name: "tinker-cookbook",
      requirements: "tinker-cookbook-requirements.txt",
      download: "2.6 GB",
    });
    made = await runPython({ environment, script: "cookbook_folder", request: { folder, problems, steps: 80 } });
  });
  afterAll(async () => {
    await engine?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A recipe that has run on a server of its own. */
  interface Ran {
    /** Its metrics by step. */
    readonly steps: Readonly<Record<string, number>>[];
    /** The adapter that it has saved at its end. */
    readonly adapter: string;
    /** The folder of its log. */
    readonly log: string;
    /** Runs it again on the same server, and returns the metrics of both runs. */
    again(): Promise<Ran["steps"]>;
  }

  async function run(recipe: string): Promise<Ran> {
    const checkpoints = join(folder, `checkpoints-${recipe}`);
    const { model } = made;
    const named = ["--name", model, "--chat-template", "none", "--checkpoints", checkpoints];
    const { url } = await serveModel([join(folder, model), ...named], folder);
    const variables = { TINKER_BASE_URL: url, TINKER_API_KEY: "tml-local", HF_HUB_OFFLINE: "1", OMP_NUM_THREADS: "1" };
    const options = await documented(recipe);
    const log = join(folder, options.find((option) => option.startsWith("log_path="))!.replace("log_path=", ""));
    const once = async (): Promise<Ran["steps"]> => {
      // Weights are saved during the run too.
      await execute(pythonOf(environment), ["-m", `tinker_cookbook.recipes.${recipe}`, ...options, "save_every=2"], {
        folder,
        environment: { ...variables, HF_HOME: join(folder, "hub") },
        timeoutMs: 400_000,
      });
      // NaN and infinite numbers are not JSON.
      return (await linesOf(join(log, "metrics.jsonl"))).map((line) => JSON.parse(line));
    };
    const steps = await once();
    const [served] = await readdir(checkpoints);
    return { steps, adapter: join(checkpoints, served!, "sampler_weights/final"), log, again: once };
  }

  /** The log-probability of the first token of a guess, of the model or of an adapter. */
  async function guessLogprob(path: string): Promise<number> {
    const source = { type: "pretrained", path, chatTemplate: "none" } as const;
    const model = await engine.openModel({ source, trainable: { type: "frozen" } });
    const length = made.prompt.length;
    const tokens = Int32Array.from(made.prompt);
    const targets = Int32Array.from([...made.prompt.slice(1), made.guess]);
    const datum = { tokens, targets, lossMask: new Float32Array(length).fill(1) };
    const [result] = await model.forward([datum], { outputs: ["logprobs"] });
    await model.close();
    return result!.logprobs![length - 1]!;
  }

  test("sl_loop lowers the loss, and resumes", async () => {
    const { steps, adapter, log, again } = await run("sl_loop");
    expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4]);
    const losses = steps.map(({ train_mean_nll }) => train_mean_nll!);
    for (const loss of losses) expect(loss).toBeGreaterThan(0);
    expect(losses.at(-1)).toBeLessThan(0.9 * losses[0]!);
    expect(await guessLogprob(adapter)).not.toBe(await guessLogprob(join(folder, made.model)));
    // Without its last checkpoint, the run looks as if it ended during step 4. That step has the same loss again.
    const saved = await linesOf(join(log, "checkpoints.jsonl"));
    await writeFile(
      join(log, "checkpoints.jsonl"),
      saved
        .slice(0, -1)
        .map((line) => `${line}\n`)
        .join(""),
    );
    const both = await again();
    expect(both.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 4]);
    expect(both[5]!.train_mean_nll).toBeCloseTo(losses[4]!, 5);
  });

  test("rl_loop trains with its default loss, stable_reinforce", async () => {
    const { steps, adapter } = await run("rl_loop");
    expect(steps).toHaveLength(3);
    for (const step of steps) {
      expect(step["reward/total"]).toBeGreaterThan(0);
      expect(step["reward/total"]).toBeLessThan(1);
      expect(step["grad_norm:mean"]).toBeGreaterThan(0);
    }
    expect(await guessLogprob(adapter)).not.toBe(await guessLogprob(join(folder, made.model)));
  });

  test("guess_number plays games of several turns and trains on them", async () => {
    const { steps, adapter } = await run("multiplayer_rl.guess_number.train");
    // The last line has totals.
    const trained = steps.slice(0, 3);
    for (const step of trained) {
      expect(step["env/all/turns_per_episode"]).toBeGreaterThan(5);
      // Each of up to ten turns has the reward -1 in a wrong form, and 1 for the right number.
      expect(step["env/all/reward/total"]).toBeGreaterThan(-10);
      expect(step["env/all/reward/total"]).toBeLessThan(1);
      expect(step["grad_norm:mean"]).toBeGreaterThan(0);
      // The trainer has the log-probabilities of the sampler.
      expect(Math.abs(step["optim/kl_sample_train_v1"]!)).toBeLessThan(1e-5);
    }
    // The right form of a guess is more likely, because it alone avoids the penalty.
    expect(await guessLogprob(adapter)).toBeGreaterThan(await guessLogprob(join(folder, made.model)));
  });

  test("math_rl trains with stable_reinforce on samples of older weights", async () => {
    const { steps, adapter } = await run("math_rl.train");
    const trained = steps.slice(0, 3);
    for (const step of trained) {
      expect(step["grad_norm:mean"]).toBeGreaterThan(0);
      expect(step["env/all/correct"]).toBeGreaterThan(0);
      expect(Number.isFinite(step["optim/kl_sample_train_v1"])).toBe(true);
    }
    // After the first step, the policy that sampled differs from the one in training.
    expect(Math.max(...trained.map((step) => step["optim/kl_sample_train_v2"]!))).toBeGreaterThan(1e-6);
    expect(await guessLogprob(adapter)).not.toBe(await guessLogprob(join(folder, made.model)));
  });
});
