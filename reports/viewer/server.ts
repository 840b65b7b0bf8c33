import type { IncomingMessage, ServerResponse } from "node:http";
import { type ErrorCode, toErrorData } from "../../src/contract/errors/index.ts";
import { foreignRequest } from "../../src/core/network/allowed-origin.ts";
import { createHttpServer } from "../../src/core/network/create-server.ts";
import { listen } from "../../src/core/network/listen.ts";
import { parseFilter } from "./episode-filter.ts";
import type { PageFiles } from "./page-files.ts";
import type { ViewSource } from "./view-source.ts";

/** A running viewer. */
export interface ViewServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:41873/`. */
  readonly url: string;
  close(): Promise<void>;
}

/** The only address to listen on, so that only this machine can connect. */
const loopback = "127.0.0.1";

/**
 * Serves the page and its data on the loopback address until it is closed, on a free port by default. Answers only
 * requests whose host is this machine and whose origin, if any, is this page: a page of another site sends its own.
 * Throws `config.invalid` if the port is in use or not allowed.
 */
export async function serveView(options: {
  readonly source: ViewSource;
  readonly page: PageFiles;
  readonly port?: number;
}): Promise<ViewServer> {
  const { source, page, port = 0 } = options;
  let hosts: readonly string[] = [];

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      if (!hosts.includes(request.headers.host ?? "") || foreignRequest(request) !== undefined) {
        return send(response, 403, text("This server answers only its own machine."));
      }
      if (request.method !== "GET" && request.method !== "HEAD") {
        return send(response, 405, text("Only GET and HEAD are supported."));
      }
      // A path such as //host must not become the address of another server.
      const url = new URL(`http://${loopback}${request.url}`);
      const file = pageFile(url.pathname, page);
      if (file !== undefined) return send(response, 200, file);
      const data = await answerOf(source, url, gone.signal);
      if (data === undefined) return send(response, 404, text("There is no such page."));
      send(response, 200, json(data));
    } catch (error) {
      if (!gone.signal.aborted) send(response, statusOf(error), json({ error: toErrorData(error) }));
    }
  };

  const server = createHttpServer({ request: answer });
  const { port: chosen } = await listen(server, { hostname: loopback, port });
  hosts = [`${loopback}:${chosen}`, `localhost:${chosen}`];
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closed;
  };
  return { url: `http://${loopback}:${chosen}/`, close, [Symbol.asyncDispose]: close };
}

interface Body {
  readonly type: string;
  readonly content: string;
}

const shell = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lyceum</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
</head>
<body><div id="page"></div><script type="module" src="/page.js"></script></body>
</html>
`;

function pageFile(path: string, page: PageFiles): Body | undefined {
  if (path === "/") return { type: "text/html", content: shell };
  if (path === "/page.js") return { type: "text/javascript", content: page.script };
  if (path === "/page.css") return { type: "text/css", content: page.style };
  return undefined;
}

/** Returns the source's answer to an address. Undefined for an unknown address. */
async function answerOf(source: ViewSource, url: URL, signal: AbortSignal): Promise<unknown> {
  const { searchParams: asked } = url;
  const name = (key: string): string => asked.get(key) ?? "";
  const run = name("run");
  const filter = parseFilter(asked);
  switch (url.pathname) {
    case "/api/runs":
      return await source.runs(signal);
    case "/api/run":
      return await source.run(run, signal);
    case "/api/episodes":
      return await source.episodes(
        run,
        { filter, offset: count(asked, "offset", 0), limit: count(asked, "limit", 100) },
        signal,
      );
    case "/api/episode":
      return await source.episode(run, { id: name("id"), filter }, signal);
    case "/api/compare":
      return await source.compare(name("first"), name("second"), signal);
    default:
      return undefined;
  }
}

function count(asked: URLSearchParams, name: string, otherwise: number): number {
  const value = asked.get(name) ?? "";
  return /^\d{1,12}$/.test(value) ? Number(value) : otherwise;
}

/**
 * Only content of this server is loaded, and only the page's own script runs. uPlot and colours set styles of elements.
 */
const headers = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

function send(response: ServerResponse, status: number, { type, content }: Body): void {
  response.writeHead(status, { ...headers, "content-type": `${type}; charset=utf-8` });
  response.end(content);
}

function text(content: string): Body {
  return { type: "text/plain", content: `${content}\n` };
}

function json(data: unknown): Body {
  return { type: "application/json", content: JSON.stringify(data) };
}

function statusOf(error: unknown): number {
  const { code } = toErrorData(error);
  const statuses: Partial<Record<ErrorCode, number>> = { "data.not-found": 404, "data.malformed": 422 };
  return statuses[code] ?? 500;
}
