import { standaloneGrader } from "../../sandbox/grading/standalone/standalone-grader.ts";
import type { TaskFolder } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { CodeProblem } from "../shared/code-benchmarks/code-problem.ts";
import type { CodeOptions } from "./code-options.ts";
import { codeInstruction, promptHelpers } from "./code-prompt.ts";

/** The file that the agent writes. */
const answer = "/app/answer.py";

/** The id of the agent's user in the container. */
const agent = 1000;

const defaultImage = "python:3.13-slim";

/**
 * Returns a problem as a folder in Harbor's format. The agent writes a file, and the tests run it as another user. The
 * reward is that of the preset `correctness`. Throws `config.invalid` for two agents, another preset and other languages
 * than Python.
 */
export async function codeTaskFolder(
  problem: CodeProblem,
  { options, image = defaultImage }: { readonly options: CodeOptions; readonly image?: string | undefined },
): Promise<TaskFolder> {
  if (options.agents !== 1) throw unsupported("two agents", "Set agents to 1.");
  if (options.reward !== "correctness") throw unsupported(`the reward ${options.reward}`, "Set reward to correctness.");
  const grader = await standaloneGrader(problem.suite, promptHelpers(problem));
  const wallSeconds = Math.ceil((problem.suite.limits?.wallMs ?? 10_000) / 1_000);
  const { solution } = problem;
  return {
    name: problem.id.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-"),
    files: {
      "instruction.md": `${codeInstruction(problem, answer)}\n`,
      "task.toml": taskToml(problem.id, wallSeconds + 30),
      "environment/Dockerfile": `FROM ${image}\nWORKDIR /app\nRUN chown ${agent}:${agent} /app\n`,
      "tests/test.sh": testScript,
      ...Object.fromEntries(Object.entries(grader).map(([path, text]) => [`tests/${path}`, text])),
      ...(solution === undefined ? {} : { "solution/solve.sh": solveScript(solution) }),
    },
  };
}

function taskToml(id: string, verifierSeconds: number): string {
  return `schema_version = "1.4"
artifacts = ["${answer}"]

[metadata]
problem = ${JSON.stringify(id)}

[agent]
timeout_sec = 900
user = ${agent}

[verifier]
timeout_sec = ${verifierSeconds}
user = 0
environment_mode = "separate"

[environment]
build_timeout_sec = 600
cpus = 1
memory_mb = 2048
network_mode = "no-network"
`;
}

const testScript = `#!/bin/bash
# Grades ${answer}. It runs as a user who can neither read the tests nor write the reward.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec python3 -I -B /tests/grade.py ${answer} ${agent}
`;

function solveScript(solution: string): string {
  let end = "END_OF_ANSWER";
  while (solution.split(/\r?\n/).includes(end)) end += "_";
  return `#!/bin/bash\ncat > ${answer} <<'${end}'\n${solution.trimEnd()}\n${end}\n`;
}

function unsupported(what: string, hint: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The environment "code" cannot be exported with ${what}.`,
    hint: `${hint} Or serve the environment by lyceum serve.`,
  });
}
