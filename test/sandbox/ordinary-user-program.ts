import { createBubblewrapSandbox } from "../../sandbox/bubblewrap/create-bubblewrap-sandbox.ts";
import type { ExecuteRequest } from "../../sandbox/execution.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";

/*
 * Run as a program, by a user who is not root: opens the sandbox that its argument names, runs the requests that its
 * parent sends, and sends back what each came to, with the number of its request. Ends with its parent.
 */
const open = process.argv[2] === "isolated-vm" ? createIsolatedVmSandbox : createBubblewrapSandbox;
const sandbox = await open({ workers: 1 });
process.on("message", async ({ number, request }: { number: number; request: ExecuteRequest }) => {
  process.send!({ number, result: await sandbox.execute(request), stats: sandbox.stats() });
});
process.on("disconnect", async () => {
  await sandbox[Symbol.asyncDispose]();
  process.exit(0);
});
process.send!({ info: sandbox.info, stats: sandbox.stats() });
