#!/usr/bin/env node
import module from "node:module";
import { nodeVersionProblem } from "./node-version.ts";

// All other modules are imported only if Node is recent enough.
const problem = nodeVersionProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
} else {
  // Caches compiled code between runs, which halves the start time.
  module.enableCompileCache();
  const { runCli } = await import("./run-cli.ts");
  process.exitCode = await runCli(process.argv.slice(2), { watchdog: true });
  // Ends a failed command although the user's timers and sockets are open, but after its output is written.
  if (process.exitCode !== 0) process.stdout.write("", () => setTimeout(() => process.exit(), 500).unref());
}
