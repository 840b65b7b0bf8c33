import type { CallObserver, RunningCall } from "../src/core/rollout/running-call.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";

/** The number of calls that the board can name, and the size of each in bytes. */
const [slots, slotBytes] = [32, 2048];
/** The longest text of a call. Its JSON always fits into a slot. */
const maxCharacters = 100;
const [progressAt, beatsAt, innermostAt, headBytes] = [0, 1, 2, 16];

/** The calls on a board at one time. */
export interface BoardedCalls {
  /** The call whose code runs now, if it has not returned its promise yet. */
  readonly innermost: RunningCall | undefined;
  /** All calls whose promise has not settled, in no order. The oldest are missing if there are very many. */
  readonly open: readonly RunningCall[];
}

/** Returns the memory of a board. Two threads use it: one records its calls, and another one reads them. */
export function boardMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(headBytes + slots * slotBytes);
}

/** The board of the thread that makes the calls. */
export class CallRecorder {
  readonly #head: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #lengths: Int32Array;
  readonly #encoder = new TextEncoder();
  /** The number of the call in each slot. */
  readonly #owners = new Int32Array(slots);
  #count = 0;

  constructor(memory: SharedArrayBuffer) {
    this.#head = new Int32Array(memory, 0, headBytes / 4);
    this.#bytes = new Uint8Array(memory);
    this.#lengths = new Int32Array(memory);
  }

  /** Records that the event loop turns. */
  beat(): void {
    Atomics.add(this.#head, beatsAt, 1);
    this.#progress();
  }

  /** Records a call until it settles. */
  readonly observe: CallObserver = (call) => {
    this.#count += 1;
    const number = this.#count;
    const slot = number % slots;
    const outer = Atomics.load(this.#head, innermostAt);
    this.#owners[slot] = number;
    const at = headBytes + slot * slotBytes;
    const { written } = this.#encoder.encodeInto(
      JSON.stringify(shortened(call)),
      this.#bytes.subarray(at + 4, at + slotBytes),
    );
    Atomics.store(this.#lengths, at / 4, written);
    Atomics.store(this.#head, innermostAt, slot + 1);
    this.#progress();
    return {
      returned: () => {
        Atomics.store(this.#head, innermostAt, outer);
        this.#progress();
      },
      settled: () => {
        // A later call may have replaced it.
        if (this.#owners[slot] === number) Atomics.store(this.#lengths, at / 4, 0);
        this.#progress();
      },
    };
  };

  #progress(): void {
    Atomics.add(this.#head, progressAt, 1);
  }
}

/** Reads the board, from any thread. */
export class CallReader {
  readonly #memory: SharedArrayBuffer;
  readonly #head: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#head = new Int32Array(memory, 0, headBytes / 4);
  }

  /** A number that changes when the event loop turns, and when a call begins, returns or settles. */
  get progress(): number {
    return Atomics.load(this.#head, progressAt);
  }

  /** The number of turns of the event loop that were recorded. */
  get beats(): number {
    return Atomics.load(this.#head, beatsAt);
  }

  /** Returns the calls. They are only valid if {@link progress} is the same before and after. */
  calls(): BoardedCalls {
    const innermost = Atomics.load(this.#head, innermostAt);
    const all = Array.from({ length: slots }, (_, slot) => this.#call(slot));
    return {
      innermost: innermost === 0 ? undefined : all[innermost - 1],
      open: all.filter((call) => call !== undefined),
    };
  }

  #call(slot: number): RunningCall | undefined {
    const at = headBytes + slot * slotBytes;
    const length = Atomics.load(new Int32Array(this.#memory, at, 1), 0);
    if (length === 0) return undefined;
    // A decoder does not read shared memory.
    const bytes = new Uint8Array(this.#memory, at + 4, length).slice();
    return JSON.parse(new TextDecoder().decode(bytes)) as RunningCall;
  }
}

/** Returns the name of a call for a message. */
export function callText({ subject, call, task, turn }: RunningCall): string {
  const details = [...(task === undefined ? [] : [`task "${task}"`]), ...(turn === undefined ? [] : [`turn ${turn}`])];
  return visibleLine(`${subject}, ${[call, ...details].join(", ")}`);
}

/** Returns the call with texts that fit. */
function shortened(call: RunningCall): RunningCall {
  const { subject, task } = call;
  return { ...call, subject: short(subject), ...(task === undefined ? {} : { task: short(task) }) };
}

function short(text: string): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters)}...`;
}
