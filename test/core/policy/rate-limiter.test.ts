import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RateLimiter, type RequestSlot } from "../../../src/core/policy/serving/rate-limiter.ts";
import { backoffMs, retryAfterMs } from "../../../src/core/policy/serving/retry-wait.ts";

const unlimited = { maxConcurrent: Infinity, requestsPerMinute: Infinity, tokensPerMinute: Infinity };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Runs the continuations of settled promises. */
async function settle(): Promise<void> {
  for (let round = 0; round < 5; round++) await Promise.resolve();
}

/** Requests places, and records when each is admitted. */
function asking(limiter: RateLimiter) {
  const admitted: {
    readonly index: number;
    readonly at: number;
    readonly tokens: number;
    readonly slot: RequestSlot;
  }[] = [];
  let asked = 0;
  return {
    admitted,
    ask: (tokens = 1, signal?: AbortSignal) => {
      const index = asked++;
      return limiter
        .acquire({ tokens, ...(signal === undefined ? {} : { signal }) })
        .then((slot) => void admitted.push({ index, at: performance.now(), tokens, slot }));
    },
  };
}

describe("the rate limiter", () => {
  test("admits all requests at once if nothing is limited", async () => {
    const { admitted, ask } = asking(new RateLimiter(unlimited));
    await Promise.all(Array.from({ length: 100 }, () => ask()));
    expect(admitted.map(({ index }) => index)).toEqual(Array.from(Array(100).keys()));
  });

  test("limits the number of running requests, and counts a released place once", async () => {
    const { admitted, ask } = asking(new RateLimiter({ ...unlimited, maxConcurrent: 2 }));
    for (let index = 0; index < 5; index++) void ask();
    await settle();
    expect(admitted).toHaveLength(2);
    admitted[0]!.slot.release();
    admitted[0]!.slot.release();
    await settle();
    expect(admitted).toHaveLength(3);
  });

  test("sends the maximum per minute, no more and no later than necessary", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 5, max: 50 }),
        fc.array(fc.record({ pauseMs: fc.integer({ min: 0, max: 40_000 }), tokens: fc.integer({ min: 1, max: 30 }) }), {
          minLength: 1,
          maxLength: 25,
        }),
        async (requestsPerMinute, tokensPerMinute, requests) => {
          const { admitted, ask } = asking(new RateLimiter({ ...unlimited, requestsPerMinute, tokensPerMinute }));
          const cameAt: number[] = [];
          for (const { pauseMs, tokens } of requests) {
            await vi.advanceTimersByTimeAsync(pauseMs);
            cameAt.push(performance.now());
            void ask(tokens);
          }
          await vi.advanceTimersByTimeAsync(60_000 * (requests.length + 1));
          expect(admitted.map(({ index }) => index)).toEqual(requests.map((_, index) => index));
          for (const [last, { at, tokens }] of admitted.entries()) {
            const earlier = admitted.slice(0, last).filter((other) => other.at > at - 60_000);
            const taken = earlier.reduce((sum, other) => sum + other.tokens, 0);
            expect(earlier.length + 1).toBeLessThanOrEqual(requestsPerMinute);
            if (earlier.length > 0) expect(taken + tokens).toBeLessThanOrEqual(tokensPerMinute);
            // A delayed request could not have been sent a moment earlier.
            const before = admitted.slice(0, last);
            const free = Math.max(cameAt[last]!, before.at(-1)?.at ?? 0);
            if (at > free + 1) {
              const then = before.filter((other) => other.at > at - 2 - 60_000);
              const full = then.length + 1 > requestsPerMinute;
              const spent = then.reduce((sum, other) => sum + other.tokens, 0) + tokens > tokensPerMinute;
              expect(full || spent).toBe(true);
            }
          }
        },
      ),
      { numRuns: 100 },
    );
  });

  test("counts the actual tokens of a request once they are known", async () => {
    const { admitted, ask } = asking(new RateLimiter({ ...unlimited, tokensPerMinute: 100 }));
    void ask(90);
    void ask(80);
    await settle();
    expect(admitted).toHaveLength(1);
    admitted[0]!.slot.release(20);
    await settle();
    expect(admitted).toHaveLength(2);
    void ask(1);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(admitted).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(admitted).toHaveLength(3);
  });

  test("sends a request larger than the limit per minute on its own", async () => {
    const { admitted, ask } = asking(new RateLimiter({ ...unlimited, tokensPerMinute: 100 }));
    void ask(10);
    void ask(1_000);
    void ask(10);
    await vi.advanceTimersByTimeAsync(180_000);
    expect(admitted.map(({ at }) => at - admitted[0]!.at)).toEqual([0, 60_000, 120_000]);
  });

  test("delays all requests in a pause, and forgets aborted ones", async () => {
    const limiter = new RateLimiter(unlimited);
    const { admitted, ask } = asking(limiter);
    limiter.pause(10_000);
    limiter.pause(1_000);
    const controller = new AbortController();
    const gone = ask(1, controller.signal);
    void ask();
    await vi.advanceTimersByTimeAsync(5_000);
    controller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    await expect(ask(1, controller.signal)).rejects.toThrow("gone");
    expect(admitted).toEqual([]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(admitted.map(({ index }) => index)).toEqual([1]);
  });
});

test("the wait between retries doubles up to a limit, and half of it is random", () => {
  const options = { retryDelayMs: 100, maxRetryDelayMs: 1_000 };
  expect([0, 1, 2, 3, 4, 50].map((retries) => backoffMs({ ...options, retries, random: 0 }))).toEqual([
    50, 100, 200, 400, 500, 500,
  ]);
  expect(backoffMs({ ...options, retries: 1, random: 0.5 })).toBe(150);
});

test.each([
  [{ "retry-after": "3" }, 3_000],
  [{ "retry-after": "1.5" }, 1_500],
  [{ "retry-after-ms": "250", "retry-after": "3" }, 250],
  [{ "retry-after": "Thu, 01 Jan 1970 00:01:00 GMT" }, 50_000],
  [{ "retry-after": "Thu, 01 Jan 1970 00:00:01 GMT" }, 0],
  [{ "retry-after": "-1" }, undefined],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after": "" }, undefined],
  [{}, undefined],
])("Retry-After %j", (headers, ms) => expect(retryAfterMs(headers, 10_000)).toBe(ms));
