import { readFile } from "node:fs/promises";
import { LyceumError } from "../contract/errors/index.ts";
import { aborted } from "../core/concurrency/aborted.ts";
import { startTimer } from "../core/rollout/rollout-limits.ts";
import { serveGrpc } from "../server/grpc/serve-grpc.ts";
import { isLoopback } from "../server/http/allowed-origin.ts";
import { needsToken, serveEnvironments } from "../server/http/serve-environments.ts";
import { createSessionHost } from "../server/session/session-host.ts";
import { workerRunner } from "../server/session/worker-runner.ts";
import { packageVersion } from "./package-version.ts";
import type { ServeArguments } from "./serve-program.ts";
import type { ServedSelection } from "./served-environments.ts";

/** The environment variable with the token. */
const tokenVariable = "LYCEUM_SERVER_TOKEN";

/**
 * Runs `lyceum serve`: serves environments until the signal aborts, then waits until the running sessions have ended,
 * for at most the drain timeout. Throws `config.invalid` for wrong options, and the errors of `namedEnvironment`.
 */
export async function serveCommand(
  args: ServeArguments,
  options: {
    readonly output: { write(text: string): unknown };
    readonly environment: Readonly<Record<string, string | undefined>>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { output, environment, signal } = options;
  if (!isLoopback(args.host) && !(args.token ?? environment[tokenVariable])) throw needsToken(args.host);
  const { host: hostname, port, grpcPort, maxSessions, idleTimeout, drainTimeout } = args;
  const token = args.token ?? (environment[tokenVariable] || undefined);
  const tls = await readTls(args);
  await using resources = new AsyncDisposableStack();
  const { environments, set, workers, callTimeout } = args;
  const data: ServedSelection = { environments, set };
  const module = new URL(`./served-environments.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url);
  const runner = await workerRunner({ module, data, workers, callMs: callTimeout * 1000 });
  const host = resources.use(createSessionHost(runner, { maxSessions, idleMs: idleTimeout * 1000 }));
  const server = resources.use(
    await serveEnvironments({ host, port, hostname, token, tls, version: packageVersion() }),
  );
  const names = runner.environments.map(({ name }) => name);
  output.write(`${names.join(", ")} at ${server.url} (Ctrl-C ends)\n`);
  for (const name of names.slice(1)) output.write(`  ${name} at ${server.url}/${name}\n`);
  if (grpcPort !== undefined) {
    const grpc = resources.use(await serveGrpc({ host, port: grpcPort, hostname, token, tls }));
    output.write(`  gRPC at ${grpc.url}\n`);
  }
  await aborted(signal);
  if (host.activeSessions > 0) {
    const { activeSessions: count } = host;
    output.write(`Waiting up to ${drainTimeout} s for ${count} session${count === 1 ? "" : "s"} to end\n`);
  }
  await drain(host, drainTimeout * 1000);
}

async function readTls({ tlsCert, tlsKey }: ServeArguments): Promise<{ cert: string; key: string } | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new LyceumError({
      code: "config.invalid",
      message: "TLS needs a certificate and its key.",
      hint: "Give both --tls-cert and --tls-key.",
    });
  }
  return { cert: await readPem(tlsCert), key: await readPem(tlsKey) };
}

async function readPem(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new LyceumError({
      code: "data.not-found",
      message: `${path} cannot be read: ${cause.message}.`,
      hint: "Give the path of a file in PEM.",
      data: { path },
      cause,
    });
  });
}

/** Waits until all sessions have ended, for at most `ms`. */
async function drain(host: ReturnType<typeof createSessionHost>, ms: number): Promise<void> {
  const late = new AbortController();
  const timer = startTimer(ms, () => late.abort());
  await host.drain({ signal: late.signal }).catch(() => {});
  clearTimeout(timer);
}
