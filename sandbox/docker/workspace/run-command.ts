import { type Duplex, PassThrough, Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type Docker from "dockerode";

/** A command for a container. */
export interface Command {
  /** The program and its arguments. No shell reads them. */
  readonly command: readonly string[];
  /** The timeout in milliseconds. */
  readonly limitMs: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** The user name or id. By default, that of the image. */
  readonly user?: string | undefined;
  /** The working directory. By default, that of the image. */
  readonly folder?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The result of a command. */
export interface CommandResult {
  /** The standard output and the standard error in the order in which they came, cut after `maxOutputBytes`. */
  readonly output: string;
  /** Undefined if the command did not end by itself. */
  readonly exitCode: number | undefined;
  readonly timedOut: boolean;
}

/** The output of a command that is kept. The rest is read and dropped. */
const maxOutputBytes = 262_144;

const pollMs = 100;
/** After a command has ended, its output is complete if nothing more arrives for this time. */
const quietMs = 1000;

/**
 * Runs a command in a running container and waits until its process ends. Processes that it started in the background
 * go on. After the timeout the command still runs: the caller ends the container.
 */
export async function runCommand(container: Docker.Container, options: Command): Promise<CommandResult> {
  const { command, limitMs, environment = {}, user, folder, signal } = options;
  signal?.throwIfAborted();
  const exec = await container.exec({
    Cmd: [...command],
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    AttachStdout: true,
    AttachStderr: true,
    ...(user === undefined ? {} : { User: user }),
    ...(folder === undefined ? {} : { WorkingDir: folder }),
  });
  const stream = (await exec.start({ hijack: true, stdin: false })) as Duplex;
  const kept = keptOutput();
  const demuxed = new PassThrough();
  demuxed.pipe(kept.sink);
  container.modem.demuxStream(stream, demuxed, demuxed);
  let isOpen = true;
  for (const event of ["end", "close", "error"] as const) stream.on(event, () => (isOpen = false));
  const stopAt = performance.now() + limitMs;
  try {
    for (;;) {
      await wait(isOpen ? pollMs : 0, undefined, { signal });
      // A process in the background can keep the stream open after the command has ended.
      const { Running: running, ExitCode: exitCode } = await exec.inspect();
      if (!running) {
        const endedAt = performance.now();
        // The engine can report the end before the last output.
        while (isOpen && performance.now() - Math.max(endedAt, kept.heardAt()) < quietMs) {
          if (performance.now() > stopAt) break;
          await wait(pollMs / 5, undefined, { signal });
        }
        await new Promise(setImmediate);
        return { output: kept.text(), exitCode: exitCode ?? undefined, timedOut: false };
      }
      if (performance.now() > stopAt) return { output: kept.text(), exitCode: undefined, timedOut: true };
      if (!isOpen) await wait(pollMs, undefined, { signal });
    }
  } finally {
    stream.destroy();
  }
}

function keptOutput(): { readonly sink: Writable; readonly text: () => string; readonly heardAt: () => number } {
  let heard = 0;
  const parts: Buffer[] = [];
  let bytes = 0;
  const sink = new Writable({
    write: (part: Buffer, _, done) => {
      heard = performance.now();
      const rest = part.subarray(0, maxOutputBytes - bytes);
      bytes += rest.length;
      if (rest.length > 0) parts.push(rest);
      done();
    },
  });
  return { sink, text: () => Buffer.concat(parts).toString(), heardAt: () => heard };
}
