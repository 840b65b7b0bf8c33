#!/usr/bin/env node
import module from "node:module";
import { nodeVersionProblem } from "./node-version.ts";

// Everything else is imported only under a Node that can run it.
const problem = nodeVersionProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
} else {
  // Compiled code is kept between runs: starting takes half as long.
  module.enableCompileCache();
  const { runCli } = await import("./run-cli.ts");
  process.exitCode = await runCli(process.argv.slice(2), { watchdog: true });
}
