import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { ServedSplit } from "../session/environment-runner.ts";
import { agentRolloutsModule } from "./agent-rollouts-module.ts";
import { clientModule } from "./client-module.ts";
import { modelEndpointModule } from "./model-endpoint-module.ts";
import { modelsModule } from "./models-module.ts";
import { pettingZooModule } from "./pettingzoo-module.ts";
import { dockerfile, type ProjectFacts, packageInit, projectToml, readme } from "./project-files.ts";
import { className, moduleName } from "./python-names.ts";
import { sessionModule } from "./session-module.ts";
import { openEnvManifest, spaceFiles } from "./space-files.ts";
import { trlModule } from "./trl-module.ts";
import { verifiersModule } from "./verifiers-module.ts";

/** The options of {@link pythonPackage}. */
export interface PythonPackageOptions {
  readonly spec: EnvironmentSpec;
  readonly splits: readonly ServedSplit[];
  /** The name of the distribution. `lyceum-` and the id of the environment by default. */
  readonly name?: string | undefined;
  /** See `ProjectFacts`. */
  readonly serve: readonly string[];
  readonly npm: readonly string[];
  readonly file?: string | undefined;
  /** True for the layout of a Hugging Face Space. */
  readonly space?: boolean;
}

/** The number of tasks that the taskset of verifiers has for a split without an end. */
const unboundedTasks = 100;

/**
 * Returns the files of a Python package for an environment, by their paths: models, a client, and the modules for the
 * trainers that the environment fits. One agent fits TRL; one agent without tools also fits verifiers; several agents
 * fit PettingZoo. With `space`, the folder is a Hugging Face Space too. Throws `config.invalid` for an invalid name.
 */
export function pythonPackage(options: PythonPackageOptions): Readonly<Record<string, string>> {
  const { spec, splits, serve, npm, file, space = false } = options;
  const name = options.name ?? `lyceum-${moduleName(spec.id).replaceAll("_", "-")}`;
  checkName(name);
  const module = moduleName(name);
  const prefix = className(spec.id);
  const { tools = [], agents, description = "", maxTurns } = spec;
  const isSingle = agents.length === 1;
  const hasVerifiers = isSingle && tools.length === 0;
  const [first] = splits;
  const modules: Record<string, string> = {
    "models.py": modelsModule({ prefix, agents, splits: splits.map((split) => split.name) }),
    "session.py": sessionModule(spec.id),
    "client.py": clientModule({ prefix, module: name }),
    ...(isSingle ? trlModules({ prefix, description, tools, maxTurns }) : {}),
    ...(isSingle ? {} : { "pettingzoo_env.py": pettingZooModule({ prefix, name: spec.id, agents }) }),
  };
  const facts: ProjectFacts = {
    ...{ package: name, version: "0.1.0", module, prefix, environment: spec.id, modules: Object.keys(modules) },
    description: description || `The environment ${spec.id} on a Lyceum server.`,
    ...{ hasTrl: isSingle, hasPettingZoo: !isSingle, hasVerifiers, serve, npm, file },
  };
  const taskset = verifiersModule({
    ...{ prefix, module, split: first?.name ?? "train" },
    tasks: typeof first?.length === "number" ? first.length : unboundedTasks,
  });
  return {
    "pyproject.toml": projectToml(facts),
    "README.md": readme(facts),
    ...(space ? spaceFiles(facts, readme(facts)) : {}),
    Dockerfile: dockerfile(facts),
    "openenv.yaml": openEnvManifest(facts, { spec, splits }),
    [`${module}/__init__.py`]: packageInit(facts),
    [`${module}/py.typed`]: "",
    ...Object.fromEntries(Object.entries(modules).map(([path, text]) => [`${module}/${path}`, text])),
    ...(hasVerifiers ? { [`${module}_taskset.py`]: taskset } : {}),
  };
}

/** The environment for TRL, and what trains on the model calls of a program. */
function trlModules(options: Parameters<typeof trlModule>[0]): Readonly<Record<string, string>> {
  return {
    "trl_environment.py": trlModule(options),
    "agent_rollouts.py": agentRolloutsModule(),
    "model_endpoint.py": modelEndpointModule(),
  };
}

function checkName(name: string): void {
  if (/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$/.test(name)) return;
  throw new LyceumError({
    code: "config.invalid",
    message: `"${name}" is no name of a Python package.`,
    hint: "Use letters, digits and dashes, such as my-environment.",
    data: { name },
  });
}
