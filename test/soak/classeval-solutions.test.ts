import { expect, test } from "vitest";
import { classCompletionEnvironment } from "../../environments/class-completion/class-completion.ts";
import { gradeCode } from "../../sandbox/grading/grade-code.ts";
import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import { collectGroups, demonstrationPolicy, rollout, scriptedPolicy } from "../../src/index.ts";
import { pythonSandbox } from "../environments/python-sandbox.ts";
import { benchmarkFile, noBenchmarkData } from "../sandbox/benchmark-data.ts";

test.skipIf(noBenchmarkData)(
  "ClassEval is solved by its own solutions, split between two agents, and not by empty answers",
  async () => {
    const environment = classCompletionEnvironment({
      path: benchmarkFile("ClassEval_data.json"),
      agents: 2,
      sandbox: pythonSandbox,
      cpuSeconds: 20,
    });
    const taskset = await environment.tasks("test[:100]");
    const tasks = await Promise.all(Array.from({ length: 100 }, (_, i) => taskset.get(i)));
    const earned = async (policies: Parameters<typeof rollout>[0]["policies"], among = tasks): Promise<number[]> => {
      const groups = await collectGroups(rollout({ environment, tasks: among, policies, seed: 1 }));
      return groups.map(({ episodes: [episode] }) => {
        const { reward } = episode!.agents["agent-1"]!;
        return reward.status === "scored" ? reward.value : Number.NaN;
      });
    };
    const fallingAmong = async (among: typeof tasks): Promise<typeof tasks> => {
      const expert = await earned(demonstrationPolicy({ environment }), among);
      return among.filter((_, i) => !(expert[i]! > 1 - 1e-9));
    };
    let falling = await fallingAmong(tasks);
    // Some tests read the clock twice, and fail if a second ends between the two readings.
    const readsClock = ({ task }: (typeof tasks)[0]): boolean =>
      task.tests.some(({ text }) => /\b(now|today)\(\)/.test(text));
    for (let again = 0; again < 3; again++) {
      const fallen = await fallingAmong(falling.filter(readsClock));
      falling = falling.filter((task) => !readsClock(task) || fallen.includes(task));
    }
    expect(falling.length).toBeLessThanOrEqual(27);
    // If a class fails, so does the published solution, mostly because packages are missing.
    await using sandbox = await createPyodideSandbox({ workers: 2 });
    const published = await Promise.all(
      falling.map(async ({ task: { problem } }) =>
        gradeCode({ sandbox, code: problem.solution!, suite: problem.suite }),
      ),
    );
    expect(published.map((grade) => grade.infra || grade.passed)).toEqual(falling.map(() => false));
    const silent = await earned(scriptedPolicy(() => ""));
    expect(Math.max(...silent)).toBeLessThan(0.15);
    expect(silent.filter((value) => value > 0).length).toBeLessThan(6);
  },
);
