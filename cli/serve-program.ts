import type { Command } from "commander";
import type { Device } from "../trainers/config/model-config.ts";
import type { EngineType } from "./catalog.ts";
import { addModelOptions, modelKinds } from "./model-options.ts";
import { append, port, positive } from "./option-values.ts";

/** The arguments of `lyceum serve`. */
export interface ServeArguments {
  /** Names, files or packages. None by default: then a model is required. */
  readonly environments?: readonly string[];
  /** The options of the environments: `option=value` for one environment, `name.option=value` for several. */
  readonly set: readonly string[];
  /** One model, or `NAME=MODEL` for each of several. See `ModelArguments`. */
  readonly model?: readonly string[];
  readonly base?: string;
  /** The options of the models as `option=value`, in order. */
  readonly modelOption: readonly string[];
  readonly backend: EngineType;
  readonly device: Device;
  readonly quantize?: 4 | 8 | undefined;
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
  /** The time between signs of life of a connection, in seconds. */
  readonly heartbeat: number;
  /** The maximum size of a message of a client, in MiB. */
  readonly maxMessage: number;
  /** The port for gRPC. By default a free one for models, and no gRPC without them. */
  readonly grpcPort?: number;
}

/** Adds `serve`. */
export function addServeCommand(program: Command, commands: { serve(args: ServeArguments): Promise<void> }): void {
  const serve = program
    .command("serve")
    .summary("serve environments and models to programs in any language")
    .description("serve environments by the protocols of OpenEnv, ORS and gRPC, and models by gRPC")
    .option("-e, --environments <names>", "names, files or packages, separated by commas", (text) =>
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
      "the time for running sessions and calls of models to end after Ctrl-C or SIGTERM; a second signal ends the server at once",
      positive,
      30,
    )
    .option("--heartbeat <seconds>", "the time in which a client must give a sign of life and read", positive, 20)
    .option("--max-message <mib>", "the maximum size of a message of a client in MiB", positive, 16)
    .option("--grpc-port <n>", "the port for gRPC (default: a free one for models, else no gRPC)", port)
    .action((args: ServeArguments) => commands.serve(args));
  addModelOptions(serve, {
    description: `a model for gRPC clients: ${modelKinds}; NAME=MODEL for several (repeatable)`,
  });
}
