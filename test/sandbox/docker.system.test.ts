import Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ownerLabel, removeContainer, startContainer } from "../../sandbox/docker/container.ts";
import { createDockerSandbox } from "../../sandbox/docker/create-docker-sandbox.ts";
import { currentOwner, isDead, type Owner } from "../../sandbox/docker/owner.ts";
import type { Sandbox } from "../../sandbox/index.ts";
import { watchedStart } from "../../sandbox/pool/watched-start.ts";
import { runnerCommand } from "../../sandbox/zygote/runner-source.ts";
import { calls, int, runPython, zygoteBackends } from "./zygote-backends.ts";

const { missing } = zygoteBackends[0]!;
const slow = "import time\ndef f():\n    time.sleep(60)\n    return 1";
const quick = "def f(): return 1";

test("rejects with sandbox.unavailable and instructions without an engine", async () => {
  const opening = createDockerSandbox({ connection: { socketPath: "/nowhere/docker.sock" } });
  await expect(opening).rejects.toMatchObject({
    code: "sandbox.unavailable",
    hint: expect.stringContaining("Start Docker"),
  });
});

describe("an owner", () => {
  const self = currentOwner();
  test("is alive if it is this process", () => expect(isDead(self)).toBe(false));
  test.each<[string, Partial<Owner>, boolean]>([
    ["has no process", { pid: 2 ** 22 - 1 }, true],
    ["has a process that began at another time", { started: "1" }, true],
    ["lives on another machine", { pid: 2 ** 22 - 1, boot: "other" }, false],
    ["lives in another namespace", { pid: 2 ** 22 - 1, namespace: "pid:[1]" }, false],
  ])("that %s", (_, change, dead) => expect(isDead({ ...self, ...change })).toBe(dead));
});

describe.skipIf(missing !== undefined)(`with an engine${missing === undefined ? "" : ` (skipped: ${missing})`}`, () => {
  let docker: Docker;
  beforeAll(() => {
    docker = new Docker();
  });

  const containersOf = async (owner: Owner): Promise<string[]> => {
    const filters = { label: [`${ownerLabel}=${JSON.stringify(owner)}`] };
    return (await docker.listContainers({ all: true, filters })).map(({ Id }) => Id);
  };

  test("rejects with sandbox.unavailable and instructions if the image is missing", async () => {
    await expect(createDockerSandbox({ image: "lyceum-no-such-image" })).rejects.toMatchObject({
      code: "sandbox.unavailable",
      hint: expect.stringContaining("docker build -t lyceum-no-such-image sandbox/docker"),
    });
  });

  test("closing removes the containers and aborts running jobs", async () => {
    const others = new Set(await containersOf(currentOwner()));
    let running: Promise<unknown>;
    {
      await using sandbox = await createDockerSandbox({ workers: 2 });
      await sandbox.warmUp();
      expect((await containersOf(currentOwner())).length - others.size).toBe(2);
      running = runPython(sandbox, { code: slow, task: calls("f", []) });
    }
    expect(await running).toMatchObject({ status: "aborted" });
    const left = async () => (await containersOf(currentOwner())).filter((id) => !others.has(id));
    await expect.poll(left).toEqual([]);
  });

  test("removes the containers of dead owners at the start, and no others", async () => {
    const self = currentOwner();
    const dead = { ...self, pid: 2 ** 22 - 1 };
    const foreign = { ...dead, boot: "another machine" };
    const ids = await Promise.all(
      [self, dead, foreign].map(async (owner) => {
        const container = await docker.createContainer({
          Image: "lyceum-sandbox",
          Entrypoint: ["python3", "-c", "import time; time.sleep(600)"],
          Labels: { [ownerLabel]: JSON.stringify(owner) },
          NetworkDisabled: true,
        });
        await container.start();
        return container.id;
      }),
    );
    try {
      await using sandbox = await createDockerSandbox({ workers: 1 });
      void sandbox;
      const left = (await docker.listContainers({ all: true })).map(({ Id }) => Id);
      expect(ids.map((id) => left.includes(id))).toEqual([true, false, true]);
    } finally {
      await Promise.all(ids.map((id) => removeContainer(docker, id)));
    }
  });

  test("a container cannot write to its image, and the engine removes it when its input ends", async () => {
    const owner = { ...currentOwner(), started: "this test" };
    const program = { command: await runnerCommand(), environment: {}, user: "0:0", capabilities: [] };
    const limits = { memoryMb: 256, processes: 16, temporaryMb: 16 };
    const options = { docker, image: "lyceum-sandbox", owner, limits, program };
    const runner = await watchedStart({ start: (progress) => startContainer({ ...options, progress }) });
    const [id] = await containersOf(owner);
    const { HostConfig } = await docker.getContainer(id!).inspect();
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, NetworkMode: "none", CapDrop: ["ALL"] });
    runner.output.resume();
    runner.input.end();
    await expect.poll(() => containersOf(owner)).toEqual([]);
  });

  describe("a worker", () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await createDockerSandbox({ workers: 1 });
    });
    afterAll(() => sandbox[Symbol.asyncDispose]());

    test("is replaced if it is killed during a job, and the job is retried", async () => {
      await runPython(sandbox, { code: quick, task: calls("f", []) });
      // No attempt ends before that moment, even if the kill is late. The second one ends soon after it.
      const end = Date.now() / 1000 + 5;
      const code = `import time\ndef f():\n    while time.time() < ${end}: time.sleep(.1)\n    return 1`;
      const running = runPython(sandbox, { code, task: calls("f", []), limits: { wallMs: 60_000 } });
      const [id] = await containersOf(currentOwner());
      await docker.getContainer(id!).kill();
      expect(await running).toMatchObject({ status: "ok", attempts: 2, cases: [{ value: int(1) }] });
    });

    test("is kept when a job is aborted, and serves the next", async () => {
      await runPython(sandbox, { code: quick, task: calls("f", []) });
      const { workersStarted } = sandbox.stats();
      const already = AbortSignal.abort();
      expect(await runPython(sandbox, { code: slow, task: calls("f", []), signal: already })).toMatchObject({
        status: "aborted",
      });
      const aborted = await runPython(sandbox, { code: slow, task: calls("f", []), signal: AbortSignal.timeout(300) });
      expect(aborted).toMatchObject({ status: "aborted", attempts: 1 });
      const later = new AbortController();
      const done = await runPython(sandbox, { code: quick, task: calls("f", []), signal: later.signal });
      later.abort();
      expect(done).toMatchObject({ status: "ok" });
      expect(await runPython(sandbox, { code: quick, task: calls("f", []) })).toMatchObject({ status: "ok" });
      expect(sandbox.stats().workersStarted).toBe(workersStarted);
    });
  });

  test("a container without free memory ends the job with `memory`, not the runner", async () => {
    await using sandbox = await createDockerSandbox({ workers: 1, container: { memoryMb: 128 } });
    const code = "def f():\n    b = bytearray(400 << 20)\n    for i in range(0, len(b), 4096): b[i] = 1\n    return 1";
    const result = await runPython(sandbox, { code, task: calls("f", []), limits: { memoryMb: 600 } });
    expect(result).toMatchObject({ status: "memory", attempts: 1 });
    expect(await runPython(sandbox, { code: quick, task: calls("f", []) })).toMatchObject({
      status: "ok",
      worker: { generation: 0 },
    });
  });
});
