/**
 * A program for a test that kills it. It keeps a sandbox busy with a hundred executions in processes that ignore
 * signals. It prints "busy" after all workers run. node sandbox-busy.ts <backend> <workers>
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createSandbox, type SandboxChoice } from "../../sandbox/index.ts";

const backend = process.argv[2] as SandboxChoice;
const workers = Number(process.argv[3]);
const language = backend === "isolated-vm" ? "javascript" : "python";
const [entry, code] = {
  // If processes can be forked, another process leaves its session.
  python: [
    "solution.py",
    `import os, signal, time
def spin():
    try:
        for number in range(1, 32):
            if number not in (9, 17, 19): signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0: os.setsid()
        time.sleep(600)
    except (OSError, ValueError):
        pass
    while True: pass
`,
  ],
  javascript: ["solution.js", "function spin() { for (;;); }"],
}[language] as [string, string];

const sandbox = await createSandbox({ backend, language, workers });
await sandbox.warmUp();
const running = Array.from({ length: 100 }, () =>
  sandbox.execute({
    language,
    files: { [entry]: code },
    entry,
    task: { kind: "calls", function: "spin", cases: [{ args: [] }] },
    limits: { cpuMs: 600_000, wallMs: 600_000 },
  }),
);
while (sandbox.stats().running < workers) await sleep(50);
setTimeout(() => console.log("busy"), 1_000);
await Promise.all(running);
