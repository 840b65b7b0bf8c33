import type { ActRequest, ActResult, Policy } from "../../src/contract/policy.ts";

/** The time in milliseconds that the first waiting call waits for the calls of other programs. */
const longestWaitMs = 10;

interface WaitingCall {
  readonly program: symbol;
  readonly request: ActRequest;
  readonly start: () => Promise<void>;
}

/** One running program. */
export interface ProgramCalls {
  /** Answers a model call of the program, together with those of other programs. */
  act(request: ActRequest): Promise<ActResult>;
  /** The program has ended. */
  end(): void;
}

/**
 * Collects the model calls of programs that run at once, so that a batching policy samples them together. A batch starts
 * when every running program waits for an answer, or a few milliseconds after its first call, but never while another
 * one is sampled. Its calls are in the order of their seeds, so that equal programs give equal batches.
 */
export class CallBatches {
  readonly #model: Policy;
  readonly #running = new Set<symbol>();
  #waiting: WaitingCall[] = [];
  #sampling = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(model: Policy) {
    this.#model = model;
  }

  /** Registers a program that runs from now on. */
  begin(): ProgramCalls {
    const program = Symbol("program");
    this.#running.add(program);
    return {
      act: (request) => this.#act(program, request),
      end: () => {
        this.#running.delete(program);
        this.#update();
      },
    };
  }

  #act(program: symbol, request: ActRequest): Promise<ActResult> {
    // Another kind of policy answers each request on its own.
    if (this.#model.flush === undefined) return this.#model.act(request);
    const { signal } = request;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((call) => call !== waiting);
        reject(signal!.reason);
        this.#update();
      };
      const start = (): Promise<void> => {
        signal?.removeEventListener("abort", onAbort);
        return this.#model.act(request).then(resolve, reject);
      };
      const waiting = { program, request, start };
      if (signal?.aborted) return onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiting);
      this.#update();
    });
  }

  #update(): void {
    if (this.#sampling || this.#waiting.length === 0) return;
    const waiting = new Set(this.#waiting.map(({ program }) => program));
    if (waiting.size >= this.#running.size) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), longestWaitMs);
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sampling || this.#waiting.length === 0) return;
    const batch = this.#waiting.sort((first, second) => first.request.seed - second.request.seed);
    this.#waiting = [];
    this.#sampling = true;
    void Promise.allSettled(batch.map(({ start }) => start())).then(() => {
      this.#sampling = false;
      this.#update();
    });
  }
}
