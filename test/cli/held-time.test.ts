import fc from "fast-check";
import { expect, it } from "vitest";
import { heldTime, type ThreadSample } from "../../cli/held-time.ts";

const maxGapMs = 1_000;

/** What a thread does in one period. `ms` is its length. */
interface Period {
  readonly does: "computes" | "waits for a processor" | "sleeps";
  readonly ms: number;
}

const periods = fc.array(
  fc.record<Period>({
    does: fc.constantFrom("computes", "waits for a processor", "sleeps"),
    ms: fc.integer({ min: 1, max: 3_000 }),
  }),
  { minLength: 1, maxLength: 30 },
);

/**
 * Samples a thread every `everyMs` like the kernel does: the time in a queue is only counted when the thread leaves the
 * queue.
 */
function samples(thread: readonly Period[], everyMs: number): ThreadSample[] {
  const found: ThreadSample[] = [];
  let [start, computed, waited, next] = [0, 0, 0, 0];
  for (const { does, ms } of thread) {
    for (; next < start + ms; next += everyMs) {
      const used = does === "computes" ? next - start : 0;
      found.push({ at: next, progress: 0, computed: computed + used, waited, sleeping: does === "sleeps" });
    }
    start += ms;
    if (does === "computes") computed += ms;
    if (does === "waits for a processor") waited += ms;
  }
  return found;
}

function heldIn(seen: readonly ThreadSample[]): number {
  let held = 0;
  for (const [index, after] of seen.entries()) {
    if (index > 0) held = heldTime(held, { before: seen[index - 1]!, after, maxGapMs });
  }
  return held;
}

function total(thread: readonly Period[], ...kinds: Period["does"][]): number {
  return thread.reduce((sum, { does, ms }) => sum + (kinds.includes(does) ? ms : 0), 0);
}

const interval = fc.integer({ min: 10, max: 1_500 });

it("is at most the time in which the thread computes or sleeps, however it is sampled", () => {
  fc.assert(
    fc.property(periods, interval, (thread, everyMs) => {
      expect(heldIn(samples(thread, everyMs))).toBeLessThanOrEqual(total(thread, "computes", "sleeps"));
    }),
  );
});

it("contains all of the time in which the thread computes, up to the last sample", () => {
  fc.assert(
    fc.property(periods, interval, (thread, everyMs) => {
      const busy = thread.map(({ does, ms }): Period => ({ does: does === "sleeps" ? "computes" : does, ms }));
      const seen = samples(busy, everyMs);
      expect(heldIn(seen)).toBe(seen.at(-1)!.computed);
    }),
  );
});

it("is the whole time of a thread that sleeps in one wait", () => {
  const seen = samples([{ does: "sleeps", ms: 10_000 }], 250);
  expect(heldIn(seen)).toBe(seen.at(-1)!.at);
});

it("begins again when the thread gets on", () => {
  fc.assert(
    fc.property(periods, interval, fc.nat(), (thread, everyMs, at) => {
      const seen = samples(thread, everyMs);
      const from = at % seen.length;
      const moved = seen.map((sample, index) => ({ ...sample, progress: index < from ? 1 : 2 }));
      expect(heldIn(moved)).toBe(heldIn(seen.slice(from)));
    }),
  );
});

it("is not counted while the sampling thread itself stood still, such as after Ctrl-Z", () => {
  const asleep = { progress: 1, computed: 20, waited: 5, sleeping: true };
  expect(heldTime(0, { before: { ...asleep, at: 0 }, after: { ...asleep, at: 600_000 }, maxGapMs })).toBe(0);
});
