import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { median } from "../../src/core/statistics.ts";
import { execute } from "../../test/interop/execute.ts";
import {
  cacheFolder,
  interopEnvironment,
  provideFolder,
  providePythonEnvironment,
  pythonOf,
  trlEnvironment,
} from "../../test/interop/python-environment.ts";
import { provideSmolLM2 } from "../../test/interop/smollm2.ts";
import { defaultThreads } from "../../trainers/backends/onnx/engine/default-threads.ts";
import type { Benchmark, BenchmarkResult } from "../benchmark.ts";
import type { LlamaPeer } from "./llama-peer.ts";
import type { LyceumPeer } from "./lyceum-peer.ts";
import { type Turn, TurnTaker } from "./turn-taker.ts";

/** The version of llama.cpp's package for Node. It is installed into the cache, once. */
const llamaVersion = "3.22.1";
const rounds = 5;
const threads = defaultThreads();
const [prompt, tokens] = [64, 128];

/** Programs that do the same, and how much faster than the peer Lyceum is asked to be. */
interface Comparison {
  readonly name: string;
  readonly call: Readonly<Record<string, unknown>>;
  readonly lyceum: Omit<LyceumPeer, "model">;
  readonly peer: (installed: Installed) => TurnTaker;
  readonly asked?: number;
}

/** Where the programs and the weights are. */
interface Installed {
  readonly python: string;
  /** SmolLM2-135M-Instruct as a Hugging Face folder. */
  readonly model: string;
  /** The folder of llama.cpp and of the same weights as GGUF files. */
  readonly llama: string;
}

function pytorch(trains: boolean): Comparison["peer"] {
  return ({ python, model }) => {
    const script = join(import.meta.dirname, "pytorch_peer.py");
    return new TurnTaker(python, [
      script,
      JSON.stringify({ model, trains, device: "cpu", precision: "float32", threads }),
    ]);
  };
}

function llama(file: string, rows: number): Comparison["peer"] {
  return ({ llama: folder }) => {
    const module = pathToFileURL(join(folder, "node_modules/node-llama-cpp/dist/index.js")).href;
    const contextLength = rows * (prompt + tokens);
    return nodeProgram("llama-peer.ts", {
      module,
      model: join(folder, `${file}.gguf`),
      rows,
      contextLength,
      threads,
    } satisfies LlamaPeer);
  };
}

function nodeProgram(file: string, setup: unknown): TurnTaker {
  const load = new URL("../../scripts/import-from-source.ts", import.meta.url).href;
  return new TurnTaker(process.execPath, ["--import", load, join(import.meta.dirname, file), JSON.stringify(setup)]);
}

const sample = (rows: number): Comparison["call"] => ({ call: "sample", rows, prompt, tokens });

const comparisons: readonly Comparison[] = [
  {
    name: "peers/lora-step-pytorch",
    call: { call: "train", sequences: 4, length: 256, micro: 4 },
    lyceum: { trains: true },
    peer: pytorch(true),
    asked: 1.3,
  },
  { name: "peers/decode-1-transformers", call: sample(1), lyceum: { trains: false }, peer: pytorch(false), asked: 3 },
  { name: "peers/decode-16-transformers", call: sample(16), lyceum: { trains: false }, peer: pytorch(false), asked: 4 },
  ...[1, 16].flatMap((rows): Comparison[] => [
    {
      name: `peers/decode-${rows}-llama-float32`,
      call: sample(rows),
      lyceum: { trains: false },
      peer: llama("f32", rows),
    },
    {
      name: `peers/decode-${rows}-llama-q8_0`,
      call: sample(rows),
      lyceum: { trains: false, quantize: 8, roundInputs: true },
      peer: llama("q8_0", rows),
      asked: rows === 1 ? 0.9 : 1,
    },
    {
      name: `peers/decode-${rows}-llama-q4_k_m`,
      call: sample(rows),
      lyceum: { trains: false, quantize: 4, roundInputs: true },
      peer: llama("q4_k_m", rows),
    },
  ]),
];

/**
 * Measures Lyceum's embedded engine and the programs that a user would take instead, on the CPU with the same weights
 * (SmolLM2-135M-Instruct), lengths, threads and micro-batches: a LoRA step of PyTorch with peft, sampling with transformers
 * and with llama.cpp, and GRPO steps of TRL. Both take turns. A ratio is the peer's seconds divided by Lyceum's, the median
 * of five rounds. The peak memory is that of the whole process, and is compared with the peer's. Installs Python packages
 * (2.6 GB, and 2.6 GB for TRL) and llama.cpp (0.7 GB) into the user's cache, once.
 */
