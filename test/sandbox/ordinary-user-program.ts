import { createBubblewrapSandbox } from "../../sandbox/bubblewrap/create-bubblewrap-sandbox.ts";
import type { ExecuteRequest } from "../../sandbox/execution.ts";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";

/**
 * A program that runs as a user who is not root. It opens the sandbox of its argument, runs the requests of its parent,
 * and sends back each result with the number of its request. It ends with its parent.
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
