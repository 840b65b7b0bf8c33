import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The contents of a fake hub: files by commit, and the commits of branches. */
export interface FakeRepository {
  readonly type: "model" | "dataset";
  readonly name: string;
  readonly branches: Record<string, string>;
  readonly commits: Record<string, Record<string, string | Uint8Array>>;
  /** Paths stored as large files, whose etag is a SHA-256. */
  readonly large?: readonly string[];
  /** The token that is required to read the repository. */
  readonly token?: string;
}

/** The faults of the next answers. Tests change them while the hub runs. */
export interface FakeHubFaults {
  /** Cuts the connection of each transfer after this many bytes. */
  breakAfter?: number;
  /** Answers this many requests with this status first. */
  failures?: { status: number; count: number };
  ignoreRange?: boolean;
  corrupt?: boolean;
  /** Accepts requests for files but never answers. */
  silent?: boolean;
  /** Appends more bytes than announced. */
  excess?: boolean;
}

/** A hub on loopback with the part of the API that downloads need. */
export interface FakeHub extends AsyncDisposable {
  readonly url: string;
  readonly faults: FakeHubFaults;
  /** Requests so far, as `GET /path`. */
  readonly requests: string[];
  /** Range headers of transfers so far. */
  readonly ranges: string[];
}

export async function startFakeHub(repositories: readonly FakeRepository[]): Promise<FakeHub> {
  const faults: FakeHubFaults = {};
  const requests: string[] = [];
  const ranges: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (faults.failures !== undefined && faults.failures.count-- > 0) {
      response.writeHead(faults.failures.status).end();
      return;
    }
    const url = new URL(request.url!, "http://hub");
    const found = repositories
      .map((repository) => ({ repository, route: routeOf(url.pathname, repository) }))
      .find(({ route }) => route !== undefined);
    if (found === undefined) return json(response, 404, { error: "Repository not found" });
    const { repository, route } = found;
    if (repository.token !== undefined && request.headers.authorization !== `Bearer ${repository.token}`) {
      return json(response, 401, { error: "Invalid credentials" });
    }
    const revision = route!.revision;
    const commit = repository.branches[revision] ?? revision;
    const files = repository.commits[commit];
    if (files === undefined) return json(response, 404, { error: "Invalid rev id" });
    const describe = (path: string): object => ({ type: "file", path, ...contentId(path, files[path]!, repository) });
    switch (route!.kind) {
      case "revision":
        return json(response, 200, { id: repository.name, _id: "1", sha: commit, lastModified: "2026-01-01" });
      case "tree": {
        // Two entries per page, so that the listing has to follow links.
        const all = [{ type: "directory", path: "folder", oid: "0", size: 0 }, ...Object.keys(files).map(describe)];
        const from = Number(url.searchParams.get("cursor") ?? 0);
        url.searchParams.set("cursor", String(from + 2));
        if (from + 2 < all.length) {
          response.setHeader("link", `<http://${request.headers.host}${url.pathname}${url.search}>; rel="next"`);
        }
        return json(response, 200, all.slice(from, from + 2));
      }
      case "paths-info": {
        const body = (await Array.fromAsync(request)).join("");
        const { paths } = JSON.parse(body) as { paths: string[] };
        return json(response, 200, paths.filter((path) => path in files).map(describe));
      }
      case "resolve":
        return transfer(request, response, Buffer.from(files[route!.path]!), commit);
    }
  }

  function transfer(request: IncomingMessage, response: ServerResponse, content: Buffer, commit: string): void {
    if (faults.silent === true) return;
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    if (request.headers.range !== undefined) ranges.push(request.headers.range);
    const from = range === null || faults.ignoreRange === true ? 0 : Number(range[1]);
    let bytes = content.subarray(from);
    if (faults.corrupt === true) bytes = Buffer.from(bytes.map((byte) => byte ^ 1));
    if (faults.excess === true) bytes = Buffer.concat([bytes, Buffer.from("more")]);
    response.writeHead(range === null || faults.ignoreRange === true ? 200 : 206, {
      etag: '"x"',
      "x-repo-commit": commit,
      ...(range === null ? {} : { "content-range": `bytes ${from}-${content.length - 1}/${content.length}` }),
    });
    if (faults.breakAfter === undefined || bytes.length <= faults.breakAfter) response.end(bytes);
    else response.write(bytes.subarray(0, faults.breakAfter), () => response.destroy());
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    requests,
    ranges,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

interface Route {
  readonly kind: "revision" | "tree" | "paths-info" | "resolve";
  readonly revision: string;
  readonly path: string;
}

function routeOf(pathname: string, { type, name }: FakeRepository): Route | undefined {
  const api = new RegExp(`^/api/${type}s/${name}/(revision|tree|paths-info)/([^/]+)$`).exec(pathname);
  if (api !== null) return { kind: api[1] as Route["kind"], revision: decodeURIComponent(api[2]!), path: "" };
  const prefix = type === "dataset" ? "/datasets" : "";
  const file = new RegExp(`^${prefix}/${name}/resolve/([^/]+)/(.+)$`).exec(pathname);
  if (file === null) return undefined;
  return { kind: "resolve", revision: decodeURIComponent(file[1]!), path: decodeURIComponent(file[2]!) };
}

function contentId(path: string, content: string | Uint8Array, repository: FakeRepository): object {
  const bytes = Buffer.from(content);
  const oid = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  if (repository.large?.includes(path) !== true) return { oid, size: bytes.length };
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { oid: "0".repeat(40), size: bytes.length, lfs: { oid: sha256, size: bytes.length, pointerSize: 130 } };
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
