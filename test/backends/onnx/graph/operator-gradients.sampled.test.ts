import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSlowTier } from "../../../tier.ts";
import { Differentiated } from "./differentiate.ts";
import { operators } from "./operator-cases.ts";

describe("the gradient of every operator agrees with finite differences", () => {
  it.each(Object.entries(operators))("%s", async (_, cases) => {
    await fc.assert(
      fc.asyncProperty(cases, async (operatorCase) => {
        await using differentiated = await Differentiated.build(operatorCase);
        const analytic = await differentiated.analytic();
        const numeric = await differentiated.numeric();
        for (const [i, expected] of numeric.entries()) {
          expect(analytic[i]).toHaveLength(expected.length);
          const scale = Math.max(1, ...expected.map(Math.abs));
          for (const [place, slope] of expected.entries()) {
            expect(Math.abs(analytic[i]![place]! - slope), `operand ${i}, place ${place}`).toBeLessThan(1e-3 * scale);
          }
        }
      }),
      { numRuns: isSlowTier ? 25 : 10 },
    );
  });
});
