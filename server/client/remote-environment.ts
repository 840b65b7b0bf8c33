import type { EnvironmentDefinition, EnvironmentSpec } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import type { TaskEntry, Taskset } from "../../src/contract/taskset.ts";
import { loadTasks } from "../../src/core/environment/task-source.ts";
import { checkTaskIndex } from "../../src/core/taskset/task-entry.ts";
import type { ServedSplit, ServedTask } from "../session/environment-runner.ts";
import { grpcServer } from "./grpc/grpc-server.ts";
import { openEnvServer } from "./openenv/openenv-server.ts";
import { Reconnection } from "./reconnection.ts";
import { parseRemoteAddress } from "./remote-address.ts";
import { isRecoverable } from "./remote-error.ts";
import { RemoteInstance, type RemoteTask } from "./remote-instance.ts";
import { type RemoteOptions, resolveRemoteOptions } from "./remote-options.ts";
import type { RemoteServer } from "./remote-server.ts";
import { SessionPool } from "./session-pool.ts";

/** The number of tasks that are fetched at once. */
const pageLength = 256;

/**
 * Connects to an environment on a server and returns it as an ordinary definition: `http(s)://HOST[:PORT]` for OpenEnv,
 * `grpc(s)://HOST:PORT[/NAME]` for gRPC. The spec and the splits come from the server. Each instance has a session of
 * its own there. A server that stops and restarts delays calls by up to `reconnectMs`.
 *
 * Throws `environment.unavailable` if the server cannot be reached within `connectMs`, `server.unauthorized` for a
 * wrong token, and `config.invalid` for a wrong address or option, for a server that speaks only ORS, and for an
 * environment that rewards whole groups.
 */
export async function remoteEnvironment(
  url: string,
  options: RemoteOptions = {},
): Promise<EnvironmentDefinition<RemoteTask>> {
  const address = parseRemoteAddress(url);
  const settings = resolveRemoteOptions(options);
  const { shown } = address;
  const server = (address.protocol === "grpc" ? grpcServer : openEnvServer)(address, settings);
  const attempts = <T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T> =>
    repeated(call, { attempts: new Reconnection(shown, settings), signal });

  const { signal } = options;
  const first = new Reconnection(shown, {
    ...settings,
    reconnectMs: Math.min(settings.connectMs, settings.reconnectMs),
  });
  const described = await repeated(() => server.describe({ signal }), { attempts: first, signal });
  if (described.scoresGroups === true) throw groupRewards(described.name, shown);
  const spec = specOf(described.spec, options);
  const splits = new Map(described.splits.map((split) => [split.name, split]));
  const pool = new SessionPool(server, described.name);
  const seedIsTask = described.seedIsTask === true;
  const source = (name: string): Taskset<RemoteTask> =>
    remoteTaskset({ id: spec.id, split: splits.get(name)!, environment: described.name, server, attempts });
  return {
    specificationVersion: "v1",
    spec,
    ...loadTasks({ id: spec.id, source, splits: [...splits.keys()] }),
    create: async () =>
      new RemoteInstance({
        spec,
        server,
        pool,
        settings,
        shown,
        resetOf: ({ split, index }, seed) => (seedIsTask ? { seed: index } : { split, index, seed }),
      }),
  };
}

type Attempts = <T>(call: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Repeats a call until the server can be reached. */
async function repeated<T>(
  call: () => Promise<T>,
  { attempts, signal }: { readonly attempts: Reconnection; readonly signal: AbortSignal | undefined },
): Promise<T> {
  for (;;) {
    try {
      const result = await call();
      attempts.reached();
      return result;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isRecoverable(error)) throw error;
      await attempts.wait(error, signal);
    }
  }
}

function groupRewards(environment: string, shown: string): LyceumError {
  return new LyceumError({
    code: "config.invalid",
    message: `The environment "${environment}" on ${shown} rewards whole groups of episodes, which a client cannot ask for.`,
    hint: "Use it as a local environment.",
    data: { environment, address: shown },
  });
}

function specOf(spec: EnvironmentSpec, options: RemoteOptions): EnvironmentSpec {
  const { maxTurns = spec.maxTurns, rewardRange = spec.rewardRange, deterministic = spec.deterministic } = options;
  return { ...spec, maxTurns, rewardRange, deterministic };
}

/** Returns a split of a server. Its tasks are fetched in pages. */
function remoteTaskset(options: {
  readonly id: string;
  readonly split: ServedSplit;
  readonly environment: string;
  readonly server: RemoteServer;
  readonly attempts: Attempts;
}): Taskset<RemoteTask> {
  const { id, split, environment, server, attempts } = options;
  const pages = new Map<number, Promise<readonly ServedTask[]>>();
  const named = { name: `${id}/${split.name}`, length: split.length };
  const page = (number: number): Promise<readonly ServedTask[]> => {
    let fetched = pages.get(number);
    if (fetched === undefined) {
      const start = number * pageLength;
      const stop = split.length === "unbounded" ? start + pageLength : Math.min(start + pageLength, split.length);
      fetched = attempts(() => server.tasks({ environment, split: split.name, start, stop }));
      pages.set(number, fetched);
      fetched.catch(() => pages.delete(number));
    }
    return fetched;
  };
  return {
    specificationVersion: "v1",
    ...named,
    get: async (index): Promise<TaskEntry<RemoteTask>> => {
      checkTaskIndex(named, index);
      const tasks = await page(Math.floor(index / pageLength));
      const { id: task, hash } = tasks[index % pageLength]!;
      return { index, id: task, hash, task: { split: split.name, index, hash } };
    },
  };
}
