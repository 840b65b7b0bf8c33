import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { downloadPrefix } from "../../trainers/tinker/service/checkpoint-routes.ts";
import { tinkerApp } from "../../trainers/tinker/service/tinker-app.ts";
import { TinkerService } from "../../trainers/tinker/service/tinker-service.ts";
import { aborted } from "../core/concurrency/aborted.ts";
import { listen } from "../core/network/listen.ts";
import { openAIError } from "../server/capture/dialects/openai-error.ts";
import { completionApp } from "../server/completions/completion-app.ts";
import { foreignRequest, isLoopback } from "../server/http/allowed-origin.ts";
import { bearerToken, sameSecret } from "../server/http/same-secret.ts";
import { needsToken } from "../server/http/serve-environments.ts";
import type { CommandContext } from "./commands.ts";
import { readTls } from "./read-tls.ts";
import type { ServeModelArguments } from "./serve-model-program.ts";

/**
 * Runs `lyceum serve-model`: serves a model by the Tinker API until the signal aborts. Throws `config.invalid` for wrong
 * options, and the errors of opening the model.
 */
export async function serveModelCommand(args: ServeModelArguments, options: CommandContext): Promise<void> {
  const { catalog, output, environment, signal } = options;
  const { model: path, host: hostname, chatTemplate } = args;
  const token = args.token ?? (environment.LYCEUM_SERVER_TOKEN || undefined);
  if (!isLoopback(hostname) && token === undefined) throw needsToken(hostname);
  const tls = await readTls(args);
  await using resources = new AsyncDisposableStack();
  const folder = args.checkpoints ?? (await mkdtemp(join(tmpdir(), "lyceum-models-")));
  if (args.checkpoints === undefined) resources.defer(() => rm(folder, { recursive: true, force: true }));
  const backend = resources.use(await catalog.createBackend({ device: args.device }));
  const source = { type: "pretrained", path, ...(chatTemplate === undefined ? {} : { chatTemplate }) } as const;
  const names = args.name.length === 0 ? [path] : args.name;
  const { maxModels, sessionTimeout } = args;
  const service = resources.use(
    new TinkerService({ backend, source, names, folder, maxModels, sessionMs: sessionTimeout * 1000 }),
  );
  await service.ready();
  const maxBodyBytes = 64 * 2 ** 20;
  const tinker = getRequestListener(tinkerApp({ service, maxBodyBytes }).fetch);
  const completions = getRequestListener(completionApp({ models: service, maxBodyBytes }).fetch);
  const local = isLoopback(hostname) && token === undefined;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const key = request.headers["x-api-key"];
    const given = bearerToken(request.headers.authorization) || (typeof key === "string" ? key : "");
    const isOpen = request.url === "/api/v1/healthz" || request.url?.startsWith(downloadPrefix) === true;
    const isCompletion = request.url?.startsWith("/v1/") === true;
    const foreign = local && foreignRequest(request) !== undefined;
    if (!foreign && (token === undefined || isOpen || sameSecret(token, given))) {
      return void (isCompletion ? completions : tinker)(request, response);
    }
    const status = foreign ? 403 : 401;
    const detail = foreign ? "This server answers only programs on its own machine." : "The API key is wrong.";
    const body = isCompletion ? openAIError({ status, message: detail, code: "server.unauthorized" }) : { detail };
    // The rest of a refused request is not read.
    const headers = { "content-type": "application/json", connection: "close" };
    response.writeHead(status, headers).end(JSON.stringify(body));
  };
  const server = tls === undefined ? createServer(onRequest) : createSecureServer({ ...tls }, onRequest);
  const { authority } = await listen(server, { hostname, port: args.port ?? 0 });
  resources.defer(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });
  output.write(`${names.join(", ")} at ${tls === undefined ? "http" : "https"}://${authority} (Ctrl-C ends)\n`);
  await aborted(signal);
}
