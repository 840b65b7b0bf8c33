import { type GrpcServer, serveGrpc } from "../server/grpc/serve-grpc.ts";
import { checkToken } from "../server/http/check-token.ts";
import { serveEnvironments } from "../server/http/serve-environments.ts";
import { createSessionHost, type SessionHost } from "../server/session/session-host.ts";
import { workerRunner } from "../server/session/worker-runner.ts";
import { LyceumError } from "../src/contract/errors/index.ts";
import { aborted } from "../src/core/concurrency/aborted.ts";
import { startTimer } from "../src/core/rollout/rollout-limits.ts";
import { visibleLine } from "../src/core/text/visible-text.ts";
import { namedEngine } from "./catalog.ts";
import type { CommandContext } from "./command-context.ts";
import { packageVersion } from "./package-version.ts";
import { createPolicyOpener } from "./policy-opener.ts";
import { readTls } from "./read-tls.ts";
import type { ServeArguments } from "./serve-program.ts";
import type { ServedSelection } from "./served-environments.ts";
import { openServedModels } from "./served-models.ts";

/** The environment variable with the token. */
const tokenVariable = "LYCEUM_SERVER_TOKEN";

/**
 * Runs `lyceum serve`: serves environments and models until the signal aborts, then waits until the running sessions and
 * calls have ended, for at most the drain timeout. Throws `config.invalid` for wrong options, and the errors of
 * `namedEnvironment` and of opening a model.
 */
export async function serveCommand(args: ServeArguments, options: CommandContext): Promise<void> {
  const { catalog, output, environment, signal } = options;
  const { host: hostname, grpcPort, drainTimeout } = args;
  const { environments = [], model: models = [] } = args;
  const limits = { heartbeatMs: args.heartbeat * 1000, maxMessageBytes: args.maxMessage * 2 ** 20 };
  const token = args.token ?? environment[tokenVariable];
  checkToken(token, { hostname, variable: tokenVariable });
  checkServed(args);
  const tls = await readTls(args);
  await using resources = new AsyncDisposableStack();
  const host = environments.length === 0 ? undefined : resources.use(await openHost({ ...args, environments }));
  const opener = resources.use(createPolicyOpener({ catalog, engine: namedEngine(args), signal }));
  const policies = models.length === 0 ? undefined : await openServedModels({ ...args, model: models }, opener);
  if (environments.length === 0) opener.checkEngineOptions(args);
  if (host !== undefined) {
    const { port } = args;
    const server = resources.use(
      await serveEnvironments({ host, port, hostname, token, tls, version: packageVersion(), ...limits }),
    );
    const names = host.runner.environments.map(({ name }) => visibleLine(name));
    output.write(`${names.join(", ")} at ${server.url} (Ctrl-C ends)\n`);
    for (const name of names.slice(1)) output.write(`  ${name} at ${server.url}/${name}\n`);
  }
  let grpc: GrpcServer | undefined;
  if (policies !== undefined || grpcPort !== undefined) {
    grpc = resources.use(await serveGrpc({ host, policies, port: grpcPort, hostname, token, tls, ...limits }));
    const served = policies === undefined ? "" : `${visibleLine(Object.keys(policies).join(", "))} by `;
    output.write(
      host === undefined ? `${served}gRPC at ${grpc.url} (Ctrl-C ends)\n` : `  ${served}gRPC at ${grpc.url}\n`,
    );
  }
  await aborted(signal);
  const count = host?.activeSessions ?? 0;
  if (count > 0) output.write(`Waiting up to ${drainTimeout} s for ${count} session${count === 1 ? "" : "s"} to end\n`);
  await drain({ host, grpc, ms: drainTimeout * 1000 });
}

/** Throws `config.invalid` if the options name nothing to serve, or have options of environments without one. */
function checkServed({ environments = [], model = [], port, set }: ServeArguments): void {
  if (environments.length > 0) return;
  if (model.length === 0) {
    throw new LyceumError({
      code: "config.invalid",
      message: "There is nothing to serve.",
      hint: "Name environments by --environments, a model by --model, or both.",
    });
  }
  if (port === undefined && set.length === 0) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `${port === undefined ? "--set" : "--port"} is for environments, but none is served.`,
    hint: "Models have --grpc-port and --model-option. Name environments by --environments to serve them too.",
  });
}

/** Opens the environments in worker threads, and the host of their sessions. */
async function openHost(
  args: ServeArguments & Pick<ServedSelection, "environments">,
): Promise<SessionHost & AsyncDisposable> {
  const { environments, set, workers, callTimeout, maxSessions, idleTimeout, backend, device, quantize } = args;
  const hasModels = (args.model ?? []).length > 0;
  const data: ServedSelection = { environments, set, engine: { backend, device, quantize }, hasModels };
  const module = new URL(`./served-environments.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
  const runner = await workerRunner({ module, data, workers, callMs: callTimeout * 1000 });
  return createSessionHost(runner, { maxSessions, idleMs: idleTimeout * 1000 });
}

/** Waits until all sessions and then all running gRPC calls have ended, for at most `ms`. */
async function drain(options: {
  readonly host: SessionHost | undefined;
  readonly grpc: GrpcServer | undefined;
  readonly ms: number;
}): Promise<void> {
  const { host, grpc, ms } = options;
  const late = new AbortController();
  const timer = startTimer(ms, () => late.abort());
  await host?.drain({ signal: late.signal }).catch(() => {});
  await grpc?.drain({ signal: late.signal });
  clearTimeout(timer);
}
