import { Buffer } from "node:buffer";
import type { Random } from "../../src/core/random/random.ts";

const valid = [
  { type: "reset", data: { seed: 3, episode_id: "e", split: "train", index: 1 } },
  { type: "step", data: { text: "hello", step_id: "1", metadata: { a: 1 } } },
  { type: "step", data: { text: "", tool_calls: [{ id: "c", name: "keep", arguments: { value: 1 } }] } },
  { type: "step", data: { text: "", actions: { agent: { text: "a" } } } },
  { type: "step", data: { type: "call_tool", tool_name: "keep", arguments: { value: { a: [1] } } } },
  { type: "step", data: { text: "", metadata: { lyceum_actions: { agent: { message: {}, finish: "stop" } } } } },
  { type: "state" },
  { type: "mcp", data: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "keep", arguments: {} } } },
  { type: "mcp", data: { jsonrpc: "2.0", id: 1, method: "openenv/session/close", params: { session_id: "x" } } },
];

const odd: readonly unknown[] = [
  ...[null, true, -1, 0.5, 1e308, 2 ** 53, "", "\u0000", "\ud800", "__proto__", [], {}, [[[]]], "x".repeat(5_000)],
  ...[{ constructor: { prototype: { polluted: 1 } } }, Array(2_000).fill({}), "../../etc/passwd"],
];

const oddKeys = ["__proto__", "constructor", "toString", "", "\u0000", "x".repeat(2_000), "length"];

/** Returns a JSON text that is wrong in a random way, or by chance right. */
export function fuzzedText(random: Random): string {
  const text = JSON.stringify(changed(random.pick(valid), random));
  switch (random.integer(0, 9)) {
    case 0:
      return text.slice(0, random.integer(0, text.length));
    case 1:
      return replaced(text, random);
    case 2: {
      const depth = random.pick([50, 2_000, 50_000]);
      const [open, close] = random.pick([
        ["[", "]"],
        ['{"a":', "}"],
      ] as const);
      const deep = `${open.repeat(depth)}1${close.repeat(depth)}`;
      return `{"type":"step","data":{"text":"","tool_calls":[{"name":"keep","arguments":{"value":${deep}}}]}}`;
    }
    case 3:
      return text.replace(/\d+/, random.pick(["1e999", "-1e999", "9".repeat(400), "-0", "1.0000000000000002"]));
    case 4:
      return text.replace(
        /"(data|text|params|type|arguments)"/,
        random.pick(['"__proto__"', '"constructor"', '"toString"']),
      );
    case 5:
      return JSON.stringify(random.pick(odd));
    default:
      return text;
  }
}

/** Returns random bytes, invalid UTF-8 or the bytes of a fuzzed text. */
export function fuzzedBytes(random: Random): Buffer {
  const bytes = Buffer.from(fuzzedText(random).slice(0, 2_000));
  if (random.next() < 0.5)
    return Buffer.from(Array.from({ length: random.integer(0, 200) }, () => random.integer(0, 255)));
  for (let count = random.integer(0, 4); count > 0 && bytes.length > 0; count--) {
    bytes[random.integer(0, bytes.length - 1)] = random.integer(128, 255);
  }
  return bytes;
}

const paths = ["/reset", "/step", "/state", "/mcp", "/counting/num_tasks", "/counting/tasks", "/counting/task"];
const oddPaths = [
  ...["/counting/task_range", "/%ZZ", "//", "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/__proto__/reset", "*"],
  ...["/counting/ws", "http://other.host/state", "/state?session_id=%00", "/ws?session_id=__proto__", "/metadata"],
];

/** Returns the bytes of an HTTP request that is wrong in a random way, or by chance right. It says `connection: close`. */
export function fuzzedRequest(random: Random, port: number): Buffer {
  const body = random.next() < 0.5 ? fuzzedText(random) : fuzzedBytes(random).toString("latin1");
  const method = random.pick(["POST", "POST", "POST", "GET", "PUT", "CONNECT", "TRACE", "OPTIONS", "\u0000", "post"]);
  const length = Buffer.byteLength(body, "latin1");
  const smuggled = random.pick([
    ...["", "", "", "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n", "Content-Length: -1\r\n"],
    ...["Transfer-Encoding: chunked, identity\r\n", "X: a\r\n b\r\n", "Content-Length : 3\r\n", "Host: evil\r\n"],
    ...["Upgrade: websocket\r\nConnection: Upgrade\r\n", `X: ${"y".repeat(20_000)}\r\n`, "X-Session-Id: __proto__\r\n"],
    ...["Expect: 100-continue\r\n", "Content-Encoding: gzip\r\n", "X: \u0000\r\n", "Authorization: Bearer\r\n"],
  ]);
  const head = `${method} ${random.pick([...paths, ...paths, ...oddPaths])} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
  const request = `${head}${smuggled}Connection: close\r\nContent-Length: ${length}\r\n\r\n${body}`;
  const bytes = Buffer.from(request, "latin1");
  return random.next() < 0.1 ? fuzzedBytes(random) : bytes;
}

/** Returns a gRPC message with a wrong frame, wrong protobuf or a random mutation of right protobuf. */
export function fuzzedCall(random: Random, right: readonly Uint8Array[]): Buffer {
  const message = Buffer.from(random.next() < 0.3 ? fuzzedBytes(random) : random.pick(right));
  for (let count = random.integer(0, 4); count > 0 && message.length > 0; count--) {
    message[random.integer(0, message.length - 1)] = random.integer(0, 255);
  }
  const frame = Buffer.alloc(5);
  frame[0] = random.next() < 0.9 ? 0 : random.integer(1, 255);
  frame.writeUInt32BE(random.next() < 0.8 ? message.length : random.pick([0, 1, 2 ** 31, 2 ** 32 - 1]), 1);
  return Buffer.concat([frame, message]);
}

function changed(value: unknown, random: Random): unknown {
  if (random.next() < 0.15) return random.pick(odd);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => changed(item, random));
  const entries = Object.entries(value).map(([key, item]) => [key, changed(item, random)] as const);
  if (random.next() < 0.1) entries.push([random.pick(oddKeys), random.pick(odd)]);
  return Object.fromEntries(random.next() < 0.1 ? entries.slice(1) : entries);
}

function replaced(text: string, random: Random): string {
  const at = random.integer(0, text.length - 1);
  return text.slice(0, at) + random.pick(['"', "{", "}", "\\", "\\u", "\u2028", ",", "1", "\n"]) + text.slice(at + 1);
}
