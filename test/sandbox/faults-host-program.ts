import type { ExecuteResult } from "../../sandbox/index.ts";
import { runSamples } from "./fault-samples.ts";
import { type FaultySandbox, faultySandboxes, type SandboxName } from "./faulty-sandboxes.ts";

/**
 * A program that a test kills or pauses. It opens the sandbox of its argument, runs all samples, sends each result to
 * its parent and closes the sandbox.
 */
const { open, language }: FaultySandbox = faultySandboxes[process.argv[2] as SandboxName];
{
  await using sandbox = await open({ workers: 2 });
  await sandbox.warmUp();
  await runSamples(sandbox, { language }, (result: ExecuteResult) => void process.send!(result));
}
process.disconnect();
