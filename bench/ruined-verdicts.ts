import { humanEvalProblem } from "../environments/shared/code-benchmarks/human-eval.ts";
import { gradeCode, type Sandbox, type TestSuite } from "../sandbox/index.ts";
import { canContain, checkContained } from "../test/interop/contained-harness.ts";
import { provideHumanEvalEnvironment } from "../test/interop/human-eval-harness.ts";
import { pythonAttacks } from "../test/sandbox/python-attacks.ts";
import type { Benchmark } from "./benchmark.ts";
import { openHere } from "./open-here.ts";

const row = {
  task_id: "attacked",
  prompt: "",
  entry_point: "solve",
  test: "def check(candidate):\n    assert candidate(3) == 1234\n",
};
const canary = "def solve(x):\n    print(x)\n    return 1000 + 234\n";

/** The verdict of a judge on an attack, and on correct code after it. */
type Verdict = "fails" | "passes" | "unscored" | "next one fails";
type Judge = (code: string) => Promise<Verdict>;

/**
 * Counts attacks that pass, are not scored, or spoil the verdict on the next code, in each sandbox that runs here. The
 * baseline is their number in the original HumanEval harness. Prints a table of all of them to standard error.
 */
export const ruinedVerdicts: Benchmark = {
  prefix: "sandbox/ruined-verdicts",
  run: async () => {
    if (!canContain) {
      console.error("sandbox/ruined-verdicts: left out. Without bubblewrap the attacks would reach this machine.");
      return [];
    }
    const environment = await provideHumanEvalEnvironment();
    const table = new Map<string, ReadonlyMap<string, Verdict>>();
    table.set("HumanEval", await judgeAll((code) => judgedByHumanEval(environment, code)));
    for (const backend of ["docker", "bubblewrap", "pyodide"] as const) {
      await using sandbox = await openHere(backend, 1);
      if (sandbox !== undefined) table.set(backend, await judgeAll((code) => judgedBySandbox(sandbox, code)));
    }
    console.error(showTable(table));
    const ruined = (name: string): string[] =>
      pythonAttacks.flatMap(([attack]) => (table.get(name)!.get(attack) === "fails" ? [] : [attack]));
    const ours = [...table.keys()].filter((name) => name !== "HumanEval");
    const value = new Set(ours.flatMap(ruined)).size;
    return [{ name: "sandbox/ruined-verdicts", value, unit: "attacks", baseline: ruined("HumanEval").length }];
  },
};

async function judgeAll(judge: Judge): Promise<ReadonlyMap<string, Verdict>> {
  if ((await judge(canary)) !== "passes") throw new Error("Right code did not pass.");
  const verdicts = new Map<string, Verdict>();
  for (const [name, code] of pythonAttacks) verdicts.set(name, await judge(code));
  return verdicts;
}

/** Judges an attack in its own harness, which then checks the canary. */
async function judgedByHumanEval(environment: string, code: string): Promise<Verdict> {
  const checks = [code, canary].map((completion) => ({ task_id: row.task_id, completion }));
  const results = await checkContained({ environment, problems: [row], checks, timeout: 3 });
  if (results === undefined || results[0] === null) return "unscored";
  if (results[1] !== "passed") return "next one fails";
  return results[0] === "passed" ? "passes" : "fails";
}

async function judgedBySandbox(sandbox: Sandbox, code: string): Promise<Verdict> {
  const suite: TestSuite = { ...humanEvalProblem(row).suite, limits: { cpuMs: 1_000, wallMs: 10_000 } };
  const grade = await gradeCode({ sandbox, code, suite });
  const next = await gradeCode({ sandbox, code: canary, suite });
  if (grade.infra) return "unscored";
  if (next.infra || !next.passed) return "next one fails";
  return grade.passed ? "passes" : "fails";
}

function showTable(table: ReadonlyMap<string, ReadonlyMap<string, Verdict>>): string {
  const rows = pythonAttacks.map(([name]) => [name, ...[...table.values()].map((verdicts) => verdicts.get(name)!)]);
  const cells = [["attack", ...table.keys()], ["---", ...[...table.keys()].map(() => "---")], ...rows];
  return cells.map((row) => `| ${row.join(" | ")} |`).join("\n");
}
