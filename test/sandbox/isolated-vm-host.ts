import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { callsOf, runJavaScript } from "./isolated-vm-sandbox.ts";

// A program that isolated-vm-processes.test.ts kills. It runs infinite loops, some of which cannot be interrupted.
const sandbox = createIsolatedVmSandbox({ workers: 4 });
await sandbox.warmUp();
const loops = [
  "while (1);",
  "let x = 3n; for (;;) x = x * x;",
  "for (;;) [].push({});",
  "for (;;) new Array(2 ** 20).fill(0);",
];
const limits = { cpuMs: 300_000, wallMs: 300_000 };
for (const loop of loops) {
  runJavaScript(sandbox, `function f() { ${loop} }`, callsOf("f", []), { limits }).catch(() => undefined);
}
// The loops have started.
setTimeout(() => process.stdout.write("running\n"), 300);
