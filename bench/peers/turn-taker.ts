import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";

/** What a program answers to one request. */
export interface Turn {
  readonly seconds: number;
  /** The greatest memory so far: of the card, or of the process. */
  readonly peakBytes: number;
}

/** What a program answers that cannot do what was asked: the card has too little memory. */
export interface FailedTurn {
  readonly error: string;
}

/**
 * A program that is measured in turns with others on the same machine. It prints a line if it is ready, reads requests as
 * JSON lines and answers each with a line.
 */
export class TurnTaker {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#reader = createInterface({ input: this.#child.stdout! });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /** Resolves if the program is ready. */
  async ready(): Promise<void> {
    await this.#answer();
  }

  async call(request: Readonly<Record<string, unknown>>): Promise<Turn | FailedTurn> {
    this.#child.stdin!.write(`${JSON.stringify(request)}\n`);
    return (await this.#answer()) as Turn | FailedTurn;
  }

  end(): void {
    this.#reader.close();
    this.#child.kill();
  }

  async #answer(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("A measured program has ended.");
    return JSON.parse(value as string);
  }
}

/** Answers the requests of a {@link TurnTaker} in this process, until its input ends. */
export async function takeTurns(answer: (request: never) => Promise<void>): Promise<void> {
  console.log("{}");
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as never;
    const started = performance.now();
    await answer(request);
    const turn: Turn = {
      seconds: (performance.now() - started) / 1000,
      peakBytes: 1024 * process.resourceUsage().maxRSS,
    };
    console.log(JSON.stringify(turn));
  }
}