export const peers: readonly Benchmark[] = [
  ...comparisons.map((comparison) => ({
    prefix: comparison.name,
    run: async () => compare(comparison, await install()),
  })),
  { prefix: "peers/grpo-38-trl", run: () => compareWithTrl("peers/grpo-38-trl", 0, 3) },
  { prefix: "peers/grpo-256-trl", run: () => compareWithTrl("peers/grpo-256-trl", 218, 4) },
];

async function compare(
  { name, call, lyceum, peer, asked }: Comparison,
  installed: Installed,
): Promise<BenchmarkResult[]> {
  const setup: LyceumPeer = { model: installed.model, ...lyceum };
  const sides = [nodeProgram("lyceum-peer.ts", setup), peer(installed)] as const;
  const turns: [Turn[], Turn[]] = [[], []];
  try {
    for (const side of sides) await side.ready();
    // The first round compiles and allocates.
    for (let round = 0; round <= rounds; round++) {
      for (const [index, side] of sides.entries()) {
        const turn = await side.call(call);
        if ("error" in turn) throw new Error(`${name}: ${turn.error}`);
        if (round > 0) turns[index]!.push(turn);
      }
    }
  } finally {
    for (const side of sides) side.end();
  }
  const [own, other] = turns.map((of) => median(of.map(({ seconds }) => seconds))) as [number, number];
  const [memory, otherMemory] = turns.map((of) => Math.max(...of.map(({ peakBytes }) => peakBytes)) / 1e9) as [
    number,
    number,
  ];
  const ratio = median(turns[1].map(({ seconds }, round) => seconds / turns[0][round]!.seconds));
  return [
    { name, value: ratio, unit: "ratio", ...(asked === undefined ? {} : { baseline: asked }) },
    { name: `${name}/seconds`, value: own, unit: "s", baseline: other },
    { name: `${name}/peak-gb`, value: memory, unit: "GB", baseline: otherMemory },
  ];
}

async function install(): Promise<Installed> {
  const environment = await providePythonEnvironment(interopEnvironment);
  const python = pythonOf(environment);
  return { python, model: await provideSmolLM2(environment), llama: await provideLlama(environment) };
}

/** What `compare-trl.ts` prints last of a side. */
interface TrlSide {
  readonly secondsPerStep: number;
  readonly peakBytes: number;
}

/** Compares whole GRPO steps with TRL's, with prompts of some 38 tokens and `words` more. */
async function compareWithTrl(name: string, words: number, asked: number): Promise<BenchmarkResult[]> {
  const model = await provideSmolLM2(await providePythonEnvironment(interopEnvironment));
  const python = pythonOf(await providePythonEnvironment(trlEnvironment));
  const script = new URL("../../scripts/compare-trl.ts", import.meta.url).pathname;
  const load = new URL("../../scripts/import-from-source.ts", import.meta.url).href;
  const settings = { model, backend: "onnx", threads, rounds, prompts: 2, words };
  const options = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, String(value)]);
  const printed = await execute(process.execPath, ["--import", load, script, ...options], {
    timeoutMs: 3_600_000,
    environment: { LYCEUM_PYTHON: python },
  });
  const [own, other, { ratio }] = printed
    .trim()
    .split("\n")
    .slice(-3)
    .map((line) => JSON.parse(line)) as [TrlSide, TrlSide, { readonly ratio: number }];
  return [
    { name, value: ratio, unit: "ratio", baseline: asked },
    { name: `${name}/seconds`, value: own.secondsPerStep, unit: "s", baseline: other.secondsPerStep },
    { name: `${name}/peak-gb`, value: own.peakBytes / 1e9, unit: "GB", baseline: other.peakBytes / 1e9 },
  ];
}

/** The folder of llama.cpp's package for Node, and of the weights that it quantizes. */
async function provideLlama(environment: string): Promise<string> {
  const folder = join(cacheFolder(), `llama-${llamaVersion}`);
  await provideFolder(folder, async (partial) => {
    console.log(`Installing llama.cpp in ${folder} (once, about 0.7 GB to download).`);
    const wanted = [
      "--prefix",
      partial,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      `node-llama-cpp@${llamaVersion}`,
    ];
    await execute("npm", ["install", ...wanted], { timeoutMs: 600_000 });
    const platform = `linux-${process.arch}`;
    const library = join(partial, "node_modules/@node-llama-cpp", platform, "bins", platform, "libllama.v0.5.0.so");
    const script = join(import.meta.dirname, "llama_files.py");
    await execute(pythonOf(environment), [script, partial, library], { timeoutMs: 300_000 });
  });
  return folder;
}
