import { memorySize } from "./memory-size.ts";

/** The record of a completion that was sampled with `record_stability_info`. */
export interface RecordedSequence {
  readonly tokens: Int32Array;
  /** One per token, under the policy that sampled. */
  readonly logprobs: Float32Array;
}

interface Entry {
  readonly sessionId: string;
  readonly sequence: RecordedSequence;
  readonly bytes: number;
  /** The time in milliseconds at which it was sampled or last trained on. */
  used: number;
}

/**
 * The recorded completions of sessions, by sequence id. They expire some time after their last use. If all of them exceed
 * a size, those used longest ago are dropped.
 */
export class RecordedSequences {
  readonly #keepMs: number;
  readonly #maxBytes: number;
  /** In the order of the last use. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(options: { readonly keepMs: number; readonly maxBytes: number }) {
    this.#keepMs = options.keepMs;
    this.#maxBytes = options.maxBytes;
  }

  add(sessionId: string, sequenceId: string, sequence: RecordedSequence): void {
    const bytes = memorySize(sequence);
    this.#entries.set(sequenceId, { sessionId, sequence, bytes, used: Date.now() });
    this.#bytes += bytes;
    this.expire();
  }

  /** Returns a completion and marks it as used. Undefined if it is unknown in this session, or was dropped. */
  use(sessionId: string, sequenceId: string): RecordedSequence | undefined {
    this.expire();
    const entry = this.#entries.get(sequenceId);
    if (entry?.sessionId !== sessionId) return undefined;
    entry.used = Date.now();
    this.#entries.delete(sequenceId);
    this.#entries.set(sequenceId, entry);
    return entry.sequence;
  }

  /** Forgets the completions of a session. */
  forget(sessionId: string): void {
    for (const [id, entry] of this.#entries) if (entry.sessionId === sessionId) this.#drop(id, entry);
  }

  /** Drops the completions that have expired or are too many. */
  expire(): void {
    const oldest = Date.now() - this.#keepMs;
    for (const [id, entry] of this.#entries) {
      if (entry.used > oldest && this.#bytes <= this.#maxBytes) break;
      this.#drop(id, entry);
    }
  }

  #drop(id: string, { bytes }: Entry): void {
    this.#entries.delete(id);
    this.#bytes -= bytes;
  }
}
