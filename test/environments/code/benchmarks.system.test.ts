import { describe, expect, it } from "vitest";
import { codeEnvironment } from "../../../environments/code/code.ts";
import type { CodeOptions } from "../../../environments/code/code-options.ts";
import type { CodeProblem } from "../../../environments/shared/code-benchmarks/code-problem.ts";
import {
  collectGroups,
  demonstrationPolicy,
  type Policy,
  rollout,
  scriptedPolicy,
  type TaskEntry,
  textOf,
} from "../../../src/index.ts";
import { benchmarkFile, noBenchmarkData } from "../../sandbox/benchmark-data.ts";
import { pythonSandbox } from "../python-sandbox.ts";

async function sample(options: Partial<CodeOptions>, every: number) {
  const environment = codeEnvironment({ sandbox: pythonSandbox, cpuSeconds: 20, ...options });
  const taskset = await environment.tasks(options.dataset === "mbpp" ? "train" : "test");
  const tasks: TaskEntry<CodeProblem>[] = [];
  for (let i = 0; i < (taskset.length as number); i += every) tasks.push(await taskset.get(i));
  return { environment, tasks };
}

/** Returns the reward of a policy for each task. */
async function rewards(
  { environment, tasks }: Awaited<ReturnType<typeof sample>>,
  policies: Policy | Readonly<Record<string, Policy>>,
  maxTurns = 1,
): Promise<Record<string, number>> {
  const groups = await collectGroups(rollout({ environment, tasks, policies, seed: maxTurns, concurrency: 4 }));
  return Object.fromEntries(
    groups.flatMap(({ episodes }) =>
      episodes.map(({ task, agents, error }) => {
        const { reward } = Object.values(agents)[0]!;
        if (reward.status !== "scored") throw new Error(`${task.id}: ${error?.message ?? reward.reason}`);
        return [`${task.index}`, reward.value] as const;
      }),
    ),
  );
}

const block = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;
const problemOf = ({ episode }: Parameters<Policy["act"]>[0]) => episode!.task.task as CodeProblem;

/** Two agents with a known solution. The helper returns its argument, and main uses the result. */
function pairOf(solutionOf: (problem: CodeProblem) => string): Record<string, Policy> {
  return {
    aux: scriptedPolicy([block("def aux(value):\n    return [value]")]),
    main: scriptedPolicy((request) => {
      const problem = problemOf(request);
      const { entryPoint } = problem;
      return block(
        `${solutionOf(problem)}\n_solve = ${entryPoint}\ndef ${entryPoint}(*args, **kwargs):\n    result = aux(_solve(*args, **kwargs))\n    return result[0]`,
      );
    }),
  };
}

/** Solutions of the first problems of data sets without solutions. */
const known: Readonly<Record<string, string>> = {
  "CoopHumanEval/0":
    "def x_or_y(n, x, y):\n    return x if n > 1 and all(n % i for i in range(2, int(n ** 0.5) + 1)) else y",
  "MBPP/0":
    "def remove_Occ(s, ch):\n    s = s.replace(ch, '', 1)\n    i = s.rfind(ch)\n    return s if i < 0 else s[:i] + s[i + 1:]",
  "MBPP/1": "def sort_matrix(M):\n    return sorted(M, key=sum)",
};

