import { createBubblewrapSandbox } from "../../sandbox/bubblewrap/create-bubblewrap-sandbox.ts";
import { createDockerSandbox } from "../../sandbox/docker/create-docker-sandbox.ts";

/**
 * A program for a test that kills it. It opens the sandbox of its argument and keeps it busy with processes that ignore
 * signals. It prints "started" after it has sent all requests.
 */
const open = process.argv[2] === "docker" ? createDockerSandbox : createBubblewrapSandbox;
const sandbox = await open({ workers: 4 });
await sandbox.warmUp();
const code = [
  "import os, signal, time",
  "def spin():",
  "    signal.signal(signal.SIGTERM, signal.SIG_IGN)",
  "    if os.fork() == 0:",
  "        os.setsid()",
  "    time.sleep(600)",
].join("\n");
const running = Array.from({ length: 100 }, () =>
  sandbox.execute({
    language: "python",
    files: { "solution.py": code },
    entry: "solution.py",
    task: { kind: "calls", function: "spin", cases: [{ args: [] }] },
    limits: { wallMs: 600_000 },
  }),
);
console.log("started");
await Promise.all(running);
