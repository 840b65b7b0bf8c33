import { expect, test } from "vitest";
import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { describeJavascriptAttacks } from "./javascript-attack-suite.ts";
import { javascriptAttacks } from "./javascript-attacks.ts";

test("there are many attacks, each with its own name and text", () => {
  expect(javascriptAttacks.length).toBeGreaterThanOrEqual(150);
  expect(new Set(javascriptAttacks.map(({ name }) => name)).size).toBe(javascriptAttacks.length);
  expect(new Set(javascriptAttacks.map(({ code }) => code)).size).toBe(javascriptAttacks.length);
});

/** Attacks that once passed a test or affected the next job. The slow tier has all attacks. */
const once = /nested brackets|whose length|each time it is compared|for a test that decides|like a test's function/;

describeJavascriptAttacks({
  name: "isolated-vm, a sample",
  open: () => createIsolatedVmSandbox({ workers: 1, spares: 1 }),
  attacks: javascriptAttacks.filter(({ name }, i) => i % 25 === 0 || once.test(name)),
});
