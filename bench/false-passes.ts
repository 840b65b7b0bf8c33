import type { SandboxChoice } from "../sandbox/index.ts";
import { checkByHumanEval, provideHumanEvalEnvironment } from "../test/interop/human-eval-harness.ts";
import type { Benchmark } from "./benchmark.ts";
import { type Cheat, cheatedTests, honestPython, passedTests, pythonCheats } from "./cheats.ts";
import { openHere } from "./open-here.ts";

/** Returns the names of the tests that a cheat passes with one judge. */
type Judge = (cheat: Cheat) => Promise<readonly string[]>;

/**
 * Counts the cheats that pass in each sandbox that runs here. The baseline is the number that pass in the original
 * HumanEval harness. Prints a table of all of them to standard error.
 */
export const falsePasses: Benchmark = {
  prefix: "sandbox/false-passes",
  run: async () => {
    const environment = await provideHumanEvalEnvironment();
    const table = new Map<string, ReadonlyMap<string, readonly string[]>>();
    table.set("HumanEval", await judgeAll((cheat) => passedByHumanEval(environment, cheat)));
    for (const backend of ["docker", "bubblewrap", "pyodide"] as const) {
      const passed = await judgeInSandbox(backend);
      if (passed !== undefined) table.set(backend, passed);
    }
    console.error(showTable(table));
    const deceived = (name: string): Cheat[] =>
      pythonCheats.filter((cheat) => table.get(name)!.get(cheat.name)!.length > 0);
    const ours = [...table.keys()].filter((name) => name !== "HumanEval");
    const value = new Set(ours.flatMap((name) => deceived(name).map((cheat) => cheat.name))).size;
    return [{ name: "sandbox/false-passes", value, unit: "cheats", baseline: deceived("HumanEval").length }];
  },
};

async function judgeInSandbox(backend: SandboxChoice): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  await using sandbox = await openHere(backend);
  return sandbox && (await judgeAll((cheat) => passedTests({ sandbox, cheat })));
}

async function judgeAll(judge: Judge): Promise<ReadonlyMap<string, readonly string[]>> {
  const honest = await judge(honestPython);
  if (honest.length < cheatedTests.length) throw new Error(`An honest solution passed only: ${honest.join(", ")}`);
  const passed = new Map<string, readonly string[]>();
  const left = pythonCheats.values();
  const work = async (): Promise<void> => {
    for (const cheat of left) passed.set(cheat.name, await judge(cheat));
  };
  await Promise.all([work(), work()]);
  return passed;
}

/** Runs each cheat in its own harness, because the cheat may break it. */
async function passedByHumanEval(environment: string, { code }: Cheat): Promise<readonly string[]> {
  const checks = cheatedTests.map(({ task_id }) => ({ task_id, completion: code }));
  const results = await checkByHumanEval({ environment, problems: cheatedTests, checks, timeout: 3, workers: 4 });
  return cheatedTests.flatMap(({ task_id }, i) => (results[i] === "passed" ? [task_id] : []));
}

function showTable(table: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>): string {
  const rows = pythonCheats.map(({ name }) => [
    name,
    ...[...table.values()].map((passed) => passed.get(name)!.join(" ") || "-"),
  ]);
  const cells = [["cheat", ...table.keys()], ["---", ...[...table.keys()].map(() => "---")], ...rows];
  return cells.map((row) => `| ${row.join(" | ")} |`).join("\n");
}
