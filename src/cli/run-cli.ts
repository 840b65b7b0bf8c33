import { setImmediate } from "node:timers/promises";
import { CommanderError } from "commander";
import { writeFailure } from "../contract/errors/write-failed.ts";
import type { CaptureArguments } from "./capture-program.ts";
import type { CheckArguments } from "./check-program.ts";
import {
  type CollectArguments,
  createProgram,
  type ExportArguments,
  type InfoArguments,
  type InitArguments,
  type PlayArguments,
  type ReportArguments,
  type TrainArguments,
} from "./create-program.ts";
import { errorText } from "./error-text.ts";
import type { CompareArguments, EvalArguments, RescoreArguments } from "./eval-program.ts";
import { exitCodeOf, exitCodes } from "./exit-code.ts";
import type { ExportPythonArguments } from "./export-python-program.ts";
import { type Interruption, listenForInterrupt } from "./interrupt.ts";
import type { MigrateArguments } from "./migrate-program.ts";
import { packageVersion } from "./package-version.ts";
import { resumeCommand } from "./resume-command.ts";
import type { ServeArguments } from "./serve-program.ts";
import type { ViewArguments } from "./view-program.ts";

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
  let watchdog: Disposable | undefined;
  const program = createProgram(
    {
      train,
      report,
      init,
      check,
      play,
      collect,
      export: exportModels,
      exportPython,
      eval: evaluate,
      compare,
      rescore,
      view,
      capture,
      serve,
      migrate,
      info,
    },
    { version: packageVersion() },
  );
  try {
    await program.parseAsync([...argv], { from: "user" });
    // By then it is known whether the last output could be written.
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
    watchdog?.[Symbol.dispose]();
  }

  /** Listens for signals while environments run. */
  async function listenWhilePlaying(): Promise<Interruption> {
    const interruption = listenForInterrupt();
    if (options.watchdog === true) {
      const { startWatchdog } = await import("./watchdog.ts");
      watchdog = startWatchdog(interruption);
    }
    return interruption;
  }

  async function train(args: TrainArguments): Promise<void> {
    keepsFiles = true;
    using interruption = await listenWhilePlaying();
    // Modules are imported when their command runs, so that help and version are fast.
    const { openCatalog } = await import("./catalog.ts");
    const { trainCommand } = await import("./train-command.ts");
    const script = process.argv[1] ?? "lyceum";
    await trainCommand(args, {
      catalog: await openCatalog(),
      view: { stream: stdout, color, signal: interruption.signal },
      signal: interruption.signal,
      resumeCommand: (output) => resumeCommand({ args, output, script, environment: process.env }),
    });
  }

  async function report({ folder }: ReportArguments): Promise<void> {
    const { writeReport } = await import("../reports/training/index.ts");
    const { visibleText } = await import("../reports/training/visible-text.ts");
    stdout.write(`report: ${visibleText(await writeReport(folder))}\n`);
  }

  async function init({ name }: InitArguments): Promise<void> {
    const { initPackage } = await import("./init.ts");
    const { folder, files, reference } = await initPackage(name);
    const next = [
      `cd ${folder}`,
      // A clone that runs from its sources may not be built.
      ...(import.meta.filename.endsWith(".ts") ? [`npm run build --prefix ${reference.slice("file:".length)}`] : []),
      "npm install",
      "npm test",
      "npx lyceum play ./environment.ts",
      "npx lyceum train",
      "npx lyceum train --config grpo.yaml",
    ];
    stdout.write(`${folder}: ${files.join(", ")}\n\nNext:\n${next.map((line) => `  ${line}\n`).join("")}`);
  }

  async function check(args: CheckArguments): Promise<void> {
    using interruption = await listenWhilePlaying();
    const { openCatalog } = await import("./catalog.ts");
    const { checkCommand } = await import("./check-command.ts");
    await checkCommand(args, { catalog: await openCatalog(), output: stdout, signal: interruption.signal });
  }

  async function play(args: PlayArguments): Promise<void> {
    using interruption = await listenWhilePlaying();
    const { openCatalog } = await import("./catalog.ts");
    const { playCommand } = await import("./play-command.ts");
    const { signal } = interruption;
    await playCommand(args, { catalog: await openCatalog(), input: process.stdin, output: stdout, signal });
  }

  async function collect(args: CollectArguments): Promise<void> {
    keepsFiles = true;
    using interruption = await listenWhilePlaying();
    const { openCatalog } = await import("./catalog.ts");
    const { collectCommand } = await import("./collect-command.ts");
    await collectCommand(args, { catalog: await openCatalog(), output: stdout, signal: interruption.signal });
  }

  async function exportModels(args: ExportArguments): Promise<void> {
    keepsFiles = true;
    using interruption = listenForInterrupt();
    const { openCatalog } = await import("./catalog.ts");
    const { exportCommand } = await import("./export-command.ts");
    await exportCommand(args, { catalog: await openCatalog(), output: stdout, signal: interruption.signal });
  }

  async function exportPython(args: ExportPythonArguments): Promise<void> {
    keepsFiles = true;
    using interruption = listenForInterrupt();
    const { openCatalog } = await import("./catalog.ts");
    const { exportPythonCommand } = await import("./export-python-command.ts");
    await exportPythonCommand(args, { catalog: await openCatalog(), output: stdout, signal: interruption.signal });
  }

  async function evaluate(args: EvalArguments): Promise<void> {
    keepsFiles = !args.json;
    using interruption = await listenWhilePlaying();
    const { openCatalog } = await import("./catalog.ts");
    const { evalCommand } = await import("./eval-command.ts");
    await evalCommand(args, { catalog: await openCatalog(), output: stdout, signal: interruption.signal });
  }

  async function compare(args: CompareArguments): Promise<void> {
    const { compareCommand } = await import("./compare-command.ts");
    await compareCommand(args, stdout);
  }

  async function rescore(args: RescoreArguments): Promise<void> {
    keepsFiles = !args.json;
    using interruption = await listenWhilePlaying();
    const { openCatalog } = await import("./catalog.ts");
    const { rescoreCommand } = await import("./rescore-command.ts");
    await rescoreCommand(args, { catalog: await openCatalog(), output: stdout, signal: interruption.signal });
  }

  async function view(args: ViewArguments): Promise<void> {
    using interruption = listenForInterrupt();
    const { viewCommand } = await import("./view-command.ts");
    await viewCommand(args, { output: stdout, signal: interruption.signal });
  }

  async function capture(args: CaptureArguments): Promise<void> {
    using interruption = listenForInterrupt();
    const { openCatalog } = await import("./catalog.ts");
    const { captureCommand } = await import("./capture-command.ts");
    const { signal } = interruption;
    await captureCommand(args, { catalog: await openCatalog(), output: stdout, environment: process.env, signal });
  }

  async function serve(args: ServeArguments): Promise<void> {
    using interruption = listenForInterrupt();
    const { serveCommand } = await import("./serve-command.ts");
    await serveCommand(args, { output: stdout, environment: process.env, signal: interruption.signal });
  }

  async function migrate(args: MigrateArguments): Promise<void> {
    const { openCatalog } = await import("./catalog.ts");
    const { migrateCommand } = await import("./migrate-command.ts");
    const output = (text: string): void => void stdout.write(text);
    const report = (text: string): void => void stderr.write(text);
    await migrateCommand(args, { catalog: await openCatalog(), output, report });
  }

  async function info({ name, json, keys }: InfoArguments): Promise<void> {
    const { openCatalog } = await import("./catalog.ts");
    const { configKeysText, infoText, namedInfoText } = await import("./info-text.ts");
    const catalog = await openCatalog();
    const options = { width: Math.min(stdout.columns || 100, 120), color };
    if (name !== undefined) {
      const { namedInfo } = await import("./named-info.ts");
      const found = await namedInfo(name, catalog);
      stdout.write(json ? asJson(found) : namedInfoText(found, options));
      return;
    }
    const { collectInfo, configKeys } = await import("./info.ts");
    if (keys && !json) stdout.write(configKeysText({ config: configKeys(catalog) }, options));
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
 * Lets a command continue if its output cannot be written. Returns the reason when it is known. Ignores closed outputs,
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
