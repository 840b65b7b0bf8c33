import { afterEach, describe, expect, test } from "vitest";
import { environments } from "../../../environments/index.ts";
import { remoteEnvironment } from "../../../server/client/remote-environment.ts";
import { serveGrpc } from "../../../server/grpc/serve-grpc.ts";
import { serveEnvironments } from "../../../server/http/serve-environments.ts";
import { localRunner } from "../../../server/session/local-runner.ts";
import { createSessionHost } from "../../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rollout } from "../../../src/core/rollout/rollout.ts";
import { checkEnvironment } from "../../../src/testing/check-environment.ts";

let resources = new AsyncDisposableStack();
afterEach(async () => {
  await resources.disposeAsync();
  resources = new AsyncDisposableStack();
});

const protocols = ["openenv", "grpc"] as const;
const cases = [
  ["math", { tasks: "arithmetic" }],
  ["debate", {}],
  ["writing", {}],
  ["tools", {}],
  ["number-guessing", {}],
] as const;

async function serve(local: EnvironmentDefinition, protocol: (typeof protocols)[number]) {
  const runner = await localRunner([{ name: "served", definition: local }]);
  const host = resources.use(createSessionHost(runner));
  const server = resources.use(protocol === "grpc" ? await serveGrpc({ host }) : await serveEnvironments({ host }));
  return { host, remote: (await remoteEnvironment(server.url)) as EnvironmentDefinition };
}

/** Plays a few tasks with answers that differ by turn. Drops the fields that depend on the machine's speed. */
async function episodes(environment: EnvironmentDefinition): Promise<readonly Episode[]> {
  const tasks = await environment.tasks(`${environment.splits[0]!}[:4]`);
  const policies = scriptedPolicy(({ messages, seed }) => `My answer is ${40 + messages.length * 7 + (seed % 5)}.`);
  const played: Episode[] = [];
  const run = rollout({ environment, policies, tasks, groupSize: 2, seed: 3, concurrency: 3 });
  for await (const event of run) if (event.type === "episode-end") played.push({ ...event.episode, durationMs: 0 });
  return played.toSorted((first, second) => (first.id < second.id ? -1 : 1));
}

describe.each(protocols)("over %s", (protocol) => {
  test("an environment that rewards whole groups is refused", async () => {
    const local = { ...environments.create("math"), scoreGroup: async () => ({}) };
    await expect(serve(local, protocol)).rejects.toMatchObject({ code: "config.invalid" });
  });

  test.each(cases)("%s passes the conformance suite and plays as the local one", async (id, options) => {
    const local = environments.create(id, options);
    const { host, remote } = await serve(local, protocol);
    expect(remote.spec).toEqual(local.spec);
    expect(remote.splits).toEqual(local.splits);
    const { problems, rules } = await checkEnvironment(remote, { tasks: 1, episodes: 3 });
    expect(problems).toEqual([]);
    expect(rules).toContain("tasks-are-reproducible");
    const remotely = await episodes(remote);
    expect(remotely.map(({ status }) => status)).not.toContain("failed");
    expect(remotely).toEqual(await episodes(local));
    await expect.poll(() => host.activeSessions).toBe(0);
  });
});
