import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";

/** Targets of a request line that no client library sends. */
export const oddTargets: readonly string[] = [
  ...["//", "///", "//[", "/\\", "//%", "http://[", "*", "", "?", "#", "/%ZZ", "/%", "/%00", "//evil.example/health"],
  ...[
    "http://evil.example/",
    "https://[::1",
    "/../../..",
    "/..%2f",
    "/\u00ff",
    "/[",
    "/{}|^`",
    "health",
    "/?%",
    "/a:b@c",
  ],
  ...["/ws", "//ws", "/mcp?session_id=%", "/v1/../v1", "/api/v1/%", `/${"a".repeat(9_000)}`, "javascript:alert(1)"],
];

/** Hosts and authorities that are wrong or foreign. */
export const oddAuthorities: readonly string[] = [
  ...["[", "[::", "[::1]:x", ":", "::", "@", "a@b", "a:b@c:1", "%", "%00", "..", " ", "", "http://a", "a/b", "a\\b"],
  ...["127.0.0.1:99999", "localhost:-1", "\u00ff", "a b", "?", "#", "a,b", "xn--", "0x7f.1", `${"a".repeat(5_000)}`],
];

/**
 * Sends bytes, and resolves when the connection is closed, with the text of the answer. With `ends`, the client sends
 * nothing more, so that the server does not wait for the rest of a body.
 */
export async function exchange(
  port: number,
  bytes: string | Buffer,
  ms = 2_000,
  { ends = false }: { readonly ends?: boolean } = {},
): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  socket.on("data", (data) => {
    text += data.toString("latin1");
  });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const timer = setTimeout(() => socket.destroy(), ms);
  const sent = typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes;
  if (ends) socket.end(sent);
  else socket.write(sent);
  await closed;
  clearTimeout(timer);
  return text;
}

/** Returns the text of a request without a body that closes its connection. */
export function requestText(target: string, headers: readonly string[], method = "GET"): string {
  return `${method} ${target} HTTP/1.1\r\n${[...headers, "Connection: close"].join("\r\n")}\r\n\r\n`;
}

/** The headers of an upgrade to a WebSocket. */
export const upgradeHeaders: readonly string[] = [
  ...["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"],
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Sends calls of HTTP/2 with raw pseudo-headers over one connection. Returns a status for each, or how it ended. */
export async function http2Statuses(
  url: string,
  calls: readonly Readonly<Record<string, string | undefined>>[],
  ms = 2_000,
): Promise<readonly string[]> {
  const session = connectHttp2(url);
  session.on("error", () => {});
  const statuses: string[] = [];
  for (const headers of calls) {
    try {
      const call = session.request(headers as Record<string, string>);
      call.on("error", () => {});
      let status = "none";
      call.on("response", (answer) => {
        status = String(answer["grpc-status"] ?? answer[":status"]);
      });
      call.on("trailers", (trailers) => {
        status = String(trailers["grpc-status"] ?? status);
      });
      const closed = new Promise<void>((resolve) => call.once("close", () => resolve()));
      call.resume().end();
      const timer = setTimeout(() => call.close(), ms);
      await closed;
      clearTimeout(timer);
      statuses.push(status);
    } catch {
      // Node's client refuses what HTTP/2 cannot carry.
      statuses.push("unsent");
    }
  }
  session.destroy();
  return statuses;
}
