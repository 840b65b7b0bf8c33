import { Buffer } from "node:buffer";
import type { Random } from "../../src/core/random/random.ts";
import { oddAuthorities, oddTargets, upgradeHeaders } from "../server/http/odd-requests.ts";

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

const oddLines = [
  ...["Content-Length: 5", "Content-Length: -1", "Content-Length: 5, 5", "Content-Length: 99999999999999999999"],
  ...["Content-Length : 3", "Content-Length: 0x5", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked"],
  ...["Transfer-Encoding: chunked, identity", "Transfer-Encoding:\u000bchunked", "X: a\r\n b", "X: \u0000", ": a", "X"],
  ...[
    "Expect: 100-continue",
    "Expect: x",
    "Upgrade: h2c",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Connection: close",
  ],
  ...["Content-Encoding: gzip", "Content-Encoding: zstd", "Content-Type: application/x-protobuf", "Accept: */*;q=x"],
  ...["Content-Type: application/json", "Content-Type: multipart/form-data", "X-Session-Id: __proto__", "Cookie: a=b"],
  ...[
    "Sec-WebSocket-Version: 7",
    "Sec-WebSocket-Key: x",
    "Forwarded: host=a",
    "X-HTTP-Method-Override: DELETE",
    "Range: x",
  ],
];
const methods = [
  "GET",
  "GET",
  "POST",
  "POST",
  "POST",
  "PUT",
  "DELETE",
  "HEAD",
  "OPTIONS",
  "CONNECT",
  "TRACE",
  "QUERY",
  "get",
  "",
];

/** What {@link fuzzedLines} needs to know of a server. */
export interface FuzzedServer {
  readonly port: number;
  readonly token: string | undefined;
  /** Its routes. */
  readonly routes: readonly string[];
  /** Right bodies of its routes. */
  readonly bodies: readonly unknown[];
}

/** Returns the bytes of an HTTP request whose request line, headers, target and body are wrong in random ways. */
export function fuzzedLines(random: Random, { port, token, routes, bodies }: FuzzedServer): Buffer {
  const own = random.pick([`127.0.0.1:${port}`, `localhost:${port}`]);
  const text = JSON.stringify(changed(random.pick(bodies), random));
  const body = random.next() < 0.7 ? Buffer.from(text) : fuzzedBytes(random);
  const target = random.next() < 0.5 ? random.pick(routes) : random.pick(oddTargets);
  const line = `${random.pick(methods)} ${target !== "" && random.next() < 0.2 ? replaced(target, random) : target} `;
  const version = random.next() < 0.9 ? "HTTP/1.1" : random.pick(["HTTP/1.0", "HTTP/2.0", "HTTP/9", "", "HTTP/1.1 x"]);
  const some = <T>(share: number, value: () => T): T[] => (random.next() < share ? [value()] : []);
  const headers = [
    ...some(0.9, () => `Host: ${random.next() < 0.8 ? own : random.pick(oddAuthorities)}`),
    ...some(0.1, () => `Host: ${random.pick([own, ...oddAuthorities])}`),
    ...some(0.1, () => `Origin: ${random.pick(["null", `http://${own}`, "http://evil", ...oddAuthorities])}`),
    ...some(token === undefined ? 0.1 : 0.7, () => `Authorization: Bearer ${random.pick([token ?? "x", "", "x"])}`),
    ...some(0.1, () => `X-Api-Key: ${random.pick([token ?? "x", "", "\u00ff"])}`),
    ...some(0.15, () => upgradeHeaders.join("\r\n")),
    ...some(0.8, () => `Content-Length: ${body.length}`),
    ...some(0.3, () => random.pick(oddLines)),
    ...some(0.1, () => random.pick(oddLines)),
    ...some(0.02, () => `X: ${"y".repeat(random.pick([1_000, 20_000]))}`),
    ...some(0.02, () => "A: b\r\n".repeat(3_000)),
  ];
  const head = `${line}${version}\r\n${headers.join("\r\n")}${random.next() < 0.97 ? "\r\n\r\n" : "\n"}`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

/** Returns the pseudo-headers and headers of a call of HTTP/2 that is wrong in random ways. */
export function fuzzedCallHeaders(random: Random, paths: readonly string[], token: string | undefined) {
  const some = <T>(share: number, value: () => T): T | undefined => (random.next() < share ? value() : undefined);
  const headers = {
    ":method": random.next() < 0.8 ? "POST" : random.pick(methods),
    ":path": random.next() < 0.7 ? random.pick(paths) : random.pick(oddTargets),
    ":scheme": some(0.1, () => random.pick(["http", "https", "x", ""])),
    ":authority": some(0.7, () => random.pick(oddAuthorities)),
    host: some(0.2, () => random.pick(oddAuthorities)),
    te: some(0.8, () => "trailers"),
    "content-type": some(0.9, () =>
      random.pick(["application/grpc", "application/grpc+proto", "application/json", "x"]),
    ),
    "grpc-timeout": some(0.1, () => random.pick(["1S", "-1S", "99999999999H", "x"])),
    "grpc-encoding": some(0.1, () => random.pick(["gzip", "br", "x"])),
    authorization: some(0.5, () => `Bearer ${random.pick([token ?? "x", "", "x"])}`),
    expect: some(0.05, () => "100-continue"),
  };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

/** Returns the bytes of a connection of HTTP/2 whose frames have random types, flags, streams and lengths. */
export function fuzzedHttp2(random: Random): Buffer {
  const preface = random.next() < 0.9 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "PRI * HTTP/1.1\r\n\r\n";
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const frames = Array.from({ length: random.integer(1, 6) }, () => {
    const content = fuzzedBytes(random).subarray(0, 300);
    const head = Buffer.alloc(9);
    head.writeUIntBE(random.next() < 0.8 ? content.length : random.integer(0, 2 ** 24 - 1), 0, 3);
    head[3] = random.integer(0, 12);
    head[4] = random.integer(0, 255);
    head.writeUInt32BE(random.pick([0, 1, 3, 2, 2 ** 31 - 1, 2 ** 32 - 1]), 5);
    return Buffer.concat([head, content]);
  });
  return Buffer.concat([Buffer.from(preface), ...(random.next() < 0.8 ? [settings] : []), ...frames]);
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
