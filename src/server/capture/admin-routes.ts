import type { IncomingMessage } from "node:http";
import { LyceumError } from "../../contract/errors/index.ts";
import type { RouteAnswer } from "./capture-routes.ts";
import type { CaptureServerOptions } from "./capture-server.ts";
import type { SessionTable } from "./session-table.ts";

/** Answers the requests that are no model calls. */
export async function adminRoute({
  request,
  path,
}: {
  readonly request: IncomingMessage;
  readonly url: URL;
  readonly path: string;
  readonly body: () => Promise<unknown>;
  readonly sessions: SessionTable;
  readonly options: CaptureServerOptions;
}): Promise<RouteAnswer> {
  if (request.method === "GET" && path === "/health") return { body: { status: "ok" } };
  throw new LyceumError({ code: "server.invalid-request", message: `There is no route ${request.method} ${path}.` });
}
