import { machineMemory } from "../../../../src/core/machine-memory.ts";
import type { DecoderConfig } from "../../../model-folders/architecture/decoder-config.ts";
import { KeptPrefixes } from "./kept-prefixes.ts";

/**
 * Returns the bytes that one sampler may keep by default: a sixteenth of the memory of the machine or container. The
 * memory that is free would differ between equal runs, and with it what is read again and how results are rounded.
 */
export function defaultKeptBytes(): number {
  return machineMemory() / 16;
}

/** How many times the memory of one sampler all samplers may keep together. */
export const samplersOfMemory = 2;

/** The kept prefixes of an engine's samplers. If they need too much memory, the least recently used sampler loses first. */
export class KeptMemory {
  readonly #mostBytes: number;
  /** The least recently used one first. */
  readonly #opened = new Set<KeptPrefixes>();

  /** `mostBytes` is the limit of one sampler. All together keep {@link samplersOfMemory} times as much. */
  constructor(mostBytes: number = defaultKeptBytes()) {
    this.#mostBytes = mostBytes;
  }

  /** Returns the kept prefixes of a new sampler. Close them when it ends. */
  open({ layers, keyValueHeads, headSize }: DecoderConfig): KeptPrefixes {
    const size = layers * keyValueHeads * headSize;
    const kept = new KeptPrefixes({ size, mostBytes: this.#mostBytes, onUse: () => this.#use(kept) });
    this.#opened.add(kept);
    return kept;
  }

  close(kept: KeptPrefixes): void {
    kept.clear();
    this.#opened.delete(kept);
  }

  #use(kept: KeptPrefixes): void {
    if (!this.#opened.delete(kept)) return;
    this.#opened.add(kept);
    let bytes = 0;
    for (const each of this.#opened) bytes += each.bytes;
    for (const oldest of this.#opened) {
      while (oldest.bytes > 0 && bytes > samplersOfMemory * this.#mostBytes) {
        bytes -= oldest.bytes;
        oldest.evict();
        bytes += oldest.bytes;
      }
    }
  }
}
