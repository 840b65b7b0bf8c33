import fc from "fast-check";
import { expect, it } from "vitest";
import { boardMemory, CallReader, CallRecorder } from "../../cli/call-board.ts";
import type { RunningCall } from "../../src/core/rollout/running-call.ts";

const calls = fc.record<RunningCall>(
  {
    subject: fc.string({ unit: "binary", maxLength: 300 }),
    call: fc.constantFrom("create", "reset", "step", "fork"),
    task: fc.string({ unit: "binary", maxLength: 3_000 }),
    turn: fc.nat(),
    limitMs: fc.nat(),
  },
  { requiredKeys: ["subject", "call"] },
);

function open(): { readonly recorder: CallRecorder; readonly reader: CallReader } {
  const memory = boardMemory();
  return { recorder: new CallRecorder(memory), reader: new CallReader(memory) };
}

it("shows the open calls and the innermost one, in whatever order they end", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(calls, fc.nat()), { maxLength: 30 }), (given) => {
      const { recorder, reader } = open();
      const running = given.map(([call, order]) => ({ call, order, end: recorder.observe(call) }));
      expect(reader.calls().open).toHaveLength(given.length);
      for (const { call, end } of running.toReversed()) {
        expect(reader.calls().innermost).toMatchObject({ call: call.call });
        end.returned();
      }
      expect(reader.calls().innermost).toBeUndefined();
      const left = new Set(running);
      for (const one of running.toSorted((a, b) => a.order - b.order)) {
        const before = reader.progress;
        one.end.settled();
        left.delete(one);
        expect(reader.progress).not.toBe(before);
        expect(reader.calls().open).toHaveLength(left.size);
      }
    }),
  );
});

it("keeps a call as it is, except for the ends of long texts", () => {
  fc.assert(
    fc.property(calls, (call) => {
      const { recorder, reader } = open();
      recorder.observe(call);
      const { subject, task = "", ...rest } = reader.calls().innermost!;
      expect(rest).toEqual({ ...call, subject: undefined, task: undefined });
      for (const [shown, text] of [
        [subject, call.subject],
        [task, call.task ?? ""],
      ] as const) {
        if (text.length <= 100) expect(shown).toBe(text);
        else expect(shown).toBe(`${text.slice(0, 100)}...`);
      }
    }),
  );
});

it("keeps the newest calls if there are more than it can hold", () => {
  const { recorder, reader } = open();
  const ends = Array.from({ length: 1_000 }, (_, turn) => recorder.observe({ subject: "many", call: "step", turn }));
  for (const { returned } of ends) returned();
  const turns = reader.calls().open.map(({ turn }) => turn!);
  expect(Math.min(...turns)).toBe(1_000 - turns.length);
  for (const { settled } of ends.slice(0, -1)) settled();
  expect(reader.calls().open).toEqual([{ subject: "many", call: "step", turn: 999 }]);
});
