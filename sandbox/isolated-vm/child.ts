import { writeSync } from "node:fs";
import { FrameReader, frame } from "../pool/frames.ts";
import type { ChildMessage, JobMessage } from "./child-messages.ts";

// The child process runs one job at a time in fresh isolates, and exchanges frames over standard input and output. The
// code has no access to it. Even outside V8, the code finds no environment variables, writable files or children.

/** Ends without waiting for threads, which may be looping in code that cannot be interrupted. */
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  // The first process of a container cannot be killed from inside.
  process.abort();
};
const send = (message: ChildMessage): void => {
  const bytes = frame(message);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
};
const frames = new FrameReader(2 ** 28);
process.stdin.on("end", die);

try {
  const [{ runJob }, { createJobTools }, { isolatedVmVersion }] = await Promise.all([
    import("./run-job.ts"),
    import("./job-tools.ts"),
    import("./version.ts"),
  ]);
  // Before the process reports that it is ready, because its address space at that time sets its limit.
  const tools = createJobTools();
  const answer = async ({ nonce, job }: JobMessage): Promise<void> => {
    const outcome = await runJob(job, tools);
    const { result, reusable } = outcome;
    send({ kind: "result", nonce, result, reusable });
    if (!reusable) return;
    // The result is sent already, so cleanup delays no one.
    outcome[Symbol.dispose]();
    tools.guests.prepare();
    tools.judges.prepare();
  };
  process.stdin.on("data", (chunk: Buffer) => {
    for (const text of frames.push(chunk)) {
      answer(JSON.parse(text) as JobMessage).catch((error: unknown) => {
        send({ kind: "failed", message: String(error instanceof Error ? error.stack : error) });
        die();
      });
    }
  });
  send({ kind: "ready", version: isolatedVmVersion() });
} catch (error) {
  send({ kind: "unavailable", message: error instanceof Error ? error.message : String(error) });
}
