import { createInterface } from "node:readline/promises";
import { setImmediate } from "node:timers/promises";
import { CommanderError } from "commander";
import { writeFailure } from "../src/contract/errors/write-failed.ts";
import type { CommandContext } from "./command-context.ts";
import type { Commands } from "./create-program.ts";
import { createProgram } from "./create-program.ts";
import { errorText } from "./error-text.ts";
import { exitCodeOf, exitCodes } from "./exit-code.ts";
import { endProcess, listenForInterrupt } from "./interrupt.ts";
import { packageVersion } from "./package-version.ts";
import { resumeCommand } from "./resume-command.ts";
import { unsettledCall } from "./unsettled-call.ts";
import type { Watchdog } from "./watchdog.ts";

/**
 * Runs one command line of `lyceum` in this process, and returns the exit code. With `watchdog`, a thread watches
 * commands that run environments.
 */
export async function runCli(argv: readonly string[], options: { readonly watchdog?: boolean } = {}): Promise<number> {
  const { stdout, stderr } = process;
  const color = stdout.isTTY === true && stdout.hasColors();
  const output = outliveOutput();
  /** True if the results of the command are in files, and its output only reports progress. */
  let keepsFiles = false;
  // A longer limit keeps the user's own code in the stack below deep library calls.
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, 30);
  let watchdog: Watchdog | undefined;
  /**
   * Runs a command until it ends or a signal aborts it. With `plays`, a thread watches the environments that it runs.
   * Modules are imported when their command runs, so that help and version are fast.
   */
  const run = async (
    command: (context: CommandContext) => Promise<void>,
    { plays = false, files = false }: { readonly plays?: boolean; readonly files?: boolean } = {},
  ): Promise<void> => {
    keepsFiles = files;
    // With this listener, signals do not end the process. The watchdog also listens to them.
    using interruption = listenForInterrupt(
      process,
      () => void (watchdog?.stop() ?? Promise.resolve()).then(endProcess),
    );
    if (plays && options.watchdog === true) {
      const { startWatchdog } = await import("./watchdog.ts");
      watchdog = startWatchdog();
    }
    const { openCatalog } = await import("./catalog.ts");
    const { signal } = interruption;
    using unsettled = unsettledCall(() => watchdog?.openCalls() ?? []);
    const context = { catalog: await openCatalog(), output: stdout, environment: process.env, signal };
    await Promise.race([command(context), unsettled.rejected]);
  };
  const commands: Commands = {
    train: (args) =>
      run(
        async (context) => {
          const { trainCommand } = await import("./train-command.ts");
          const script = process.argv[1] ?? "lyceum";
          await trainCommand(args, {
            ...context,
            view: { stream: stdout, color, signal: context.signal },
            resumeCommand: (output) => resumeCommand({ args, output, script, environment: process.env }),
          });
        },
        { plays: true, files: true },
      ),
    plan: (args) =>
      run(async (context) => (await import("./plan-command.ts")).planCommand(args, context), { plays: true }),
    report,
    init,
    check: (args) =>
      run(async (context) => (await import("./check-command.ts")).checkCommand(args, context), { plays: true }),
    play: (args) =>
      run(
        async (context) => (await import("./play-command.ts")).playCommand(args, { ...context, input: process.stdin }),
        { plays: true },
      ),
    collect: (args) =>
      run(async (context) => (await import("./collect-command.ts")).collectCommand(args, context), {
        plays: true,
        files: true,
      }),
    export: (args) =>
      run(async (context) => (await import("./export-command.ts")).exportCommand(args, context), { files: true }),
    exportPython: (args) =>
      run(async (context) => (await import("./export-python-command.ts")).exportPythonCommand(args, context), {
        files: true,
      }),
    torchNode: (args) =>
      run(async (context) => (await import("./torch-node-command.ts")).torchNodeCommand(args, context)),
    setupTorch: (args) => run(async (context) => (await import("./setup-command.ts")).setupTorchCommand(args, context)),
    exportHarbor: (args) =>
      run(async (context) => (await import("./export-harbor-command.ts")).exportHarborCommand(args, context), {
        files: true,
      }),
    eval: (args) =>
      run(async (context) => (await import("./eval-command.ts")).evalCommand(args, context), {
        plays: true,
        files: !args.json,
      }),
    compare: async (args) => (await import("./compare-command.ts")).compareCommand(args, stdout),
    rescore: (args) =>
      run(async (context) => (await import("./rescore-command.ts")).rescoreCommand(args, context), {
        plays: true,
        files: !args.json,
      }),
    view,
    capture: (args) => run(async (context) => (await import("./capture-command.ts")).captureCommand(args, context)),
    serve: (args) => run(async (context) => (await import("./serve-command.ts")).serveCommand(args, context)),
    serveModel: (args) =>
      run(async (context) => (await import("./serve-model-command.ts")).serveModelCommand(args, context)),
    migrate,
    info: (args) => run((context) => info(args, context), { plays: true }),
  };
  const program = createProgram(commands, { version: packageVersion() });
  try {
    await program.parseAsync([...argv], { from: "user" });
    // Waits for the error of the last write, if it failed.
    await setImmediate();
    if (output.failure === undefined) return exitCodes.ok;
    stderr.write(`The output could not be written: ${writeFailure(output.failure).reason}.\n`);
    return keepsFiles ? exitCodes.ok : exitCodes.failure;
  } catch (thrown) {
    const errors = unsuppressed(thrown);
    for (const error of errors) {
      // Commander has already printed its own errors.
      if (error instanceof CommanderError) continue;
      const debug = program.opts<{ debug?: boolean }>().debug === true || isOn(process.env.LYCEUM_DEBUG);
      stderr.write(`${errorText(error, { debug })}\n`);
    }
    return exitCodeOf(errors[0]);
  } finally {
    void watchdog?.stop();
  }

  async function report({ folder }: Parameters<Commands["report"]>[0]): Promise<void> {
    const { writeReport } = await import("../reports/training/index.ts");
    const { visibleText } = await import("../src/core/text/visible-text.ts");
    stdout.write(`report: ${visibleText(await writeReport(folder))}\n`);
  }

  async function init({ name }: Parameters<Commands["init"]>[0]): Promise<void> {
    const { initPackage } = await import("./init.ts");
    const { visibleText } = await import("../src/core/text/visible-text.ts");
    const { folder, files, within, reference } = await initPackage(name, { confirm: confirmation() });
    if (within !== undefined) {
      stdout.write(
        `${folder} is a package of its own inside the one of ${visibleText(within)}. To share its node_modules, add ` +
          `"${folder}" to its workspaces.\n\n`,
      );
    }
    const next = [
      `cd ${folder}`,
      // The new package imports `dist`, which a clone that runs from sources may lack.
      ...(import.meta.filename.endsWith(".ts") ? [`npm run build --prefix ${reference.slice("file:".length)}`] : []),
      "npm install",
      "npm test",
      "npx lyceum play ./environment.ts",
      "npx lyceum train",
      "npx lyceum train --config grpo.yaml",
    ];
    stdout.write(visibleText(`${folder}: ${files.join(", ")}\n\nNext:\n${next.map((line) => `  ${line}\n`).join("")}`));
  }

  /** Returns a function that asks a person, or undefined if none is there to answer. */
  function confirmation(): ((question: string) => Promise<boolean>) | undefined {
    if (!process.stdin.isTTY || !process.stdout.isTTY) return undefined;
    return async (question) => {
      using interruption = listenForInterrupt();
      using asked = createInterface({ input: process.stdin, output: stdout });
      const answer = await asked.question(`${question} [y/N] `, { signal: interruption.signal });
      return /^y(es)?$/i.test(answer.trim());
    };
  }

  async function view(args: Parameters<Commands["view"]>[0]): Promise<void> {
    using interruption = listenForInterrupt();
    const { viewCommand } = await import("./view-command.ts");
    await viewCommand(args, { output: stdout, signal: interruption.signal });
  }

  async function migrate(args: Parameters<Commands["migrate"]>[0]): Promise<void> {
    const { openCatalog } = await import("./catalog.ts");
    const { migrateCommand } = await import("./migrate-command.ts");
    const output = (text: string): void => void stdout.write(text);
    const report = (text: string): void => void stderr.write(text);
    await migrateCommand(args, { catalog: await openCatalog(), output, report });
  }

  async function info(
    { name, json, keys }: Parameters<Commands["info"]>[0],
    { catalog }: CommandContext,
  ): Promise<void> {
    const { configKeysText, infoText, namedInfoText } = await import("./info-text.ts");
    const options = { width: Math.min(stdout.columns || 100, 120), color };
    if (name !== undefined) {
      const { namedInfo } = await import("./named-info.ts");
      const found = await namedInfo(name, catalog);
      stdout.write(json ? asJson(found) : namedInfoText(found, options));
      return;
    }
    const { collectInfo, commonConfigKeys } = await import("./info.ts");
    if (keys && !json) stdout.write(configKeysText({ config: commonConfigKeys(catalog) }, options));
    else {
      const found = await collectInfo(catalog);
      stdout.write(json ? asJson(found) : infoText(found, options));
    }
  }
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/**
 * Lets a command continue if its output cannot be written. `failure` is then the first error. Ignores closed outputs,
 * such as those of `lyceum ... | head` and of a closed terminal.
 */
function outliveOutput(): { readonly failure: Error | undefined } {
  const found: { failure: Error | undefined } = { failure: undefined };
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO" && stream === process.stdout) found.failure ??= error;
    });
  }
  return found;
}

/** Returns the first error, then the errors of the cleanup after it. */
function unsuppressed(error: unknown): readonly unknown[] {
  return error instanceof SuppressedError ? [...unsuppressed(error.suppressed), ...unsuppressed(error.error)] : [error];
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== "" && value !== "0" && value !== "false";
}
