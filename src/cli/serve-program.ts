import type { Command } from "commander";
import type { Commands } from "./commands.ts";
import { append, port, positive } from "./option-values.ts";

/** The arguments of `lyceum serve`. */
export interface ServeArguments {
  /** Names, files or packages. */
  readonly environments: readonly string[];
  /** The options of the environments: `option=value` for one environment, `name.option=value` for several. */
  readonly set: readonly string[];
  /** A free port by default. */
  readonly port?: number;
  readonly host: string;
  /** The environment variable `LYCEUM_SERVER_TOKEN` by default. */
  readonly token?: string;
  /** Files in PEM. */
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly maxSessions: number;
  /** The number of worker threads. The number of processors by default. */
  readonly workers?: number;
  /** The time for one call of an environment, in seconds. */
  readonly callTimeout: number;
  /** In seconds. */
  readonly idleTimeout: number;
  /** In seconds. */
  readonly drainTimeout: number;
  /** A port for gRPC, besides. */
  readonly grpcPort?: number;
}

/** Adds `serve`. */
export function addServeCommand(program: Command, commands: Pick<Commands, "serve">): void {
  program
    .command("serve")
    .summary("serve environments to trainers in any language")
    .description("serve environments by the protocols of OpenEnv and ORS, and by gRPC if a port is given")
    .requiredOption("-e, --environments <names>", "names, files or packages, separated by commas", (text) =>
      text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()])),
    )
    .option(
      "-s, --set <option=value>",
      "an option of the environment, such as digits=3, or math.digits=3 if there are several; repeatable",
      append,
      [],
    )
    .option("--port <n>", "the port (default: a free one)", port)
    .option("--host <address>", "the address to listen on; others than loopback need a token", "127.0.0.1")
    .option("--token <token>", "the token that clients must send (default: $LYCEUM_SERVER_TOKEN)")
    .option("--tls-cert <file>", "the certificate, in PEM")
    .option("--tls-key <file>", "the key of the certificate, in PEM")
    .option("--max-sessions <n>", "the maximum number of sessions at a time", positive, 256)
    .option(
      "--workers <n>",
      "the number of threads that run environments (default: the number of processors)",
      positive,
    )
    .option("--call-timeout <seconds>", "the time for one reset or step; then its session is closed", positive, 240)
    .option("--idle-timeout <seconds>", "the time without a call after which a session is closed", positive, 900)
    .option(
      "--drain-timeout <seconds>",
      "the time for running sessions to end after Ctrl-C or SIGTERM; a second signal ends the server at once",
      positive,
      30,
    )
    .option("--grpc-port <n>", "a port for gRPC, besides", port)
    .action((args: ServeArguments) => commands.serve(args));
}
