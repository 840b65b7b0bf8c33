// llama.cpp in a process of its own, for `peers.ts`: sampling. `node-llama-cpp` is no dependency of this package.
import { createRandom } from "../../src/core/random/random.ts";
import { takeTurns } from "./turn-taker.ts";

/** The setup of one process. */
export interface LlamaPeer {
  /** The module `node-llama-cpp`. */
  readonly module: string;
  /** A GGUF file. */
  readonly model: string;
  readonly rows: number;
  readonly contextLength: number;
  readonly threads: number;
}

/** What is used of `node-llama-cpp`. */
interface LlamaModule {
  getLlama(options: object): Promise<{
    loadModel(options: { modelPath: string }): Promise<{
      createContext(options: object): Promise<{
        getSequence(): {
          clearHistory(): Promise<void>;
          evaluate(ids: readonly number[], options: object): AsyncIterable<number>;
        };
      }>;
    }>;
  }>;
}

const { module, model, rows, contextLength, threads } = JSON.parse(process.argv[2]!) as LlamaPeer;
const { getLlama } = (await import(module)) as LlamaModule;
const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads });
const context = await (await llama.loadModel({ modelPath: model })).createContext({
  sequences: rows,
  contextSize: contextLength,
  threads,
});
const sequences = Array.from({ length: rows }, () => context.getSequence());
const random = createRandom(1);

await takeTurns(async ({ prompt, tokens }: { readonly prompt: number; readonly tokens: number }) => {
  const play = async (sequence: (typeof sequences)[number]): Promise<void> => {
    await sequence.clearHistory();
    const ids = Array.from({ length: prompt }, () => random.integer(33, 126));
    let count = 0;
    // The most likely token, which costs llama.cpp least.
    for await (const _ of sequence.evaluate(ids, { temperature: 0, yieldEogToken: true })) {
      count += 1;
      if (count === tokens) return;
    }
    throw new Error("A sample is short.");
  };
  await Promise.all(sequences.map(play));
});
process.exit(0);
