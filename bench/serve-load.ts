import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** What sessions of a server measured. */
export interface Load {
  /** Answered steps in a second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Error messages and lost connections. */
  readonly errors: number;
}

/**
 * Plays steps on many WebSockets of an OpenEnv server at once, each session one after another, and measures them. It
 * reads and writes frames itself and parses no JSON, so that the client costs little compared with the server.
 *
 * By default each session sends its next step as soon as it has an answer. With `perSecond`, all sessions together send
 * that many steps in a second, evenly spread. A step that starts late because the answer before came late is timed from
 * the moment at which it was due.
 */
export async function loadServer(options: {
  readonly port: number;
  readonly sessions: number;
  readonly seconds: number;
  readonly perSecond?: number;
}): Promise<Load> {
  const { port, sessions, seconds, perSecond } = options;
  const clients: FrameClient[] = [];
  try {
    // One after another, in batches: a burst of thousands of connections measures the listen queue.
    for (let next = 0; next < sessions; next += 64) {
      const batch = Array.from({ length: Math.min(64, sessions - next) }, () => FrameClient.connect(port));
      clients.push(...(await Promise.all(batch)));
    }
    await Promise.all(clients.map((client) => client.request({ type: "reset", data: { seed: 1 } })));
    const step = { type: "step", data: { text: "an answer of a model. ".repeat(10) } };
    const times: number[] = [];
    let errors = 0;
    const interval = perSecond === undefined ? 0 : (sessions / perSecond) * 1_000;
    const playUntil = async (client: FrameClient, end: number, record: boolean): Promise<void> => {
      let due = performance.now() + interval * (clients.indexOf(client) / sessions);
      while (performance.now() < end) {
        const early = due - performance.now();
        if (early > 0) await pause(early);
        const started = perSecond === undefined || early > 0 ? performance.now() : due;
        due += interval;
        const isError = await client.request(step).catch(() => undefined);
        if (isError !== false) errors += 1;
        if (isError === undefined) return;
        if (record) times.push(performance.now() - started);
      }
    };
    const warm = performance.now() + 1_000;
    await Promise.all(clients.map((client) => playUntil(client, warm, false)));
    const started = performance.now();
    await Promise.all(clients.map((client) => playUntil(client, started + seconds * 1_000, true)));
    const took = (performance.now() - started) / 1_000;
    times.sort((one, other) => one - other);
    const at = (share: number): number =>
      times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Infinity;
    return { perSecond: times.length / took, p50Ms: at(0.5), p99Ms: at(0.99), errors };
  } finally {
    for (const client of clients) client.close();
  }
}

/** A WebSocket with one request at a time. */
class FrameClient {
  readonly #socket: Socket;
  #unread: Buffer = Buffer.alloc(0);
  #pending: { resolve: (isError: boolean) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (data) => this.#receive(data));
    socket.on("error", () => {});
    socket.on("close", () => this.#pending?.reject(new Error("The connection was closed.")));
  }

  static async connect(port: number): Promise<FrameClient> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let head = "";
    while (!head.includes("\r\n\r\n")) head += String((await once(socket, "data"))[0]);
    if (!head.startsWith("HTTP/1.1 101")) throw new Error(`The server refuses the WebSocket: ${head.split("\r\n")[0]}`);
    return new FrameClient(socket);
  }

  /** Sends a message. Returns true if the answer is an error. */
  request(message: object): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error("The connection was closed."));
      this.#pending = { resolve, reject };
      this.#socket.write(clientFrame(JSON.stringify(message)));
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(data: Buffer): void {
    this.#unread = this.#unread.length === 0 ? data : Buffer.concat([this.#unread, data]);
    for (let frame = serverFrame(this.#unread); frame !== undefined; frame = serverFrame(this.#unread)) {
      this.#unread = this.#unread.subarray(frame.end);
      if (frame.opcode === 9) this.#socket.write(clientFrame("", 0x8a));
      if (frame.opcode !== 1) continue;
      const { resolve } = this.#pending!;
      this.#pending = undefined;
      resolve(frame.start.includes('"error"'));
    }
  }
}

/** A text frame with a mask of zeros, which leaves the payload as it is. */
function clientFrame(text: string, first = 0x81): Buffer {
  const payload = Buffer.from(text);
  const head =
    payload.length < 126
      ? Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0])
      : Buffer.from([first, 0x80 | 126, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0]);
  return Buffer.concat([head, payload]);
}

/** Returns the first frame of the bytes: its kind, the start of its text, and where it ends. Undefined if incomplete. */
function serverFrame(bytes: Buffer): { opcode: number; start: string; end: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const head = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < head) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < head + length) return undefined;
  const start = bytes.toString("utf8", head, head + Math.min(length, 20));
  return { opcode: bytes[0]! & 0xf, start, end: head + length };
}
