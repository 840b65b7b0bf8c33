import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import { shareOf } from "../tier.ts";
import {
  arrayAttacks,
  arraySetup,
  arrayStatements,
  blockAttacks,
  blocks,
  emptyStatements,
  endings,
  expectedEnds,
  fewItemsAndArrayStatements,
  fewStatements,
  honestArray,
  honestBlock,
  honestEnd,
  honestList,
  honestLists,
  iterationSetup,
  iterations,
  listAndArrayStatements,
  listAttacks,
  listSetup,
  listStatements,
  type Statement,
} from "./vacuous-passes.ts";
import { runPython, type ZygoteBackend, zygoteBackends } from "./zygote-backends.ts";

const backends: readonly ZygoteBackend[] = [
  ...zygoteBackends,
  { name: "pyodide", open: createPyodideSandbox, missing: undefined },
];

/** The names of the statements that pass for some code. */
async function passed(sandbox: Sandbox, code: string, statements: readonly Statement[], setup = ""): Promise<string[]> {
  const tests = statements.map((statement) => statement.code);
  const task = { kind: "judge", setup, tests, exports: ["solve"] } as const;
  const { status, cases, error } = await runPython(sandbox, { code, task, limits: { wallMs: 60_000 } });
  expect(status, `${error?.type}: ${error?.message}`).toBe("ok");
  return statements.flatMap(({ name }, i) => (cases[i]!.outcome === "returned" ? [name] : []));
}

/** Statements, the code that passes them, and the code that must not pass. */
const suites = [
  { name: "iterations", statements: iterations, honest: honestLists, attacks: endings, setup: iterationSetup },
  { name: "blocks", statements: blocks, honest: honestBlock, attacks: blockAttacks, setup: "" },
  { name: "lists", statements: listStatements, honest: honestList, attacks: listAttacks, setup: listSetup },
  { name: "arrays", statements: arrayStatements, honest: honestArray, attacks: arrayAttacks, setup: arraySetup },
  {
    name: "arrays with lists",
    statements: listAndArrayStatements,
    honest: honestList,
    attacks: listAttacks,
    setup: arraySetup + listSetup,
  },
] as const;

/** Right answers that look empty, and the statements that they pass. */
const rightAnswers = [
  { name: "an array without elements is right where it is the answer", statements: emptyStatements, code: honestArray },
  { name: "few items are right where they are the answer", statements: fewStatements, code: honestList },
  { name: "few items with arrays", statements: fewItemsAndArrayStatements, code: honestList },
  { name: "StopIteration is right where a test expects it", statements: expectedEnds, code: honestEnd },
] as const;

describe.each(backends)("$name", (backend) => {
  const { open, missing } = backend;
  const engine = backends.indexOf(backend);
  let sandbox: Sandbox;
  beforeAll(async () => {
    if (missing === undefined) sandbox = await open({ workers: 2 });
  });
  afterAll(async () => sandbox?.[Symbol.asyncDispose]());

  const available = (name: string): boolean => !name.includes("array") || sandbox.info.packages.includes("numpy");

  test.skipIf(missing !== undefined).each(suites)(
    "$name: no attack passes, and a canary passes after each",
    async (suite) => {
      const { name, statements, honest, setup } = suite;
      // Pyodide, the last engine, has no NumPy.
      const of = name.includes("array") ? backends.length - 1 : backends.length;
      const attacks = shareOf<{ readonly name: string; readonly code: string }>(suite.attacks, { engine, of });
      if (!available(name)) return;
      const names = statements.map((statement) => statement.name);
      expect(await passed(sandbox, honest, statements, setup)).toEqual(names);
      const held = attacks.map(async (attack) => {
        const forged = await passed(sandbox, attack.code, statements, setup);
        const canary = await passed(sandbox, honest, statements.slice(0, 1), setup);
        return { attack: attack.name, forged, canary };
      });
      const expected = attacks.map((attack) => ({ attack: attack.name, forged: [], canary: names.slice(0, 1) }));
      expect(await Promise.all(held)).toEqual(expected);
    },
  );

  test.skipIf(missing !== undefined).each(rightAnswers)("$name", async ({ name, statements, code }) => {
    if (!available(name)) return;
    const setup = name.includes("array") ? arraySetup + listSetup : listSetup;
    expect(await passed(sandbox, code, statements, setup)).toEqual(statements.map((statement) => statement.name));
  });
});
