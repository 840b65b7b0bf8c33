import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkToken } from "../server/http/check-token.ts";
import { aborted } from "../src/core/concurrency/aborted.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";
import { TinkerService } from "../trainers/tinker/service/tinker-service.ts";
import { namedEngine } from "./catalog.ts";
import type { CommandContext } from "./command-context.ts";
import { startModelServer } from "./model-server.ts";
import { readTls } from "./read-tls.ts";
import type { ServeModelArguments } from "./serve-model-program.ts";

/** The environment variable with the token. */
const tokenVariable = "LYCEUM_SERVER_TOKEN";

/**
 * Runs `lyceum serve-model`: serves a model by the Tinker API until the signal aborts and the running requests
 * have ended, for at most the drain timeout. Throws `config.invalid` for wrong
 * options, and the errors of opening the model.
 */
export async function serveModelCommand(args: ServeModelArguments, options: CommandContext): Promise<void> {
  const { catalog, output, environment, signal } = options;
  const { model: path, host: hostname, chatTemplate } = args;
  const token = args.token ?? environment[tokenVariable];
  checkToken(token, { hostname, variable: tokenVariable });
  const tls = await readTls(args);
  await using resources = new AsyncDisposableStack();
  const folder = args.checkpoints ?? (await mkdtemp(join(tmpdir(), "lyceum-models-")));
  if (args.checkpoints === undefined) resources.defer(() => rm(folder, { recursive: true, force: true }));
  const backend = resources.use(await catalog.createBackend(namedEngine(args, { trains: true })));
  const source = { type: "pretrained", path, ...(chatTemplate === undefined ? {} : { chatTemplate }) } as const;
  const names = args.name.length === 0 ? [path] : args.name;
  const { maxModels, sessionTimeout, drainTimeout } = args;
  const service = resources.use(
    new TinkerService({ backend, source, names, folder, maxModels, sessionMs: sessionTimeout * 1000 }),
  );
  await service.ready();
  const server = resources.use(await startModelServer({ service, hostname, port: args.port, token, tls }));
  output.write(`${visibleLine(names.join(", "))} at ${server.url} (Ctrl-C ends)\n`);
  await aborted(signal);
  const { running } = service.statistics();
  if (running > 0) {
    output.write(`Waiting up to ${drainTimeout} s for ${running} request${running === 1 ? "" : "s"} to end\n`);
  }
  await server.drain({ signal: AbortSignal.timeout(drainTimeout * 1000) });
}
