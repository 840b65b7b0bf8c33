import type { Command } from "commander";
import { Option } from "commander";
import type { Device } from "../trainers/config/model-config.ts";
import type { EngineType } from "./catalog.ts";
import { backendOption, deviceOption, quantizeOption } from "./model-options.ts";
import { append, port, positive } from "./option-values.ts";

/** The arguments of `lyceum serve-model`. */
export interface ServeModelArguments {
  /** The base model, or an adapter that new adapters start from: a Hugging Face folder or a hub id. */
  readonly model: string;
  /** The names by which clients may call the base model. The model itself by default. */
  readonly name: readonly string[];
  readonly chatTemplate?: string;
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
  /** The folder of saved weights. A temporary folder by default. */
  readonly checkpoints?: string;
  readonly maxModels: number;
  /** In seconds. */
  readonly sessionTimeout: number;
  /** In seconds. */
  readonly drainTimeout: number;
}

/** Adds `serve-model`. */
export function addServeModelCommand(
  program: Command,
  commands: { serveModel(args: ServeModelArguments): Promise<void> },
): void {
  program
    .command("serve-model")
    .summary("train and sample a model for clients of the Tinker API")
    .description(
      "train and sample a model on the embedded engine for clients of the Tinker API, such as its Python SDK",
    )
    .argument(
      "<model>",
      "the base model, or an adapter that new adapters start from: a Hugging Face folder or a hub id",
    )
    .option(
      "--name <name>",
      "the name by which clients call the model, instead of the model as given; repeatable",
      append,
      [],
    )
    .addOption(
      new Option("--chat-template <file>", 'replaces the chat template: a Jinja file, or "none" for a base model'),
    )
    .addOption(backendOption())
    .addOption(deviceOption())
    .addOption(quantizeOption())
    .option("--port <n>", "the port (default: a free one)", port)
    .option("--host <address>", "the address to listen on; an address other than loopback needs a token", "127.0.0.1")
    .option("--token <token>", "the API key that clients must send (default: $LYCEUM_SERVER_TOKEN)")
    .option("--tls-cert <file>", "the certificate, in PEM")
    .option("--tls-key <file>", "the key of the certificate, in PEM")
    .option("--checkpoints <folder>", "the folder of saved weights (default: a temporary one)")
    .option("--max-models <n>", "the maximum number of models in training at a time", positive, 16)
    .option("--session-timeout <seconds>", "the time without a request after which a session ends", positive, 600)
    .option(
      "--drain-timeout <seconds>",
      "the maximum time for running requests to end after Ctrl-C or SIGTERM",
      positive,
      30,
    )
    .action((model: string, args: Omit<ServeModelArguments, "model">) => commands.serveModel({ ...args, model }));
}
