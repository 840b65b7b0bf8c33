import { once } from "node:events";
import { WebSocket } from "ws";

/** A message of the server. */
export interface Answer {
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read fields of any answer.
  readonly data: any;
}

/** A WebSocket that sends text as it is and keeps all messages. */
export class RawClient implements AsyncDisposable {
  readonly socket: WebSocket;
  readonly received: Answer[] = [];
  readonly #closed: Promise<number>;
  #onMessage: (() => void) | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => {
      this.received.push(JSON.parse(String(data)));
      this.#onMessage?.();
    });
    socket.on("error", () => {});
    this.#closed = new Promise((resolve) => socket.on("close", resolve));
  }

  static async connect(url: string, headers: Record<string, string> = {}): Promise<RawClient> {
    const client = new RawClient(new WebSocket(url.replace(/^http/, "ws"), { headers }));
    await once(client.socket, "open");
    return client;
  }

  /** The code of the server's close. */
  get closed(): Promise<number> {
    return this.#closed;
  }

  /** Sends a text and returns the next message that comes after it. */
  async send(text: string): Promise<Answer> {
    const before = this.received.length;
    this.socket.send(text);
    return this.answer(before);
  }

  /** Returns the message at an index as soon as it is there. */
  async answer(index: number): Promise<Answer> {
    while (this.received.length <= index) {
      await new Promise<void>((resolve) => {
        this.#onMessage = resolve;
      });
    }
    return this.received[index]!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    await this.#closed;
  }
}

/** Returns the text of a message. */
export function message(type: string, data?: unknown): string {
  return JSON.stringify(data === undefined ? { type } : { type, data });
}
