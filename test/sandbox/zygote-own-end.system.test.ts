import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";
import { calls, int, runPython, zygoteBackends } from "./zygote-backends.ts";

/** Ways to end oneself by SIGKILL, which would look like a kill from outside. `solve` returns 2 if none worked. */
const ownEnds: Readonly<Record<string, string>> = {
  "to itself": "os.kill(os.getpid(), 9)",
  "to its group": "os.killpg(0, 9)",
  "to its group, by its number": "os.killpg(os.getpgid(0), 9)",
  "to everyone": "os.kill(-1, 9)",
  "to its thread": "signal.pthread_kill(threading.get_ident(), 9)",
  "to a thread of unknown process": "syscall({'x86_64': 200, 'aarch64': 130}[machine], threading.get_native_id(), 9)",
  "by its queue": "syscall({'x86_64': 129, 'aarch64': 138}[machine], os.getpid(), 9, ctypes.create_string_buffer(128))",
  "by a descriptor": "signal.pidfd_send_signal(os.pidfd_open(os.getpid()), 9)",
  "from a child": "parent = os.getpid()\n    os.fork() or os.kill(parent, 9)\n    os.wait()",
  "as the exit signal of a child":
    "pid = syscall({'x86_64': 56, 'aarch64': 220}[machine], 9, 0, 0, 0, 0)\n    pid or os._exit(0)\n    time.sleep(0.1)",
  "as the signal of a file": "fcntl.fcntl(os.pipe()[0], 10, 9)",
  "as the signal of a timer":
    "event = (ctypes.c_int * 32)()\n    event[2] = 9\n    timer = ctypes.c_long()\n" +
    "    made = syscall({'x86_64': 222, 'aarch64': 107}[machine], 0, event, ctypes.byref(timer))\n" +
    "    if made == 0: raise RuntimeError('A timer was made.')",
  "by a limit of processor time": "resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\n    while True: pass",
};

function solution(deed: string): string {
  return (
    "import ctypes, fcntl, os, platform, resource, signal, threading, time\n" +
    `syscall, machine = ctypes.CDLL(None).syscall, platform.machine()\ndef solve():\n    ${deed}\n    return 2`
  );
}

describe.each(zygoteBackends)("$name", ({ open, missing }) => {
  test.skipIf(missing !== undefined)("code cannot end itself by SIGKILL, and is not retried if it tries", async () => {
    await using sandbox: Sandbox = await open({ workers: 1 });
    for (const [name, deed] of Object.entries(ownEnds)) {
      const result = await runPython(sandbox, { code: solution(deed), task: calls("solve", []) });
      const { status, exit, attempts, cases } = result;
      expect({ name, attempts }).toEqual({ name, attempts: 1 });
      expect([name, status, exit.signal, cases[0]?.outcome]).toEqual(
        status === "ok"
          ? [name, "ok", null, expect.stringMatching(/^(returned|raised)$/)]
          : [name, "signal", "SIGSYS", "missing"],
      );
      expect(cases[0]?.error?.type).not.toBe("RuntimeError");
    }
    expect(sandbox.stats().workersStarted).toBe(1);
  });

  test.skipIf(missing !== undefined)("code can still end its children, and handle signals of its own", async () => {
    await using sandbox: Sandbox = await open({ workers: 1 });
    const child = "import os, time\ndef solve():\n    pid = os.fork()\n    pid or time.sleep(9)\n    os.kill(pid, 9)\n";
    const waits = `${child}    return os.waitpid(pid, 0)[1]`;
    expect((await runPython(sandbox, { code: waits, task: calls("solve", []) })).cases[0]!.value).toEqual(int(9));
    const handled =
      "import os, signal\ndef solve():\n    got = []\n    signal.signal(15, lambda *_: got.append(1))\n" +
      "    os.kill(os.getpid(), 15)\n    return len(got)";
    expect((await runPython(sandbox, { code: handled, task: calls("solve", []) })).cases[0]!.value).toEqual(int(1));
  });
});
