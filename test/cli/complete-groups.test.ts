import fc from "fast-check";
import { expect, it } from "vitest";
import { completeGroups } from "../../cli/complete-groups.ts";

const options = ["--episodes", "--group"] as const;
const count = fc.integer({ min: 1, max: 1000 });

it("never plays more episodes than the maximum, and no group less than fits", () => {
  fc.assert(
    fc.property(count, count, (episodes, size) => {
      fc.pre(episodes >= size);
      const groups = completeGroups(episodes, { size, options });
      expect(groups * size).toBeLessThanOrEqual(episodes);
      expect((groups + 1) * size).toBeGreaterThan(episodes);
    }),
  );
});

it("refuses a maximum below one group", () => {
  fc.assert(
    fc.property(count, count, (episodes, size) => {
      fc.pre(episodes < size);
      expect(() => completeGroups(episodes, { size, options })).toThrow(
        expect.objectContaining({ code: "config.invalid", hint: expect.stringContaining(`--episodes to ${size}`) }),
      );
    }),
  );
});
