import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { slotUid } from "../../sandbox/zygote/slot-uids.ts";
import { zygoteBackends } from "./zygote-backends.ts";

describe.each(zygoteBackends)("$name", ({ name, missing }) => {
  test.skipIf(missing !== undefined)("kill -9 of the parent during 100 executions leaves no process", async () => {
    const program = fileURLToPath(new URL("docker-keep-busy.ts", import.meta.url));
    const parent = spawn(process.execPath, [program, name], { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(parent, "exit").then(() => Promise.reject(new Error("The parent ended by itself.")));
    await Promise.race([once(parent.stdout, "data"), ended]);
    ended.catch(() => undefined);
    // Only this program uses these users, so its processes can be identified.
    const first = slotUid(0) + (parent.pid! - process.pid) * (slotUid(1) - slotUid(0)) * 128;
    const isTheirs = (uid: number): boolean => uid >= first && uid < first + 256;
    await expect.poll(() => userIds().filter(isTheirs).length).toBeGreaterThanOrEqual(8);
    parent.kill("SIGKILL");
    await expect.poll(() => userIds().filter(isTheirs)).toEqual([]);
  });
});

/** Returns the users of all processes. */
function userIds(): number[] {
  return globSync("/proc/[0-9]*/status").flatMap((path) => {
    try {
      return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(path, "utf8"))![1]);
    } catch {
      return [];
    }
  });
}
