/** The record of a completion that was sampled with `record_stability_info`. */
export interface RecordedSequence {
  readonly tokens: Int32Array;
  /** One per token, under the policy that sampled. */
  readonly logprobs: Float32Array;
}

interface Entry {
  readonly sequence: RecordedSequence;
  /** The time in milliseconds at which it was sampled or last trained on. */
  used: number;
}

/** The recorded completions of each session, by sequence id. They expire some time after their last use. */
export class RecordedSequences {
  readonly #keepMs: number;
  readonly #sessions = new Map<string, Map<string, Entry>>();

  constructor(options: { readonly keepMs: number }) {
    this.#keepMs = options.keepMs;
  }

  add(sessionId: string, sequenceId: string, sequence: RecordedSequence): void {
    const entries = this.#sessions.get(sessionId) ?? new Map<string, Entry>();
    this.#sessions.set(sessionId, entries);
    this.#expire(entries);
    entries.set(sequenceId, { sequence, used: Date.now() });
  }

  /** Returns a completion and marks it as used. Undefined if it is unknown in this session, or has expired. */
  use(sessionId: string, sequenceId: string): RecordedSequence | undefined {
    const entries = this.#sessions.get(sessionId);
    if (entries === undefined) return undefined;
    this.#expire(entries);
    const entry = entries.get(sequenceId);
    if (entry === undefined) return undefined;
    entry.used = Date.now();
    // The entries are in the order of their last use.
    entries.delete(sequenceId);
    entries.set(sequenceId, entry);
    return entry.sequence;
  }

  /** Forgets the completions of a session. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  #expire(entries: Map<string, Entry>): void {
    const oldest = Date.now() - this.#keepMs;
    for (const [id, { used }] of entries) {
      if (used > oldest) break;
      entries.delete(id);
    }
  }
}
