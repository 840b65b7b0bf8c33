import { stringify } from "yaml";
import type { EnvironmentSpec } from "../../src/contract/environment.ts";
import type { ServedSplit } from "../session/environment-runner.ts";
import type { ProjectFacts } from "./project-files.ts";
import { moduleName } from "./python-names.ts";
import { oneLine } from "./python-text.ts";

/** The port of the server in its image. */
const port = 8000;

/** OpenEnv's checks require that a weak policy earns at least this much less than the highest reward. */
const floorMargin = 0.1;

/**
 * Returns `openenv.yaml`, which OpenEnv's tools (0.10) read. `runtime: docker` means that the image starts the server.
 * Without a finite range of rewards that is wider than `floorMargin`, the file has no `validation`, because OpenEnv requires
 * one there.
 */
export function openEnvManifest(
  { description, version }: Pick<ProjectFacts, "description" | "version">,
  { spec, splits }: { readonly spec: EnvironmentSpec; readonly splits: readonly ServedSplit[] },
): string {
  const [low, high] = spec.rewardRange;
  const hasRange = Number.isFinite(low) && Number.isFinite(high) && high - low >= floorMargin;
  const counts = splits.flatMap(({ name, length }) => (typeof length === "number" ? [[name, length] as const] : []));
  const validation = {
    reward: { range: [low, high], floor_margin: floorMargin },
    // Assumptions: environments state no needs.
    resources: { cpu: 1, memory_mb: 1024, disk_mb: 1024, episode_timeout_s: 600 },
    capabilities: {
      verifier: { kind: "reward_channel" },
      task_api: true,
      declared_tools: (spec.tools ?? []).map(({ name }) => name),
      declared_task_count: Object.fromEntries(counts),
    },
    types: { tags: ["lyceum"] },
  };
  return stringify({
    spec_version: 1,
    name: moduleName(spec.id),
    version,
    description: oneLine(description),
    type: "space",
    runtime: "docker",
    port,
    ...(hasRange ? { validation } : {}),
  });
}

/**
 * Returns the files that turn the folder of a package into a Hugging Face Space, given its README: the README with the
 * settings of the Space, and the two Python files that `openenv push` requires.
 */
export function spaceFiles(
  { environment, module, prefix }: Pick<ProjectFacts, "environment" | "module" | "prefix">,
  readme: string,
): Readonly<Record<string, string>> {
  const settings = stringify({
    title: environment,
    emoji: "🎓",
    colorFrom: "blue",
    colorTo: "indigo",
    sdk: "docker",
    pinned: false,
    // The page of the Space. It needs no token.
    app_port: port,
    base_path: "/health",
    tags: ["openenv"],
  });
  const secret =
    "The server of the Space needs a token. Set it as the secret `LYCEUM_SERVER_TOKEN` in the settings of the Space.";
  return {
    "README.md": `---\n${settings}---\n\n${readme}\n## Space\n\n${secret}\n`,
    "__init__.py": `"""OpenEnv's tools look for the client in this folder."""\n`,
    "client.py": `"""The client of the package ${module}."""

from ${module}.client import ${prefix}Client

__all__ = ["${prefix}Client"]
`,
  };
}
