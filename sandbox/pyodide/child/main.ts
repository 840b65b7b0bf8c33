import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ToChild } from "../protocol.ts";
import { receive, send } from "./channel.ts";
import { type Boot, Interpreter, makeSnapshot } from "./interpreter.ts";
import { closeProcess, lockDown } from "./lock-down.ts";
import { fillRandom } from "./random-bytes.ts";
import { runJob } from "./run-job.ts";

// Starts with one message, the boot options. If they contain a harness, the process answers with a snapshot and ends.
// Otherwise it sends `ready` and runs jobs until the sandbox closes.
const boot = receive() as Boot;
const guard = new Worker(new URL(`./guard.${import.meta.url.endsWith(".ts") ? "ts" : "js"}`, import.meta.url), {
  execArgv: [],
});
await once(guard, "online");
const { reallyExit } = process as unknown as { reallyExit: (code: number) => never };
const exit = reallyExit.bind(process);
lockDown(fillRandom);
if (boot.harness !== undefined) {
  send(await makeSnapshot(boot));
  exit(0);
}
const interpreter = await Interpreter.start(boot);
closeProcess();
send({ kind: "ready" });
for (let job = receive(); job !== undefined; job = receive()) {
  const { spent } = runJob(interpreter, job as ToChild);
  if (spent) break;
  interpreter.rewind();
}
exit(0);
