import type { Command } from "commander";
import type { Device } from "../trainers/config/model-config.ts";
import type { EngineType } from "./catalog.ts";
import { addModelOptions, modelKinds } from "./model-options.ts";
import { finite, port, positive } from "./option-values.ts";

/** The arguments of `lyceum capture`. */
export interface CaptureArguments {
  /** See `ModelArguments`. */
  readonly model: readonly string[];
  readonly base?: string;
  /** The options of the model as `option=value`, in order. */
  readonly modelOption: readonly string[];
  readonly backend: EngineType;
  readonly device: Device;
  readonly quantize?: 4 | 8 | undefined;
  /** A free port by default. */
  readonly port?: number;
  readonly host: string;
  /** The environment variable `LYCEUM_CAPTURE_ADMIN_KEY` by default, else a new key. */
  readonly adminKey?: string;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly maxModelCalls?: number;
  readonly maxSessions: number;
}

/** Adds `capture`. */
export function addCaptureCommand(
  program: Command,
  commands: { capture(args: CaptureArguments): Promise<void> },
): void {
  const capture = program
    .command("capture")
    .summary("answer the model calls of other programs and record their tokens")
    .description(
      "answer the model calls of programs that use OpenAI's or Anthropic's protocols, and record their tokens",
    )
    .option("--port <n>", "the port to listen on (default: a free one)", port)
    .option("--host <address>", "the address to listen on; others than loopback need an admin key", "127.0.0.1")
    .option(
      "--admin-key <key>",
      "the key that opens sessions (default: $LYCEUM_CAPTURE_ADMIN_KEY, else a new one, which is printed)",
    )
    .option("--temperature <t>", "the temperature of all calls (default: what each call asks for)", finite)
    .option("--max-tokens <n>", "the maximum number of tokens of an answer (default: 4096)", positive)
    .option("--max-model-calls <n>", "the maximum number of calls of a session (default: unlimited)", positive)
    .option("--max-sessions <n>", "the maximum number of open sessions", positive, 4096)
    .action((args: CaptureArguments) => commands.capture(args));
  addModelOptions(capture, { description: `the model that answers: ${modelKinds}`, required: true });
}
