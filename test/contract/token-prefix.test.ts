import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenPrefix } from "../../src/contract/token-prefix.ts";

const ids = fc.array(fc.nat(3), { maxLength: 4 });

test("a prefix has the ids that were appended, and other continuations do not change it", () => {
  fc.assert(
    fc.property(fc.array(ids), ids, ids, (parts, first, second) => {
      const before = parts.reduce((prefix, part) => prefix.append(part), TokenPrefix.empty);
      const one = before.append(first);
      const other = before.append(second);
      expect(before.toArray()).toEqual(parts.flat());
      expect(before.length).toBe(parts.flat().length);
      expect(before.lastId).toBe(parts.flat().at(-1));
      expect(before.first).toEqual(parts.find(({ length }) => length > 0) ?? []);
      expect(one.toArray()).toEqual([...parts.flat(), ...first]);
      expect(other.toArray()).toEqual([...parts.flat(), ...second]);
    }),
  );
});

test("the array of a prefix is a copy", () => {
  const prefix = TokenPrefix.empty.append([1, 2]);
  prefix.toArray().push(3);
  expect(prefix.toArray()).toEqual([1, 2]);
});
