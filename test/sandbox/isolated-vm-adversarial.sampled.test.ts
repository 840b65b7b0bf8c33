import { readdirSync, readFileSync } from "node:fs";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { describeAdversaries } from "./isolated-vm-adversaries.ts";

/** Returns the worker processes of this process, from /proc. */
async function childPrograms(): Promise<string[]> {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      if (!status.includes(`PPid:\t${process.pid}\n`) || /State:\tZ/.test(status)) return false;
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sandbox/isolated-vm/child");
    } catch {
      return false;
    }
  });
}

describeAdversaries({ name: "isolated-vm", engine: 0, open: createIsolatedVmSandbox, pids: childPrograms });