describe.skipIf(noBenchmarkData)("the benchmarks' own solutions get the maximum reward", () => {
  it.each<[string, Partial<CodeOptions>, number]>([
    ["HumanEval", { path: benchmarkFile("HumanEval.jsonl.gz") }, 16],
    ["MBPP", { dataset: "mbpp", path: benchmarkFile("mbpp.jsonl") }, 60],
  ])("of %s, by each preset", async (_, options, every) => {
    for (const [reward, top] of [
      ["correctness", 1],
      ["comlrl", 2.1],
      ["mrlm", 2],
    ] as const) {
      const sampled = await sample({ ...options, reward }, every);
      const earned = await rewards(sampled, demonstrationPolicy({ environment: sampled.environment }));
      expect(Object.keys(earned).length).toBeGreaterThan(5);
      for (const [id, value] of Object.entries(earned)) expect(value, id).toBeCloseTo(top, 9);
    }
  });

  it("of HumanEval by two agents", async () => {
    for (const [reward, top] of [
      ["correctness", 1],
      ["comlrl", 4],
    ] as const) {
      const sampled = await sample({ path: benchmarkFile("HumanEval.jsonl.gz"), agents: 2, reward }, 16);
      const earned = await rewards(
        sampled,
        pairOf(({ solution }) => solution!),
      );
      expect(Object.keys(earned).length).toBeGreaterThan(5);
      for (const [id, value] of Object.entries(earned)) expect(value, id).toBeCloseTo(top, 9);
    }
  });

  it("of CoopHumanEval and CoMLRL's MBPP, if a solution is written here", async () => {
    for (const [options, count] of [
      [{ dataset: "coop-humaneval", path: benchmarkFile("coop-humaneval.json") }, 1],
      [{ dataset: "mbpp-coop", path: benchmarkFile("mbpp-sanitized-openmlrl.json") }, 2],
    ] as const) {
      const { environment, tasks } = await sample({ ...options, agents: 2, reward: "comlrl" }, 1);
      const written = tasks.filter(({ task }) => task.id in known);
      expect(written).toHaveLength(count);
      const earned = await rewards(
        { environment, tasks: written },
        pairOf(({ id }) => known[id]!),
      );
      expect(Object.values(earned)).toEqual(Array(count).fill(4));
    }
  });
});

describe.skipIf(noBenchmarkData)("policies without the answer get a low reward", () => {
  const fools: Readonly<Record<string, (request: Parameters<Policy["act"]>[0]) => string>> = {
    silent: () => "",
    chatty: () => "I would first think about the problem, and then return the right result.",
    echo: ({ messages }) => textOf(messages.at(-1)!),
  };

  it("with one agent: 0.05 without code, 0.25 on average for repeating the problem", async () => {
    const sampled = await sample({ path: benchmarkFile("HumanEval.jsonl.gz") }, 8);
    for (const [name, fool] of Object.entries(fools)) {
      const values = Object.values(await rewards(sampled, scriptedPolicy(fool)));
      const average = values.reduce((sum, value) => sum + value, 0) / values.length;
      expect(average, name).toBeLessThanOrEqual(0.25);
      if (name === "silent" || name === "chatty") expect(Math.max(...values), name).toBeLessThanOrEqual(0.05);
    }
  });

  it("with two agents that only pretend to work together", async () => {
    const sampled = await sample({ path: benchmarkFile("HumanEval.jsonl.gz"), agents: 2 }, 8);
    const policies = {
      aux: scriptedPolicy([block("def aux(*args):\n    return args")]),
      main: scriptedPolicy((request) =>
        block(`def ${problemOf(request).entryPoint}(*args):\n    result = aux(*args)\n    return result[0] or result`),
      ),
    };
    const values = Object.values(await rewards(sampled, policies));
    expect(values.reduce((sum, value) => sum + value, 0) / values.length).toBeLessThan(0.25);
  });
});

describe.skipIf(noBenchmarkData)("code that records its arguments", () => {
  it("shows no hidden test in any feedback", async () => {
    const noting = (name: string) =>
      `seen = []\ndef ${name}(*args):\n    seen.append(args)\n    if len(seen) % 2: raise ValueError(repr(seen))\n    return list(seen)`;
    for (const agents of [1, 2] as const) {
      const { environment, tasks } = await sample(
        { path: benchmarkFile("HumanEval.jsonl.gz"), agents, maxTurns: 2, sandboxSlice: "all" },
        20,
      );
      const told: string[] = [];
      const policies = scriptedPolicy((request) => {
        const { entryPoint, suite } = problemOf(request);
        if (request.episode!.turn === 0) return block(noting(request.agent === "aux" ? "aux" : entryPoint));
        const text = textOf(request.messages.at(-1)!);
        if (request.agent !== "aux") told.push(text);
        // At most as many calls as visible tests. A higher count means that a hidden test was seen.
        const visible = suite.tests.filter((test) => test.visible === true).length;
        const calls = [...text.matchAll(/raised ValueError: \[(.*)\]/g)].map(([, seen]) => seen!.split("), (").length);
        for (const count of calls) expect(count).toBeLessThanOrEqual(visible);
        return "";
      });
      await rewards({ environment, tasks }, policies);
      expect(told.filter((text) => text.includes("raised ValueError")).length).toBeGreaterThan(3);
    }
  });
});
