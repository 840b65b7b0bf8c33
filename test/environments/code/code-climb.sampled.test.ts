import { expect, test } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import { benchmarkFile, noBenchmarkData } from "../../sandbox/benchmark-data.ts";
import { isSlowTier } from "../../tier.ts";
import { climb } from "../hill-climber.ts";
import { pythonSandbox } from "../python-sandbox.ts";

const values = "args[0] args[-1] args[0][::-1] True False None 0 1 -1 '' [] {} len(args[0]) sum(args[0]) max(args[0])";
/** Parts of programs that use only the name of the function. */
const lines = [
  ...values.split(" ").map((value) => `\n    return ${value}`),
  "\n    return sorted(args[0])",
  "\n    return str(args[0])",
  "\n    x = args[0]",
  "\n    if not args[0]:\n        return []",
  "\n    for x in args[0]: pass",
];
const episodes = Number(process.env.LYCEUM_CLIMB_EPISODES ?? (isSlowTier ? 300 : 150));

test.skipIf(noBenchmarkData !== undefined)(
  `a blind climb over programs passes no problem of HumanEval and few tests ${noBenchmarkData ?? ""}`,
  async () => {
    const environment = codeEnvironment({ path: benchmarkFile("HumanEval.jsonl.gz"), sandbox: pythonSandbox });
    const tasks = await environment.tasks("test");
    const reached: number[] = [];
    for (let index = 0; index < 164; index += isSlowTier ? 16 : 32) {
      const task = await tasks.get(index);
      const head = `\`\`\`python\ndef ${task.task.entryPoint}(*args):`;
      const starts = lines.map((line) => `${head}${line}\n\`\`\``);
      const { best } = await climb({ environment, task, words: [...lines, head, "\n```"], starts, episodes });
      reached.push(best);
    }
    // A constant is right in half of the cases of a yes-or-no question.
    expect(Math.max(...reached)).toBeLessThan(0.7);
    expect(reached.reduce((sum, value) => sum + value, 0) / reached.length).toBeLessThan(0.45);
  },
);
