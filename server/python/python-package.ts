import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { ServedSplit } from "../session/environment-runner.ts";
import { dockerfile, type ProjectFacts, packageInit, projectToml, readme } from "./project-files.ts";
import { className, moduleName } from "./python-names.ts";
import { pythonModule } from "./python-template.ts";
import { pythonLiteral } from "./python-text.ts";
import { openEnvManifest, spaceFiles } from "./space-files.ts";
import { trlModule } from "./trl-module.ts";

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
    "models.py": pythonModule("models", {
      Template: prefix,
      'Literal["agent"]': literalType(agents),
      'Literal["train"]': literalType(splits.map((split) => split.name)),
    }),
    "session.py": pythonModule("session", { '"environment-id"': JSON.stringify(spec.id) }),
    "client.py": pythonModule("client", { Template: prefix, "template-package": name }),
    ...(isSingle ? trlModules({ prefix, description, tools, maxTurns }) : {}),
    ...(isSingle ? {} : { "pettingzoo_env.py": pettingZooModule(prefix, spec) }),
  };
  const facts: ProjectFacts = {
    package: name,
    version: "0.1.0",
    module,
    prefix,
    environment: spec.id,
    modules: Object.keys(modules),
    description: description || `The environment ${spec.id} on a Lyceum server.`,
    hasTrl: isSingle,
    hasPettingZoo: !isSingle,
    hasVerifiers,
    serve,
    npm,
    file,
  };
  const taskset = pythonModule("taskset", {
    Template: prefix,
    template_package: module,
    '"train"': JSON.stringify(first?.name ?? "train"),
    "= 100": `= ${typeof first?.length === "number" ? first.length : unboundedTasks}`,
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
    "agent_rollouts.py": pythonModule("agent_rollouts"),
    "model_endpoint.py": pythonModule("model_endpoint"),
  };
}

/** The parallel environment for PettingZoo. */
function pettingZooModule(prefix: string, { id, agents }: EnvironmentSpec): string {
  return pythonModule("pettingzoo_env", {
    Template: prefix,
    '"environment-id"': JSON.stringify(id),
    '["agent"]': pythonLiteral([...agents]),
  });
}

/** Returns the type of one of some names, or of any name if there are none. */
function literalType(names: readonly string[]): string {
  return names.length === 0 ? "str" : `Literal[${names.map(pythonLiteral).join(", ")}]`;
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
