import { expect, test } from "vitest";
import { RecordedSequences } from "../../../trainers/tinker/service/recorded-sequences.ts";

/** A completion of about 1 kB. */
const sequence = { tokens: new Int32Array(100), logprobs: new Float32Array(100) };

test("the completions that were not used for the longest time are dropped if all of them are too large", () => {
  const recorded = new RecordedSequences({ keepMs: 60_000, maxBytes: 2_500 });
  recorded.add("s", "a", sequence);
  recorded.add("s", "b", sequence);
  expect(recorded.use("s", "a")).toBe(sequence);
  recorded.add("t", "c", sequence);
  expect(recorded.use("s", "b")).toBeUndefined();
  expect(recorded.use("s", "a")).toBe(sequence);
  expect(recorded.use("t", "c")).toBe(sequence);
  // The room of a session that has ended is free again.
  recorded.forget("s");
  recorded.add("t", "d", sequence);
  expect(recorded.use("t", "c")).toBe(sequence);
});

test("a session has no completions of another one", () => {
  const recorded = new RecordedSequences({ keepMs: 60_000, maxBytes: 2_500 });
  recorded.add("s", "a", sequence);
  expect(recorded.use("t", "a")).toBeUndefined();
});
