import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterParameters, orders, outcomes, parseFilter } from "../../../reports/viewer/episode-filter.ts";
import { parseHash, type Route, routeHash } from "../../../reports/viewer/page/route.ts";

const text = fc.string({ minLength: 1, unit: "binary" });
const filter = fc
  .record(
    {
      outcome: fc.constantFrom(...outcomes),
      step: fc.oneof(fc.constantFrom("7", "10-20", "10-", "-20", "–", " 3 - 4 "), text),
      agent: text,
      min: fc.double({ noNaN: true, noDefaultInfinity: true }),
      max: fc.double({ noNaN: true, noDefaultInfinity: true }),
      task: text,
      level: text,
      text,
      order: fc.constantFrom(...orders),
    },
    { requiredKeys: [] },
  )
  // An address has no negative zero.
  .map((parts) => parseFilter(filterParameters(parts)));
const smoothing = fc.integer({ min: 1, max: 99 }).map((hundredths) => hundredths / 100);
const route: fc.Arbitrary<Route> = fc.oneof(
  fc.constant({ page: "runs" } as const),
  fc.record({ page: fc.constant("run" as const), run: text, filter, offset: fc.nat() }),
  fc.record({
    ...{ page: fc.constant("run" as const), run: text, filter, offset: fc.nat() },
    part: fc.constant("episodes" as const),
  }),
  fc.record({ page: fc.constant("episode" as const), run: text, id: text, filter }),
  fc.record({ page: fc.constant("episode" as const), run: text, id: text, filter, agent: text }),
  fc.record({ page: fc.constant("episode" as const), run: text, id: text, filter, all: fc.constant(true as const) }),
  fc.record({ page: fc.constant("compare" as const), first: text, second: text }),
  fc.record({ page: fc.constant("overlay" as const), runs: fc.array(text, { minLength: 1 }) }),
  fc.record({ page: fc.constant("overlay" as const), runs: fc.array(text, { minLength: 1 }), smoothing }),
  fc.record({ page: fc.constant("run" as const), run: text, filter, offset: fc.nat(), smoothing }),
  fc.record(
    {
      page: fc.constant("runs" as const),
      sort: text,
      descending: fc.constant(true),
      kind: fc.constantFrom("training" as const, "evaluation" as const),
      words: text,
    },
    { requiredKeys: ["page"] },
  ),
);

describe("an address", () => {
  it("opens the page that it was made from", () => {
    fc.assert(
      fc.property(route, (one) => {
        expect(parseHash(routeHash(one))).toEqual(one);
      }),
    );
  });

  it("of any text opens a page", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (hash) => {
        expect(parseHash(hash).page).toBeTypeOf("string");
      }),
    );
    for (const hash of ["", "#", "#/run", "#/run/%", "#/run//episode/x", "#/compare/a", "#/other/a"]) {
      expect(parseHash(hash)).toEqual({ page: "runs" });
    }
    expect(parseHash("#/run/a?offset=-1&min=x&outcome=good&order=up")).toEqual({
      page: "run",
      run: "a",
      filter: {},
      offset: 0,
    });
  });
});
