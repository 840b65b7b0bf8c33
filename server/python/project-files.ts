import { docText, oneLine } from "./python-text.ts";
import { shellWord } from "./shell-word.ts";

/** What the files of a project state about its package. */
export interface ProjectFacts {
  readonly package: string;
  readonly module: string;
  readonly prefix: string;
  readonly version: string;
  readonly environment: string;
  readonly description: string;
  readonly modules: readonly string[];
  readonly hasTrl: boolean;
  readonly hasPettingZoo: boolean;
  readonly hasVerifiers: boolean;
  /** The words of `lyceum serve` that name the environment and its options. */
  readonly serve: readonly string[];
  /** The npm packages that the server needs, such as `lyceum@0.1.0`. */
  readonly npm: readonly string[];
  /** The file of the environment, which the image copies. */
  readonly file: string | undefined;
}

/** Returns `pyproject.toml`. The modules for trainers need extras, so that the client installs without them. */
export function projectToml(facts: ProjectFacts): string {
  const extras = [
    `openenv = ["openenv>=0.10,<0.11"]`,
    ...(facts.hasTrl ? [`trl = ["trl>=1.16", "transformers>=5.2", "datasets"]`] : []),
    ...(facts.hasPettingZoo ? [`pettingzoo = ["pettingzoo>=1.27", "gymnasium>=1.0"]`] : []),
    ...(facts.hasVerifiers ? [`verifiers = ["verifiers>=0.4,<0.5"]`] : []),
  ];
  const modules = facts.hasVerifiers ? `py-modules = ["${facts.module}_taskset"]\n` : "";
  return `[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "${facts.package}"
version = "${facts.version}"
description = ${JSON.stringify(oneLine(facts.description))}
readme = "README.md"
requires-python = ">=3.10"
dependencies = ["pydantic>=2.7", "websockets>=13"]

[project.optional-dependencies]
${extras.join("\n")}

[tool.setuptools]
packages = ["${facts.module}"]
${modules}`;
}

/**
 * Returns the Dockerfile of the server. It installs the packages in the folder of the environment, because modules import
 * no global packages.
 */
export function dockerfile({ serve, npm, file }: ProjectFacts): string {
  const command = ["node_modules/.bin/lyceum", "serve", ...serve, "--host", "0.0.0.0", "--port", "8000"];
  return `FROM node:24-slim
WORKDIR /app
RUN npm install ${npm.map((name) => JSON.stringify(name)).join(" ")}
${file === undefined ? "" : `COPY ${JSON.stringify([file, "./"])}\n`}USER node
EXPOSE 8000
# The server needs a token: docker run --env LYCEUM_SERVER_TOKEN=... --publish 8000:8000 IMAGE
CMD ${JSON.stringify(command)}
`;
}

/** Returns the README. */
export function readme(facts: ProjectFacts): string {
  const { module, prefix } = facts;
  const blocks = [
    `# ${facts.package}

${oneLine(facts.description).replaceAll("<", "&lt;")}

This package talks to a server of the environment. Start one by Node 24:

\`\`\`sh
npx lyceum serve ${facts.serve.map(shellWord).join(" ")} --port 8000
\`\`\`

The modules find it by \`LYCEUM_URL\` (\`${"http://127.0.0.1:8000"}\` by default) and send the token in \`LYCEUM_SERVER_TOKEN\`.

## Client

\`\`\`python
from ${module}.client import ${prefix}Client
from ${module}.models import ${prefix}Action

with ${prefix}Client().sync() as client:
    result = client.reset(index=0)
    print(result.observation.text)
    result = client.step(${prefix}Action(text="..."))
    print(result.reward, result.done)
\`\`\`
`,
    ...(facts.hasTrl
      ? [
          `## TRL

\`\`\`python
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from ${module}.trl_environment import ${prefix}Environment, environment_reward, task_rows

trainer = GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=Dataset.from_list(task_rows(64)),
    environment_factory=${prefix}Environment,
    reward_funcs=environment_reward,
    args=GRPOConfig(output_dir="out", max_steps=10),
)
trainer.train()
\`\`\`

## TRL and a program

TRL also trains the model of a program, such as a TypeScript agent with tools of its own. The program reads its task from
its standard input and writes its answer to its standard output. It finds its model by \`OPENAI_BASE_URL\` and
\`OPENAI_API_KEY\`. The environment rewards the answer.

\`\`\`python
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from ${module}.agent_rollouts import AgentRollouts, agent_rows, environment_reward

trainer = GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=Dataset.from_list(agent_rows(64)),
    rollout_func=AgentRollouts(["node", "agent.ts"]),
    reward_funcs=environment_reward,
    args=GRPOConfig(output_dir="out", max_steps=10),
)
trainer.train()
\`\`\`
`,
        ]
      : []),
    ...(facts.hasVerifiers
      ? [
          `## verifiers

\`vf-eval\` finds the taskset by its id, \`${module}_taskset\`.
`,
        ]
      : []),
    ...(facts.hasPettingZoo
      ? [
          `## PettingZoo

\`\`\`python
from ${module}.pettingzoo_env import ${prefix}ParallelEnv

env = ${prefix}ParallelEnv()
observations, infos = env.reset(seed=0)
\`\`\`
`,
        ]
      : []),
  ];
  return blocks.join("\n");
}

/** Returns `__init__.py`. It imports no module for trainers. */
export function packageInit({ description, module, prefix }: ProjectFacts): string {
  const names = ["Action", "Observation", "Reset", "State"].map((name) => `${prefix}${name}`);
  return `"""${docText(description) || module}"""

from .models import ${names.join(", ")}
from .session import ServerError, Session

__all__ = [
${[...names, "ServerError", "Session"].map((name) => `    "${name}",\n`).join("")}]
`;
}
