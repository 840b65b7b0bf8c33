import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EnvironmentRunner } from "../../../server/session/environment-runner.ts";
import type { EnvironmentSession } from "../../../server/session/session.ts";
import { createSessionHost } from "../../../server/session/session-host.ts";
import { type WorkerRunnerOptions, workerRunner } from "../../../server/session/worker-runner.ts";
import { act } from "./runner-suite.ts";

const module = new URL("./runner-environments.ts", import.meta.url);

async function openRunner(options: Partial<WorkerRunnerOptions> = {}) {
  const losses: string[] = [];
  const runner = await workerRunner({
    module,
    workers: 2,
    closeMs: 500,
    onLoss: (message) => losses.push(message),
    ...options,
  });
  onTestFinished(() => runner.close());
  return { runner, losses };
}

async function start(runner: EnvironmentRunner, environment: string): Promise<EnvironmentSession> {
  const session = await runner.open({ environment });
  await session.reset();
  return session;
}

/** The first and the third session run in one worker, the second one in the other. */
async function startThree(runner: EnvironmentRunner, faulty: string) {
  const fault = await start(runner, faulty);
  const elsewhere = await start(runner, "waiting");
  const beside = await start(runner, "waiting");
  return { fault, elsewhere, beside };
}

async function untilReplaced(runner: EnvironmentRunner, count = 1): Promise<void> {
  await expect.poll(() => runner.statistics?.()).toMatchObject({ readyWorkers: 2, replacedWorkers: count });
}

describe("a worker that ends", () => {
  it.for([
    ["ends", "it exited with code 3"],
    ["throws-later", "an error was not caught: Nobody waits for this."],
    ["rejects-later", "an error was not caught: Nobody handles this."],
    ["fills-memory", "its memory is used up"],
    ["fills-buffers", "its memory is used up"],
  ] as const)("by an environment that %s loses its own sessions and is replaced", async ([environment, reason]) => {
    const { runner, losses } = await openRunner({ heapMb: 128 });
    const { fault, elsewhere, beside } = await startThree(runner, environment);
    const goesOn = elsewhere.step({ actions: act("1000") });
    const lost = beside.step({ actions: act("600000") });
    const step = fault.step({ actions: act("go") });
    const error = {
      code: "server.unknown-session",
      message: `The session is lost, because its worker thread ended: ${reason}.`,
      data: { reason },
    };
    await Promise.all([expect(step).rejects.toMatchObject(error), expect(lost).rejects.toMatchObject(error)]);
    await expect(beside.state()).rejects.toMatchObject(error);
    await beside.close();
    await fault.close();
    expect(losses).toEqual([
      `A worker of the environments ended: ${reason}. Its sessions are lost, and it is replaced.`,
    ]);
    expect(await goesOn).toMatchObject({ done: false });
    await untilReplaced(runner);
    const again = await startThree(runner, "echo");
    expect(await again.fault.step({ actions: act("hello") })).toMatchObject({ done: false });
    expect(await again.beside.step({ actions: act("1") })).toMatchObject({ done: false });
  });

  it("has a replacement that is started again if it does not start in time", async () => {
    const starts = new Int32Array(new SharedArrayBuffer(4));
    const { runner, losses } = await openRunner({
      module: new URL("./slow-start-environments.ts", import.meta.url),
      ...{ data: starts, workers: 1, restartMs: 1_000 },
    });
    const session = await start(runner, "ends");
    await expect(session.step({ actions: act("go") })).rejects.toMatchObject({ code: "server.unknown-session" });
    await expect.poll(() => runner.statistics?.()).toMatchObject({ readyWorkers: 1, replacedWorkers: 1 });
    expect(Atomics.load(starts, 0)).toBe(3);
    expect(losses[1]).toContain("An environment did not end start within 1000 ms.");
  });

  it("has its share of the sessions that are opened at once", async () => {
    const { runner } = await openRunner();
    const sessions = await Promise.all(Array.from({ length: 8 }, () => start(runner, "ends")));
    await expect(sessions[0]!.step({ actions: act("go") })).rejects.toMatchObject({ code: "server.unknown-session" });
    const states = await Promise.allSettled(sessions.map((session) => session.state()));
    expect(states.filter(({ status }) => status === "rejected")).toHaveLength(4);
  });

  it("gives its sessions back to the host", async () => {
    const { runner } = await openRunner();
    const host = createSessionHost(runner, { maxSessions: 1 });
    const session = await host.open({ environment: "ends" });
    await session.reset();
    await expect(session.step({ actions: act("go") })).rejects.toMatchObject({ code: "server.unknown-session" });
    expect(host.activeSessions).toBe(0);
    expect(await (await host.open({ environment: "echo" })).reset()).toMatchObject({ seed: 0 });
  });

  it("is waited for if it is the only one", async () => {
    const { runner } = await openRunner({ workers: 1 });
    const session = await start(runner, "ends");
    await expect(session.step({ actions: act("go") })).rejects.toMatchObject({ code: "server.unknown-session" });
    const next = await start(runner, "echo");
    expect(await next.step({ actions: act("hello") })).toMatchObject({ done: false });
  });
});

