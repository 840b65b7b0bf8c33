import { expect, test } from "vitest";
import { startWithinLimit } from "../../sandbox/pool/start-within-limit.ts";

class Started implements AsyncDisposable {
  closed = 0;
  async [Symbol.asyncDispose](): Promise<void> {
    this.closed++;
  }
}

const never = new Promise<Started>(() => undefined);
const { signal } = new AbortController();

test("returns what starts in time, and does not close it", async () => {
  const started = new Started();
  expect(await startWithinLimit({ start: async () => started, limitMs: 60_000, signal })).toBe(started);
  expect(started.closed).toBe(0);
});

test("retries a start that hangs, and closes what it returns later", async () => {
  const first = Promise.withResolvers<Started>();
  const second = new Started();
  const starts = [first.promise, Promise.resolve(second)];
  expect(await startWithinLimit({ start: () => starts.shift()!, limitMs: 10, signal })).toBe(second);
  const late = new Started();
  first.resolve(late);
  await expect.poll(() => late.closed).toBe(1);
  expect(second.closed).toBe(0);
});

test("rejects with sandbox.unavailable after two starts that hang", async () => {
  let starts = 0;
  const start = (): Promise<Started> => {
    starts++;
    return never;
  };
  await expect(startWithinLimit({ start, limitMs: 10, signal })).rejects.toMatchObject({ code: "sandbox.unavailable" });
  expect(starts).toBe(2);
});

test("does not retry a start that fails", async () => {
  let starts = 0;
  const start = async (): Promise<Started> => {
    starts++;
    throw new Error("no");
  };
  await expect(startWithinLimit({ start, limitMs: 60_000, signal })).rejects.toThrow("no");
  expect(starts).toBe(1);
});

test("an abort does not wait for a start that ignores it, and closes what that returns later", async () => {
  const starting = Promise.withResolvers<Started>();
  const abort = new AbortController();
  let starts = 0;
  const start = (): Promise<Started> => {
    starts++;
    return starting.promise;
  };
  const waiting = startWithinLimit({ start, limitMs: 60_000, signal: abort.signal });
  abort.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  const late = new Started();
  starting.resolve(late);
  await expect.poll(() => late.closed).toBe(1);
  expect(starts).toBe(1);
});
