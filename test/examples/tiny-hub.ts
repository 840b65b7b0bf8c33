import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { modelChecksumsFile } from "../../trainers/model-folders/weights/model-checksums.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const commit = "0".repeat(40);

/**
 * A Hugging Face cache with tiny replacements, so that programs with models and data sets of the hub run without a
 * network.
 */
export interface TinyHub extends AsyncDisposable {
  /** The environment variables of a process that uses it and never a network. */
  readonly environment: Readonly<Record<string, string>>;
  /** The model's folder. */
  readonly model: string;
}

/**
 * Creates a cache with `HuggingFaceTB/SmolLM2-135M-Instruct`, `Qwen/Qwen2.5-0.5B-Instruct`,
 * `Qwen/Qwen2.5-Coder-0.5B-Instruct`, `Qwen/Qwen3-0.6B`, `openai-community/gpt2`, `openai/gsm8k`,
 * `DigitalLearningGmbH/MATH-lighteval`, `openai/openai_humaneval`, `CoMLRL/CoopHumanEval`, `OpenMLRL/MBPP`,
 * `google-research-datasets/mbpp`, `FudanSELab/ClassEval`, MultiPL-E's JavaScript, `trl-lib/tldr` and
 * `OpenMLRL/arXiv_abstract`.
 */
export async function createTinyHub(): Promise<TinyHub> {
  const cache = temporaryFolder();
  const repository = async (name: string): Promise<string> => {
    await write(join(cache, name, "refs", "main"), commit);
    await mkdir(join(cache, name, "snapshots"));
    return join(cache, name, "snapshots", commit);
  };
  const model = await repository("models--HuggingFaceTB--SmolLM2-135M-Instruct");
  {
    await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
    await exportTinyModel(backend, model);
    await exportTinyBaseModel(backend, await repository("models--openai-community--gpt2"));
  }
  for (const name of ["Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-0.5B-Instruct", "Qwen3-0.6B"]) {
    await cp(model, await repository(`models--Qwen--${name}`), { recursive: true });
  }
  const problems = await repository("datasets--DigitalLearningGmbH--MATH-lighteval");
  for (const split of ["train", "test"]) await write(join(problems, "default", `${split}.jsonl`), mathProblems(split));
  const data = await repository("datasets--openai--gsm8k");
  for (const split of ["train", "test"]) await write(join(data, "main", `${split}.jsonl`), wordProblems(split));
  const functions = await repository("datasets--openai--openai_humaneval");
  await write(join(functions, "openai_humaneval", "test.jsonl"), codeProblems());
  for (const name of ["CoMLRL--CoopHumanEval", "OpenMLRL--MBPP"]) {
    await write(join(await repository(`datasets--${name}`), "test.jsonl"), codeProblems());
  }
  const posts = await repository("datasets--trl-lib--tldr");
  for (const split of ["train", "test"]) await write(join(posts, `${split}.jsonl`), texts("prompt", split));
  const abstracts = await repository("datasets--OpenMLRL--arXiv_abstract");
  for (const split of ["train", "val"]) await write(join(abstracts, `${split}.jsonl`), texts("abstract_text", split));
  const mbpp = await repository("datasets--google-research-datasets--mbpp");
  for (const split of ["train", "test"]) await write(join(mbpp, "full", `${split}.jsonl`), basicProblems(split));
  await write(join(await repository("datasets--FudanSELab--ClassEval"), "test.jsonl"), classProblems());
  const scripts = await repository("datasets--nuprl--MultiPL-E");
  await write(join(scripts, "humaneval-js", "test.jsonl"), scriptProblems());
  return {
    environment: { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: "1" },
    model,
    [Symbol.asyncDispose]: () => rm(cache, { recursive: true, force: true }),
  };
}

/** A random model over bytes that is just large enough to run, as a Hugging Face folder. */
async function exportTinyModel(
  backend: TrainingBackend,
  folder: string,
  config: Readonly<Record<string, unknown>> = tinyLlama,
): Promise<void> {
  const model = await backend.openModel({ source: { type: "scratch", config, seed: 1 }, trainable: { type: "full" } });
  await model.export(`${folder}.new`, "huggingface");
  await rm(join(`${folder}.new`, modelChecksumsFile));
  await rename(`${folder}.new`, folder);
}

