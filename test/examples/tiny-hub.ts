import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";

const commit = "0".repeat(40);

/** A Hugging Face cache with tiny stand-ins, so that what names a model or data set of the hub runs without it. */
export interface TinyHub extends AsyncDisposable {
  /** What a process must have in its environment to use it, and never a network. */
  readonly environment: Readonly<Record<string, string>>;
  /** The model's folder. */
  readonly model: string;
}

/** Makes a cache that knows `HuggingFaceTB/SmolLM2-135M-Instruct` and `openai/gsm8k`. */
export async function createTinyHub(): Promise<TinyHub> {
  const cache = await mkdtemp(join(tmpdir(), "lyceum-hub-"));
  const repository = async (name: string): Promise<string> => {
    await write(join(cache, name, "refs", "main"), commit);
    await mkdir(join(cache, name, "snapshots"));
    return join(cache, name, "snapshots", commit);
  };
  const model = await repository("models--HuggingFaceTB--SmolLM2-135M-Instruct");
  await exportTinyModel(model);
  const data = await repository("datasets--openai--gsm8k");
  for (const split of ["train", "test"]) await write(join(data, "main", `${split}.jsonl`), wordProblems(split));
  return {
    environment: { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: "1" },
    model,
    [Symbol.asyncDispose]: () => rm(cache, { recursive: true, force: true }),
  };
}

/** A random model over bytes that is just large enough to be run, as a Hugging Face folder. */
async function exportTinyModel(folder: string): Promise<void> {
  const config = {
    model_type: "llama",
    vocab_size: 263,
    hidden_size: 16,
    intermediate_size: 32,
    num_hidden_layers: 1,
    num_attention_heads: 2,
    max_position_embeddings: 2048,
    tie_word_embeddings: true,
  };
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  const model = await backend.openModel({ source: { type: "scratch", config, seed: 1 }, trainable: { type: "full" } });
  await model.export(`${folder}.new`, "huggingface");
  await rename(`${folder}.new`, folder);
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

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
