import { describe, expect, test } from "vitest";
import { environments } from "../../environments/index.ts";
import { benchmarks } from "../../environments/shared/benchmarks/index.ts";
import { trackers } from "../../reports/trackers/index.ts";
import { createRegistry } from "../../src/core/registry.ts";
import { advantageEstimators } from "../../trainers/advantages/index.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";

const registries = { environments, benchmarks, algorithms, advantageEstimators, trackers };

describe.each(Object.entries(registries))("the registry of %s", (_, registry) => {
  test("returns each definition by its id", () => {
    expect(registry.list().length).toBeGreaterThan(1);
    for (const definition of registry.list()) expect(registry.get(definition.id)).toBe(definition);
  });

  test("suggests the nearest id for an unknown one", () => {
    const { id } = registry.list()[0]!;
    expect(() => registry.get(`${id}x`)).toThrow(
      expect.objectContaining({
        code: "config.unknown-name",
        hint: expect.stringContaining(`Did you mean "${id}"`),
      }),
    );
  });
});

test("a registry refuses two definitions with one id, and does not change with the list it is made of", () => {
  expect(() => createRegistry("colour", [{ id: "red" }, { id: "red" }])).toThrow(
    expect.objectContaining({ code: "config.invalid", message: expect.stringContaining('"red"') }),
  );
  const colours = [{ id: "red" }];
  const registry = createRegistry("colour", colours);
  colours.push({ id: "green" });
  expect(registry.list()).toEqual([{ id: "red" }]);
  expect(() => registry.get("green")).toThrow('Unknown colour "green".');
});
