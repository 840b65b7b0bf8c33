import type { Completion } from "../../../../src/core/policy/completion.ts";
import type { DecodeBatch, DecodeResults, ReadPrompt } from "./decode-batch.ts";
import { blockTokens, type KeptPrefixes } from "./kept-prefixes.ts";
import { KeptRow } from "./kept-row.ts";
import { byPrompt, chooseReads, keptFirst, type PromptToRead, unreadTokens } from "./read-order.ts";
import type { SampleCall } from "./sample-call.ts";

/** The memory limits of the sampler. */
export interface SamplerSettings {
  /** The maximum number of sequences that are decoded at a time. */
  readonly batchSize: number;
  /** The maximum number of prompt tokens in one prefill. */
  readonly maxTokensPerPrefill: number;
}

/** The outputs of a prefill: rows of next probabilities for each prompt, and the keys and values of the tokens read. */
export interface PrefillResults {
  readonly probabilities: Float32Array;
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** Present if the model has a value head. */
  readonly stateValues?: Float32Array;
}

/** The runs of a model that the loop needs. */
export interface DecodingModel {
  createBatch(): DecodeBatch;
  /** Reads the prompts that were placed in the batch last, without what is kept of them. */
  prefill(prompts: readonly PromptToRead[], batch: DecodeBatch): Promise<PrefillResults>;
  /** Computes the next token of each row. */
  decode(batch: DecodeBatch): Promise<DecodeResults>;
}

/**
 * The least number of decoding steps between two prefills of a joinable loop. With more steps, more prompts share a
 * prefill, which reads all weights once. With fewer steps, new calls wait less.
 */
const stepsBetweenPrefills = 4;

/**
 * Decodes the completions of one or several calls as one batch. Waiting completions take the place of finished rows.
 * The call with the fewest rows is next, and of several the one that has waited longest. Calls fail and end independently.
 */
export class SamplingLoop {
  readonly #model: DecodingModel;
  readonly #settings: SamplerSettings;
  readonly #joinable: boolean;
  readonly #kept: KeptPrefixes | undefined;
  readonly #calls = new Set<SampleCall>();
  readonly #callOf = new WeakMap<Completion, SampleCall>();
  readonly #keptRows = new WeakMap<Completion, KeptRow>();
  /** Completions that have a row and whose prompts are not read yet. Those of a group have the same prompt. */
  #unread: readonly (readonly Completion[])[] = [];
  /** The number of decoding steps since the last prefill. */
  #steps = 0;
  #isRunning = false;

  /**
   * If the loop is `joinable`, calls may be added at any time. Running rows then wait for one prefill at most and go on
   * for some steps before the next one. Otherwise all prompts that have a row are read first. With `kept`, prompts
   * continue what is kept of their beginnings, and sequences are kept, except for completions that nobody continues.
   */
  constructor(
    model: DecodingModel,
    settings: SamplerSettings,
    options: { readonly joinable: boolean; readonly kept: KeptPrefixes | undefined },
  ) {
    this.#model = model;
    this.#settings = settings;
    this.#joinable = options.joinable;
    this.#kept = options.kept;
  }

