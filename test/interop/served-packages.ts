import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type EnvironmentServer, serveEnvironments } from "../../server/http/serve-environments.ts";
import { pythonPackage } from "../../server/python/python-package.ts";
import { localRunner } from "../../server/session/local-runner.ts";
import { createSessionHost, type SessionHost } from "../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../src/contract/environment.ts";

/** Environments on a server, and their exported Python packages. */
export interface ServedPackages extends AsyncDisposable {
  readonly host: SessionHost;
  readonly server: EnvironmentServer;
  /** A temporary folder. The package of each environment is in the folder of its id. */
  readonly folder: string;
}

/** Serves environments on a free port and exports each as a Python package. */
export async function servePackages(definitions: readonly EnvironmentDefinition[]): Promise<ServedPackages> {
  const folder = await mkdtemp(join(tmpdir(), "lyceum-packages-"));
  const runner = await localRunner(definitions.map((definition) => ({ name: definition.spec.id, definition })));
  const host = createSessionHost(runner);
  const server = await serveEnvironments({ host });
  for (const { spec, splits } of runner.environments) {
    const files = pythonPackage({ spec, splits, serve: ["--environments", spec.id], npm: [] });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, spec.id, path)), { recursive: true });
      await writeFile(join(folder, spec.id, path), text);
    }
  }
  return {
    ...{ host, server, folder },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await host.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