const tinyLlama = {
  model_type: "llama",
  vocab_size: 263,
  hidden_size: 16,
  intermediate_size: 32,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: 2048,
  tie_word_embeddings: true,
};

/** A GPT-2 that is as small, without a chat template. */
async function exportTinyBaseModel(backend: TrainingBackend, folder: string): Promise<void> {
  await exportTinyModel(backend, folder, { model_type: "gpt2", vocab_size: 263, n_embd: 16, n_layer: 1, n_head: 2 });
  const file = join(folder, "tokenizer_config.json");
  const { chat_template: _, ...rest } = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
  await writeFile(file, JSON.stringify(rest));
}

/** Rows in the form of GSM8K. */
function wordProblems(split: string): string {
  const rows = Array.from({ length: 40 }, (_, i) => {
    const [boxes, pens] = [(i % 7) + 2, (i % 5) + 3 + (split === "test" ? 10 : 0)];
    const question = `Ada has ${boxes} boxes with ${pens} pens each and gives ${i} pens away. How many pens are left?`;
    const total = boxes * pens;
    return {
      question,
      answer: `There are ${boxes}*${pens}=<<${boxes}*${pens}=${total}>>${total} pens.\n#### ${total - i}`,
    };
  });
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows in the form of MATH. */
function mathProblems(split: string): string {
  const rows = Array.from({ length: 20 }, (_, i) => {
    const term = i + (split === "test" ? 100 : 0);
    return {
      problem: `Solve $x - ${term} = 1$.`,
      solution: `It is $\\boxed{${term + 1}}$.`,
      level: `Level ${(i % 5) + 1}`,
      type: "Algebra",
    };
  });
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows with one text each. */
function texts(field: string, split: string): string {
  const rows = Array.from({ length: 20 }, (_, i) => ({ [field]: `Text ${i} of ${split}: the cat sat on the mat.` }));
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows in the form of HumanEval. */
function codeProblems(): string {
  const rows = Array.from({ length: 40 }, (_, i) => ({
    task_id: `Own/${i}`,
    prompt: `def plus_${i}(x: int) -> int:\n    """Add ${i} to x."""\n`,
    entry_point: `plus_${i}`,
    canonical_solution: `    return x + ${i}\n`,
    test: `def check(candidate):\n    assert candidate(1) == ${i + 1}\n    assert candidate(-5) == ${i - 5}\n`,
  }));
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows in the form of MBPP. */
function basicProblems(split: string): string {
  const rows = Array.from({ length: 20 }, (_, i) => {
    const factor = i + (split === "test" ? 102 : 2);
    return {
      task_id: factor,
      text: `Write a function that multiplies by ${factor}.`,
      code: `def times_${factor}(x):\n    return ${factor} * x`,
      test_setup_code: "",
      test_list: [1, 2, 3].map((x) => `assert times_${factor}(${x}) == ${factor * x}`),
    };
  });
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows in the form of ClassEval. */
function classProblems(): string {
  const rows = Array.from({ length: 20 }, (_, i) => {
    const cases = [1, 2].map((x) => `  def test_${x}(self):\n    self.assertEqual(Adder${i}().plus(${x}), ${x + i})\n`);
    const method = `class Adder${i}:\n  def zero(self):\n    BODY0\n  def plus(self, x):\n    BODY1\n`;
    return {
      task_id: `Own_${i}`,
      class_name: `Adder${i}`,
      skeleton: method.replace("BODY0", '"""Give 0."""').replace("BODY1", `"""Add ${i} to x."""`),
      solution_code: method.replace("BODY0", "return 0").replace("BODY1", `return x + ${i}`),
      import_statement: [],
      test: `import unittest\n\nclass TestPlus(unittest.TestCase):\n${cases.join("\n")}`,
    };
  });
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Rows in the form of MultiPL-E. */
function scriptProblems(): string {
  const rows = Array.from({ length: 40 }, (_, i) => {
    const tests = [1, 2, 3].map((x) => `  assert.deepEqual(candidate(${x}),${x + i});`);
    return {
      name: `HumanEval_${i}_plus_${i}`,
      language: "js",
      prompt: `//Add ${i} to x.\nfunction plus_${i}(x){\n`,
      tests: `const assert = require('node:assert');\n\n\nfunction test() {\n  let candidate = plus_${i};\n${tests.join("\n")}\n}\n\ntest();`,
    };
  });
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