describe("a call that does not end in time", () => {
  it("ends its worker if it blocks it", async () => {
    const { runner, losses } = await openRunner({ callMs: 3_000 });
    const { fault, elsewhere, beside } = await startThree(runner, "loops");
    const loop = fault.step({ actions: act("go") });
    loop.catch(() => {});
    expect(await elsewhere.step({ actions: act("1") })).toMatchObject({ done: false });
    const blocked = beside.step({ actions: act("1") });
    await expect(loop).rejects.toMatchObject({
      code: "timeout",
      message: "An environment did not end step within 3000 ms.",
      data: { call: "step", ms: 3_000 },
    });
    await expect(blocked).rejects.toMatchObject({ code: "server.unknown-session" });
    expect(losses).toEqual([expect.stringContaining("an environment blocked it for longer than 3000 ms")]);
    expect(await elsewhere.step({ actions: act("1") })).toMatchObject({ done: false });
    await untilReplaced(runner);
  });

  it("is aborted, and the session goes on after a reset", async () => {
    const { runner, losses } = await openRunner({ callMs: 3_000 });
    const session = await start(runner, "waiting");
    await expect(session.step({ actions: act("600000") })).rejects.toMatchObject({ code: "timeout" });
    await session.reset();
    expect(await session.step({ actions: act("1") })).toMatchObject({ done: false });
    expect(losses).toEqual([]);
  });

  it("costs its own session alone if it ignores the abort", async () => {
    const { runner, losses } = await openRunner({ callMs: 3_000 });
    const { fault, beside } = await startThree(runner, "hangs");
    await expect(fault.step({ actions: act("go") })).rejects.toMatchObject({ code: "timeout" });
    await expect(fault.reset()).rejects.toMatchObject({ code: "server.unknown-session" });
    expect(await beside.step({ actions: act("1") })).toMatchObject({ done: false });
    expect(losses).toEqual([]);
  });
});

describe("a blocked worker", () => {
  it("gets no new session while another one is free", async () => {
    const { runner } = await openRunner();
    const loops = await start(runner, "loops");
    const step = loops.step({ actions: act("go") });
    step.catch(() => {});
    await setTimeout(2_000);
    const others = await Promise.all(Array.from({ length: 4 }, () => start(runner, "echo")));
    for (const session of others) expect(await session.step({ actions: act("x") })).toMatchObject({ done: false });
  });

  it("is ended by close after the deadline", async () => {
    const { runner } = await openRunner();
    const loops = await start(runner, "loops");
    const step = loops.step({ actions: act("go") });
    step.catch(() => {});
    await setTimeout(500);
    await runner.close();
    await expect(step).rejects.toMatchObject({ code: "server.unknown-session" });
  });
});

describe("values that are no plain data", () => {
  it("are refused, and the other calls of the same moment are answered", async () => {
    const { runner } = await openRunner({ workers: 1 });
    const odd = await start(runner, "odd");
    const echo = await start(runner, "echo");
    const [refused, answered] = await Promise.allSettled([
      odd.step({ actions: act("x") }),
      echo.step({ actions: act("x") }),
    ]);
    expect(refused).toMatchObject({ reason: { code: "environment.contract" } });
    expect(answered).toMatchObject({ value: { done: false } });
    const action = { ...act("x").agent!, extra: () => 1 };
    await expect(echo.step({ actions: { agent: action } })).rejects.toThrow("could not be cloned");
    expect(await echo.step({ actions: act("y") })).toMatchObject({ done: false });
  });
});

describe("a start", () => {
  it("rejects with the error of a module", async () => {
    const started = (path: string) => workerRunner({ module: new URL(path, import.meta.url), workers: 2 });
    await expect(started("./runner-faults.ts")).rejects.toMatchObject({ code: "config.invalid" });
    await expect(started("./none.ts")).rejects.toThrow("Cannot find module");
    await expect(workerRunner({ module, workers: 0 })).rejects.toMatchObject({ code: "config.invalid" });
  });

  it("rejects if the thread ends, or if it is aborted", async () => {
    const ends = new URL("data:text/javascript,process.exit(4); export const openEnvironments = 1");
    await expect(workerRunner({ module: ends, workers: 2 })).rejects.toMatchObject({
      code: "environment.failed",
      message: "A worker thread ended while it opened the environments: it exited with code 4.",
    });
    const never = new URL("data:text/javascript,export const openEnvironments = () => new Promise(() => {})");
    const reason = new Error("stopped");
    const stop = new AbortController();
    const started = workerRunner({ module: never, workers: 2, signal: stop.signal });
    const refused = expect(started).rejects.toBe(reason);
    await setTimeout(100);
    stop.abort(reason);
    await refused;
  });
});
