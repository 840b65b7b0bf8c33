import { isAbsolute, relative, resolve } from "node:path";
import type { JsonObject } from "../src/contract/json.ts";
import { isModulePath } from "./module-path.ts";
import type { EnvironmentConfig, RunConfig } from "./run-config.ts";

/**
 * Returns the keys of a config that the run folder records in addition to those that the trainer records, so that the
 * recorded config trains the same. `from` is the config's folder and `to` the run's folder. Files that the config names
 * relative to its own folder are named relative to the run's folder.
 */
export function recordedKeys(config: RunConfig, folders: { readonly from: string; readonly to: string }): JsonObject {
  const { environment, environments, algorithm, agents, trackers, health, backend } = config;
  const moved = <Named extends EnvironmentConfig>({ id, ...rest }: Named) => ({
    id: movedModule(id, folders),
    ...rest,
  });
  return JSON.parse(
    JSON.stringify({
      environment: environment === undefined ? null : moved(environment),
      ...(environments === undefined ? {} : { environments: environments.map(moved) }),
      output: folders.to,
      ...(backend.type === "onnx" && backend.quantize === undefined ? {} : { backend }),
      trackers,
      health,
      algorithm: moved(algorithm),
      agents: { ...agents, programs: movedPrograms(agents.programs, folders) },
    }),
  ) as JsonObject;
}

function movedPrograms(
  programs: RunConfig["agents"]["programs"],
  folders: { readonly from: string; readonly to: string },
): RunConfig["agents"]["programs"] {
  return Object.fromEntries(
    Object.entries(programs).map(([agent, { module, ...program }]) => [
      agent,
      module === undefined ? program : { ...program, module: movedModule(module, folders) },
    ]),
  );
}

function movedModule(id: string, { from, to }: { readonly from: string; readonly to: string }): string {
  if (!isModulePath(id) || isAbsolute(id)) return id;
  const path = relative(to, resolve(from, id)).replaceAll("\\", "/");
  return path.startsWith(".") ? path : `./${path}`;
}
