import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { isSlowTier } from "../tier.ts";
import { zygoteBackends } from "./zygote-backends.ts";

describe.each(zygoteBackends)("$name", ({ open, missing }) => {
  test.skipIf(missing !== undefined)(
    "closing during the start of workers waits for them and leaves no process",
    async () => {
      for (let delay = 0; delay <= 30; delay += isSlowTier ? 3 : 10) {
        const sandbox = await open({ workers: 3 });
        const warming = sandbox.warmUp();
        warming.catch(() => undefined);
        await sleep(delay);
        await sandbox[Symbol.asyncDispose]();
        await warming.catch((error: unknown) => expect(error).toMatchObject({ code: "sandbox.closed" }));
      }
      await expect.poll(bubbles).toEqual([]);
    },
  );
});

/** Orphaned processes of bubblewrap. */
function bubbles(): string[] {
  const list = execFileSync("ps", ["-eo", "ppid,pid,comm"], { encoding: "utf8" });
  const mine = new RegExp(`^ *(1|${process.pid}) +\\d+ bwrap$`);
  return list.split("\n").filter((line) => mine.test(line));
}