  /** Samples the completions of a call. Resolves or rejects as the call does. */
  add(call: SampleCall): Promise<void> {
    this.#calls.add(call);
    const kept = this.#kept;
    if (kept !== undefined) call.order((waiting) => keptFirst(byPrompt(waiting), kept).flat());
    if (!this.#isRunning) void this.#run();
    return call.ended;
  }

  /** Runs until all calls have ended. Never rejects. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    const batch = this.#model.createBatch();
    try {
      this.#update(batch);
      while (this.#calls.size > 0) {
        for (const call of this.#calls) await call.room();
        if (!this.#joinable || batch.size === 0 || this.#steps >= stepsBetweenPrefills) {
          if (this.#unread.length === 0) this.#admit(batch);
          if (this.#unread.length > 0) await this.#read(batch);
          if (this.#unread.length > 0) continue;
        }
        if (batch.size > 0) await this.#step(batch);
      }
    } catch (error) {
      for (const call of this.#calls) call.fail(error);
      this.#calls.clear();
    }
    this.#unread = [];
    this.#isRunning = false;
  }

  /** Gives rows to waiting completions. In bulk: one prefill for many prompts costs less than many small ones. */
  #admit(batch: DecodeBatch): void {
    const { batchSize } = this.#settings;
    const free = batchSize - batch.size;
    const waiting = [...this.#calls].reduce((sum, call) => sum + call.waiting, 0);
    if (batch.size > 0 && free < Math.min(waiting, Math.ceil(batchSize / 4))) return;
    const admitted: Completion[] = [];
    while (admitted.length < Math.min(free, waiting)) {
      const calls = [...this.#calls].filter((call) => call.waiting > 0);
      const fewest = Math.min(...calls.map(({ rows }) => rows));
      const call = calls.find(({ rows }) => rows === fewest)!;
      const completion = call.next()!;
      // The next turn of this call is after those of the others with as few rows.
      this.#calls.delete(call);
      this.#calls.add(call);
      this.#callOf.set(completion, call);
      admitted.push(completion);
    }
    const groups = byPrompt(admitted);
    this.#unread = this.#kept === undefined ? groups : keptFirst(groups, this.#kept);
  }

  /** Reads as many prompts as fit into one prefill, each distinct one once, and samples their first tokens. */
  async #read(batch: DecodeBatch): Promise<void> {
    this.#steps = 0;
    const choice = { kept: this.#kept, maxTokens: this.#settings.maxTokensPerPrefill };
    const { read, later } = chooseReads(this.#unread, choice);
    this.#unread = later;
    batch.place(read.map(({ ids, kept }) => ({ length: ids.length, kept })));
    const waiting = read.flatMap(({ completions }) => completions);
    const results = await this.#orFail(waiting, () => this.#model.prefill(read, batch));
    if (results !== undefined) {
      const { probabilities, keys, values, stateValues } = results;
      const size = probabilities.length / read.length;
      const prompts: ReadPrompt[] = [];
      let first = 0;
      for (const [place, prompt] of read.entries()) {
        const next = probabilities.subarray(place * size, (place + 1) * size);
        const count = unreadTokens(prompt);
        for (const completion of prompt.completions) completion.reusedTokens = prompt.ids.length - count;
        const completions = prompt.completions.filter((each) => this.#advance(each, next, stateValues?.[place]));
        if (completions.length > 0) prompts.push({ place, completions, keys, values, first, count });
        // If a key or value is not finite, no probability is.
        if (Number.isFinite(next[0])) this.#keep(prompt, completions, { keys, values, first });
        first += count;
      }
      if (prompts.length > 0) batch.admit(prompts);
    }
    this.#update(batch);
  }

  /** Keeps a prompt that was read, and in future the tokens of its completions that others may continue. */
  #keep(
    { ids, kept }: PromptToRead,
    completions: readonly Completion[],
    { keys, values, first }: Pick<ReadPrompt, "keys" | "values" | "first">,
  ): void {
    if (this.#kept === undefined) return;
    const row = new KeptRow(this.#kept, kept.at(-1));
    row.add(ids.slice(kept.length * blockTokens), { keys, values, start: first * this.#kept.size });
    const continued = completions.filter(({ request }) => request.last !== true);
    for (const [i, completion] of continued.entries()) this.#keptRows.set(completion, i === 0 ? row : row.copy());
  }

  /** Decodes one token for every row of the batch. */
  async #step(batch: DecodeBatch): Promise<void> {
    this.#steps += 1;
    const results = await this.#orFail(batch.completions, () => this.#model.decode(batch));
    if (results !== undefined) {
      const { keys, values } = results;
      batch.advance(results, (completion, next, { value, start }) => {
        const input = completion.lastId;
        if (!this.#advance(completion, next, value)) return false;
        this.#keptRows.get(completion)?.add([input], { keys, values, start });
        return true;
      });
    }
    this.#update(batch);
  }

  #advance(completion: Completion, probabilities: Float32Array, value: number | undefined): boolean {
    return this.#callOf.get(completion)!.advance(completion, probabilities, value);
  }

  /** Returns the results of a run for completions. If it fails, their calls fail. */
  async #orFail<Results>(
    completions: readonly Completion[],
    run: () => Promise<Results>,
  ): Promise<Results | undefined> {
    try {
      return await run();
    } catch (error) {
      for (const completion of completions) this.#callOf.get(completion)!.fail(error);
      return undefined;
    }
  }

  /** Reports what a run has sampled. Removes what has ended, was dropped or was aborted. */
  #update(batch: DecodeBatch): void {
    for (const call of this.#calls) {
      call.update();
      if (call.hasEnded) this.#calls.delete(call);
    }
    const isKept = (completion: Completion): boolean => this.#callOf.get(completion)!.needs(completion);
    this.#unread = this.#unread.map((group) => group.filter(isKept)).filter((group) => group.length > 0);
    batch.keep(isKept);
  }
}
