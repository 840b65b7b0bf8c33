import type { ChildMessage, JobMessage } from "./child-messages.ts";

// A program of its own, started by start-worker.ts: runs one job at a time in fresh isolates. The code under test has
// nothing of this process; should it break out of V8, the process has no environment, no files to write and no children.

/** Ends without waiting for threads, which may be spinning in code that cannot be interrupted. */
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable");
};
const send = (message: ChildMessage): void => {
  process.send!(message);
};
process.on("disconnect", die);

try {
  const [{ runJob }, { createJobTools }] = await Promise.all([import("./run-job.ts"), import("./job-tools.ts")]);
  // Before the process says that it is ready: its address space is limited by what it has then.
  const tools = createJobTools();
  const answer = async ({ nonce, job }: JobMessage): Promise<void> => {
    const outcome = await runJob(job, tools);
    const { result, reusable } = outcome;
    send({ kind: "result", nonce, result, reusable });
    if (!reusable) return;
    // While nobody waits.
    outcome[Symbol.dispose]();
    tools.guests.prepare();
    tools.judges.prepare();
  };
  process.on("message", (message) => {
    answer(message as JobMessage).catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, die);
    });
  });
  send({ kind: "ready" });
} catch (error) {
  send({ kind: "unavailable", message: error instanceof Error ? error.message : String(error) });
}
