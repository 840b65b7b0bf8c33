import { expect, test } from "vitest";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { generatedTaskset } from "../../../src/core/taskset/generated-taskset.ts";
import { memoryTaskset } from "../../../src/core/taskset/memory-taskset.ts";

test("passes tasksets that share nothing", async () => {
  await checkDisjoint(memoryTaskset("train", [1, 2]), memoryTaskset("test", [3, 4]));
  await checkDisjoint(memoryTaskset("train", []), memoryTaskset("test", [3]));
});

test("names the tasks that are in both, for any order of their keys", async () => {
  const train = memoryTaskset("train", [
    { id: "a", q: 1 },
    { q: 5, r: 6 },
  ]);
  const test = memoryTaskset("test", [{ q: 9 }, { r: 6, q: 5 }, { q: 1, id: "a" }]);
  await expect(checkDisjoint(train, test)).rejects.toMatchObject({
    code: "data.malformed",
    message: expect.stringMatching(/2 tasks of "test" are also in "train": 1, a\.$/),
    data: {
      overlap: [
        { first: "1", second: "1" },
        { first: "a", second: "a" },
      ],
    },
  });
});

test("compares the beginning of unbounded tasksets", async () => {
  const endless = generatedTaskset({
    name: "train",
    seed: 0,
    length: "unbounded",
    generate: (_random, index) => ({ index }),
  });
  await checkDisjoint(endless, memoryTaskset("test", [{ index: 50 }]), { sample: 50 });
  await expect(checkDisjoint(endless, memoryTaskset("test", [{ index: 50 }]), { sample: 51 })).rejects.toThrow(
    "0 (as 50)",
  );
});

test("a long list of overlaps is shortened in the message and complete in the data", async () => {
  const tasks = Array.from({ length: 30 }, (_, i) => i);
  const check = checkDisjoint(memoryTaskset("train", tasks), memoryTaskset("test", tasks));
  await expect(check).rejects.toThrow(/^30 tasks.* 9, \.\.\.\.$/);
  await expect(check).rejects.toSatisfy(
    (error) => (error as { data: { overlap: unknown[] } }).data.overlap.length === 30,
  );
});
