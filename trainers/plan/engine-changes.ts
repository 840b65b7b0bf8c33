import type { Bits } from "../model-folders/architecture/quantized-parameters.ts";
import { type EngineRun, engineMemory } from "./engine-memory.ts";
import type { MachineRates } from "./measured-machine.ts";
import type { ModelSize } from "./model-size.ts";

/** A training that may have to change to fit into memory. */
export interface ChangeableRun extends EngineRun {
  /** The size with an adapter instead, which is proposed if full training does not fit. */
  readonly adapted: ModelSize;
  /** Returns the bytes of a quantized base, which is proposed for adapters. Absent if the model cannot be quantized. */
  readonly quantizedBytesOf?: ((bits: Bits) => number) | undefined;
  readonly rates: Pick<MachineRates, "memory">;
}

/**
 * Returns the single changes that make a training fit, so that the high end of its memory fits into this machine: a
 * smaller micro-batch, an adapter, or a quantized base under an adapter. If no single change is enough, returns one entry:
 * several changes together, or the advice that only another model or machine helps.
 */
export function engineChanges(options: ChangeableRun): string[] {
  const { size, adapted, maxTokensPerMicroBatch, quantizedBytesOf, quantizedBytes, rates } = options;
  const isFull = size.adapter === 0;
  const fits = (changed: Partial<ChangeableRun>): boolean =>
    engineMemory({ ...options, ...changed, memory: rates.memory }).at(-1)!.high <= rates.memory;
  const fewer = halvesOf(maxTokensPerMicroBatch);
  const bits = quantizedBytesOf === undefined || quantizedBytes !== undefined ? [] : ([8, 4] as const);
  const quantized = (one: Bits | undefined): Partial<ChangeableRun> =>
    one === undefined ? {} : { quantizedBytes: quantizedBytesOf!(one) };

  const tokens = fewer.find((count) => fits({ maxTokensPerMicroBatch: count }));
  const base = isFull ? undefined : bits.find((one) => fits(quantized(one)));
  const single = [
    ...(tokens === undefined ? [] : [microBatches(tokens)]),
    ...(isFull && fits({ size: adapted }) ? [adapter] : []),
    ...(base === undefined ? [] : [quantizedBase(base)]),
  ];
  if (single.length > 0) return single.map((change) => proposalOf([change]));

  // The least costly changes come first.
  const several = [undefined, ...bits].flatMap((one) =>
    [maxTokensPerMicroBatch, ...fewer].map((count) => ({ one, count })),
  );
  const found = several.find(({ one, count }) =>
    fits({ ...quantized(one), size: isFull ? adapted : size, maxTokensPerMicroBatch: count }),
  );
  if (found === undefined) {
    const rank = isFull ? [] : ["a smaller model.adapter.rank"];
    const { samples, sequenceLength } = options.workload;
    // A prompt and an answer of one token each cannot be shorter.
    const isLong = sequenceLength.high > 2;
    const shorter = isLong ? [samples ? "shorter answers (sampling.maxTokens)" : "shorter sequences"] : [];
    const larger = new Intl.ListFormat("en-GB", { type: "disjunction" }).format([
      ...["a smaller model", ...rank, ...shorter],
      "a machine with more memory",
    ]);
    return [`${larger}: no other change is enough`];
  }
  return [
    proposalOf([
      ...(isFull ? [adapter] : []),
      ...(found.one === undefined ? [] : [quantizedBase(found.one)]),
      ...(found.count === maxTokensPerMicroBatch ? [] : [microBatches(found.count)]),
    ]),
  ];
}

/** What changes, and the settings of a config. */
interface Change {
  readonly what: string;
  readonly settings: readonly string[];
}

const adapter: Change = { what: "an adapter", settings: ["model.adapter.type=lora"] };

function quantizedBase(bits: Bits): Change {
  return { what: `a base of ${bits} bits`, settings: ["backend.type=onnx", `backend.quantize=${bits}`] };
}

function microBatches(tokens: number): Change {
  return { what: "smaller micro-batches", settings: [`training.maxTokensPerMicroBatch=${tokens}`] };
}

function proposalOf(changes: readonly Change[]): string {
  const names = new Intl.ListFormat("en-GB").format(changes.map(({ what }) => what));
  return `${names}: ${changes.flatMap(({ settings }) => settings.map((setting) => `--set ${setting}`)).join(" ")}`;
}

/** Returns half of a number, a quarter and so on, down to 64. */
function halvesOf(count: number): number[] {
  const half = Math.floor(count / 2);
  return half < 64 ? [] : [half, ...halvesOf(half)];
}
