import type { EnvironmentDefinition } from "../../src/contract/environment.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { definitionSession } from "./definition-session.ts";
import type { EnvironmentRunner, ServedEnvironment, ServedSplit } from "./environment-runner.ts";
import { scoreAnswers } from "./score-answers.ts";
import type { EnvironmentSession } from "./session.ts";

/** An environment with the name under which it is served. */
export interface NamedDefinition {
  readonly name: string;
  readonly definition: EnvironmentDefinition;
  readonly version?: string;
}

/**
 * Runs environments in this thread. Use it in tests and in workers. A slow environment blocks the others, so that a
 * server uses `workerRunner`.
 */
export async function localRunner(named: readonly NamedDefinition[]): Promise<EnvironmentRunner> {
  const definitions = new Map(named.map(({ name, definition }) => [name, definition]));
  const environments = await Promise.all(named.map(describe));
  const definitionOf = (environment: string): EnvironmentDefinition => {
    const definition = definitions.get(environment);
    if (definition === undefined) throw unknownEnvironment(environment, [...definitions.keys()]);
    return definition;
  };
  const sessions = new Set<EnvironmentSession>();
  let closed: Promise<void> | undefined;
  const open: EnvironmentRunner["open"] = async ({ environment, signal }) => {
    signal?.throwIfAborted();
    if (closed !== undefined) throw closedRunnerError();
    const session = await definitionSession(definitionOf(environment));
    const close = (): Promise<void> => {
      sessions.delete(opened);
      return session.close();
    };
    const opened = { ...session, close, [Symbol.asyncDispose]: close };
    sessions.add(opened);
    return opened;
  };
  const close = (): Promise<void> => {
    closed ??= Promise.allSettled([...sessions].map((session) => session.close())).then(() => {});
    return closed;
  };
  return {
    environments,
    open,
    tasks: async ({ environment, split, start, stop, signal }) => {
      const taskset = await definitionOf(environment).tasks(split, { signal });
      const indices = Array.from({ length: Math.max(0, stop - start) }, (_, offset) => start + offset);
      return Promise.all(
        indices.map(async (index) => {
          const { id, hash } = await taskset.get(index, { signal });
          return { split, index, id, hash };
        }),
      );
    },
    scoreGroup: async ({ environment, ...group }) => scoreAnswers(definitionOf(environment), group),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function describe({ name, definition, version }: NamedDefinition): Promise<ServedEnvironment> {
  const splits = await Promise.all(
    definition.splits.map(
      async (split): Promise<ServedSplit> => ({ name: split, length: (await definition.tasks(split)).length }),
    ),
  );
  const scoresGroups = definition.scoreGroup !== undefined;
  return { name, spec: definition.spec, splits, version, ...(scoresGroups ? { scoresGroups } : {}) };
}

function unknownEnvironment(name: string, known: readonly string[]): LyceumError {
  return new LyceumError({
    code: "config.unknown-name",
    message: `This server has no environment "${name}".`,
    hint: `It serves: ${known.join(", ")}.`,
    data: { name, known: [...known] },
  });
}

/** The error of a call after the runner was closed. */
export function closedRunnerError(): LyceumError {
  return new LyceumError({
    code: "server.closed",
    message: "The environments of this server are closed.",
    hint: "Connect to another server, or wait until this one has restarted.",
  });
}
