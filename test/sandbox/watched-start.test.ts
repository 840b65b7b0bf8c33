import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { firstStart, type StartProgress, watchedStart } from "../../sandbox/pool/watched-start.ts";
import { WorkerFailure } from "../../sandbox/pool/worker-failure.ts";

class Started implements AsyncDisposable {
  closed = 0;
  async [Symbol.asyncDispose](): Promise<void> {
    this.closed++;
  }
}

const limits = { silentMs: 8, cpuMs: 1_000, wallMs: 600_000 };

/** A start that never ends by itself, and rejects when it is given up. */
function hanging({ signal }: StartProgress): Promise<Started> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("It was killed.")), { once: true });
  });
}

test("returns what starts, and does not close it", async () => {
  const started = new Started();
  expect(await watchedStart({ start: async () => started })).toBe(started);
  expect(started.closed).toBe(0);
});

test("gives up a start without progress, and tells it to kill what it started", async () => {
  let given: StartProgress | undefined;
  const start = (progress: StartProgress): Promise<Started> => {
    given = progress;
    return hanging(progress);
  };
  await expect(watchedStart({ start, limits })).rejects.toMatchObject({
    code: "sandbox.unavailable",
    message: expect.stringContaining("made no progress"),
  });
  expect(given!.signal.aborted).toBe(true);
});

test("waits for a start whose processor time grows, until it has used too much of it", async () => {
  let reads = 0;
  const start = (progress: StartProgress): Promise<Started> => {
    progress.watch(() => 100 * reads++);
    return hanging(progress);
  };
  const failing = watchedStart({ start, limits });
  await expect(failing).rejects.toThrow("used more than 1 s of processor time");
  expect(reads).toBe(12);
});

test("gives up a start that makes progress for too long", async () => {
  const start = (progress: StartProgress): Promise<Started> => {
    let used = 0;
    progress.watch(() => (used += 2));
    return hanging(progress);
  };
  await expect(watchedStart({ start, limits: { ...limits, wallMs: 20 } })).rejects.toThrow("took more than 0 s");
});

test("rejects as the start does", async () => {
  const start = async (): Promise<Started> => {
    throw new Error("no");
  };
  await expect(watchedStart({ start })).rejects.toThrow("no");
});

test("an abort reaches the start, and what it returns is closed", async () => {
  const abort = new AbortController();
  const late = new Started();
  const start = ({ signal }: StartProgress): Promise<Started> =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve(late), { once: true });
    });
  const waiting = watchedStart({ start, signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  expect(late.closed).toBe(1);
  expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
});

test("a first start is repeated if it ended or was killed, and not if it is impossible", async () => {
  let starts = 0;
  const start = async (): Promise<Started> => {
    if (++starts < 3) throw new WorkerFailure("Killed.", { fromOutside: true });
    return new Started();
  };
  await firstStart({ start });
  expect(starts).toBe(3);
  for (const [fromOutside, attempts] of [
    [false, 3],
    [true, 10],
  ] as const) {
    starts = 0;
    const failing = firstStart({
      start: async () => {
        starts++;
        throw new WorkerFailure("Ended.", { fromOutside });
      },
    });
    await expect(failing).rejects.toThrow("Ended.");
    expect(starts).toBe(attempts);
  }
  starts = 0;
  const impossible = firstStart({
    start: async () => {
      starts++;
      throw new Error("no");
    },
  });
  await expect(impossible).rejects.toThrow("no");
  expect(starts).toBe(1);
});
