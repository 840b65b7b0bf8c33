import { describe, expect, it } from "vitest";
import { CallTable } from "../../../server/session/call-table.ts";

describe("CallTable", () => {
  it("behaves as a map whose keys are never used again", () => {
    const table = new CallTable<string>();
    const expected = new Map<number, string>();
    const ended: number[] = [];
    let random = 7;
    for (let step = 0; step < 20_000; step++) {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      if (random % 5 < 3 || expected.size === 0) {
        const id = table.add(`call ${step}`);
        expect(expected.has(id) || ended.includes(id)).toBe(false);
        expected.set(id, `call ${step}`);
      } else {
        const id = [...expected.keys()][random % expected.size]!;
        table.delete(id);
        table.delete(id);
        expected.delete(id);
        if (ended.push(id) > 50) ended.shift();
      }
      if (expected.size > 40) {
        for (const id of expected.keys()) table.delete(id);
        expected.clear();
      }
      expect(table.size).toBe(expected.size);
    }
    for (const [id, call] of expected) expect(table.get(id)).toBe(call);
    for (const id of ended) expect(table.get(id)).toBeUndefined();
    expect(table.values().sort()).toEqual([...expected.values()].sort());
  });
});
