import { spawn } from "node:child_process";

/** The maximum length of a failed program's error output in the error. */
const keptErrorCharacters = 4_000;

/**
 * Runs a program to its end and returns its standard output. After `timeoutMs`, or if the signal aborts, the program is
 * killed and the call rejects. A failure rejects with the end of its standard error output.
 */
export async function execute(
  program: string,
  programArguments: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
    readonly environment?: Readonly<Record<string, string>>;
    /** The working folder. The current folder by default. */
    readonly folder?: string;
  },
): Promise<string> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const child = spawn(program, programArguments, {
    signal,
    killSignal: "SIGKILL",
    cwd: options.folder,
    env: { ...process.env, ...options.environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-keptErrorCharacters);
  });
  const line = [program, ...programArguments].join(" ");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.on("error", (cause) => {
    const why = timeout.aborted ? `was killed after ${options.timeoutMs} ms` : `did not run: ${cause.message}`;
    reject(new Error(`${line} ${why}\n${errors}`, { cause }));
  });
  child.on("close", (code, killedBy) => {
    if (code === 0) resolve(output);
    else reject(new Error(`${line} ended with ${code ?? killedBy}\n${errors}`));
  });
  return promise;
}
