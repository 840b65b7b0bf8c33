import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ExecuteRequest } from "../../sandbox/execution.ts";
import { PooledSandbox, type PoolOptions } from "../../sandbox/pool/pooled-sandbox.ts";
import { missingCases } from "../../sandbox/pool/requests.ts";
import type { Job, Worker, WorkerResult } from "../../sandbox/pool/worker.ts";
import { WorkerFailure } from "../../sandbox/pool/worker-failure.ts";
import { LyceumError } from "../../src/index.ts";

const nothing = { text: "", bytes: 0, truncated: false };
const ended: Omit<WorkerResult, "cases"> = {
  status: "ok",
  stdout: nothing,
  stderr: nothing,
  exit: { code: null, signal: null },
  usage: { cpuMs: 0, wallMs: 0, peakRssKb: 0, swept: 0 },
  integrity: { nonceOk: true, flags: [] },
};

/** A worker whose jobs end when the test decides. */
class ManualWorker implements Worker {
  /** True if a canary job succeeds. */
  static sings = true;
  reusable = true;
  closed = false;
  readonly jobs: string[] = [];
  #running = Promise.withResolvers<WorkerResult>();
  #job: Job | undefined;

  async run(job: Job, signal: AbortSignal): Promise<WorkerResult> {
    if (this.#job !== undefined) throw new Error("Two jobs at a time.");
    if (this.closed) throw new Error("A job for a closed worker.");
    if (job.id === "canary") {
      if (!ManualWorker.sings) throw new Error("No canary sings.");
      return { ...ended, cases: [{ index: 0, outcome: "returned", value: "abab", cpuMs: 0 }] };
    }
    this.#job = job;
    this.jobs.push(job.id);
    this.#running = Promise.withResolvers();
    const onAbort = (): void => this.finish({ status: "aborted" }, false);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await this.#running.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#job = undefined;
    }
  }

  get job(): Job | undefined {
    return this.#job;
  }

  finish(result: Partial<WorkerResult> = {}, reusable = true): void {
    this.reusable = reusable;
    this.#running.resolve({ ...ended, cases: missingCases(this.#job!.request.task), ...result });
  }

  die(error = new Error("It died.")): void {
    this.reusable = false;
    this.#running.reject(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.closed = true;
  }
}

const opened: PooledSandbox[] = [];
afterEach(async () => {
  ManualWorker.sings = true;
  for (const sandbox of opened.splice(0)) await sandbox[Symbol.asyncDispose]();
});

function pool(options: PoolOptions, beforeStart: (count: number) => void | Promise<void> = () => undefined) {
  const workers: ManualWorker[] = [];
  let starts = 0;
  const sandbox = new PooledSandbox({
    info: { backend: "isolated-vm", languages: ["javascript"], version: "0", packages: [] },
    start: async () => {
      await beforeStart(++starts);
      const worker = new ManualWorker();
      workers.push(worker);
      return worker;
    },
    ...options,
  });
  opened.push(sandbox);
  return {
    sandbox,
    workers,
    starts: () => starts,
    busy: () => workers.filter(({ job }) => job !== undefined),
    alive: () => workers.filter(({ closed }) => !closed),
  };
}

function request(id: string, signal?: AbortSignal): ExecuteRequest {
  return {
    id,
    language: "javascript",
    files: { "main.js": "" },
    entry: "main.js",
    task: { kind: "calls", function: "f", cases: [{ args: [] }] },
    ...(signal !== undefined && { signal }),
  };
}

/** Lets all pending work continue. */
async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe("the pool", () => {
  test("runs as many jobs as it has workers, and queues the others in order", async () => {
    const { sandbox, workers, busy } = pool({ workers: 2 });
    const ended: string[] = [];
    const all = ["a", "b", "c", "d", "e"].map(async (id) => {
      const result = await sandbox.execute(request(id));
      ended.push(result.id);
      return result;
    });
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["a", "b"]);
    expect(sandbox.stats()).toMatchObject({ running: 2, waiting: 3, executions: 5 });
    workers[1]!.finish();
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["a", "c"]);
    while (ended.length < 5) {
      for (const worker of busy()) worker.finish();
      await turn();
    }
    expect(workers.flatMap(({ jobs }) => jobs).sort()).toEqual(["a", "b", "c", "d", "e"]);
    expect(workers).toHaveLength(2);
    const results = await Promise.all(all);
    expect(results.every(({ attempts, status }) => attempts === 1 && status === "ok")).toBe(true);
    expect(sandbox.stats()).toMatchObject({ running: 0, waiting: 0, byStatus: { ok: 5 }, workersKilled: 0 });
  });

  test("starts at most as many workers as there are jobs, unless it is warmed up", async () => {
    const { sandbox, workers } = pool({ workers: 4, spares: 1 });
    const one = sandbox.execute(request("a"));
    await turn();
    expect(workers).toHaveLength(2);
    await sandbox.warmUp();
    await sandbox.warmUp();
    expect(workers).toHaveLength(5);
    workers.find(({ job }) => job !== undefined)!.finish();
    await one;
  });

  test("keeps spares idle until they replace killed workers", async () => {
    const { sandbox, workers, busy, alive } = pool({ workers: 1, spares: 2 });
    await sandbox.warmUp();
    const all = ["a", "b"].map((id) => sandbox.execute(request(id)));
    await turn();
    expect(busy()).toHaveLength(1);
    busy()[0]!.finish({ status: "timeout_cpu" }, false);
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["b"]);
    expect(alive()).toHaveLength(3);
    expect(workers).toHaveLength(4);
    busy()[0]!.finish();
    const results = await Promise.all(all);
    expect(results.map(({ status }) => status)).toEqual(["timeout_cpu", "ok"]);
    expect(sandbox.stats().workersKilled).toBe(1);
  });

  test("retries a job whose worker dies on another worker, before later jobs", async () => {
    const { sandbox, workers, busy } = pool({ workers: 1 });
    const [a, b, c] = ["a", "b", "c"].map((id) => sandbox.execute(request(id)));
    await turn();
    busy()[0]!.die();
    await turn();
    expect(workers[0]!.closed).toBe(true);
    // The next job runs after the canary.
    for (const id of ["b", "a", "c"]) {
      expect(busy().map(({ job }) => job!.id)).toEqual([id]);
      busy()[0]!.finish();
      await turn();
    }
    expect(await a).toMatchObject({ status: "ok", attempts: 2, worker: { generation: 1 } });
    expect(await b).toMatchObject({ status: "ok", attempts: 1 });
    expect(await c).toMatchObject({ status: "ok", attempts: 1 });
  });

  test.each([
    { canary: "succeeds", sings: true, died: "violation", killed: "signal" },
    { canary: "fails", sings: false, died: "infra_error", killed: "infra_error" },
  ])("classifies a job that fails three times, with a canary between that $canary: $died, $killed", async ({
    sings,
    died,
    killed,
  }) => {
    ManualWorker.sings = sings;
    const { sandbox, busy } = pool({ workers: 1 });
    const isKilled = { status: "signal", exit: { code: null, signal: "SIGKILL" } } as const;
    const die = (): void => busy()[0]!.die();
    const kill = (): void => busy()[0]!.finish(isKilled);
    for (const [deeds, status] of [
      [[die, die, die], died],
      [[kill, kill, kill], killed],
      [[die, kill, kill], killed],
      [[kill, kill, die], died],
    ] as const) {
      const a = sandbox.execute(request("a"));
      for (const deed of deeds) {
        await expect.poll(() => busy().length).toBe(1);
        deed();
        await turn();
      }
      expect(await a).toMatchObject({ status, attempts: 3, cases: [{ outcome: "missing" }] });
    }
    const b = sandbox.execute(request("b"));
    await turn();
    busy()[0]!.finish();
    expect(await b).toMatchObject({ status: "ok", attempts: 1 });
  });

  test.each([
    { last: "killed from outside", fromOutside: true, status: "infra_error" },
    { last: "killed by an unknown cause", fromOutside: false, status: "violation" },
  ])("a job whose third attempt is $last is $status", async ({ fromOutside, status }) => {
    const { sandbox, busy } = pool({ workers: 1 });
    const a = sandbox.execute(request("a"));
    for (const outside of [true, true, fromOutside]) {
      await expect.poll(() => busy().length).toBe(1);
      busy()[0]!.die(new WorkerFailure("Killed.", { fromOutside: outside }));
      await turn();
    }
    expect(await a).toMatchObject({ status, attempts: 3 });
  });

  test("a signal that code can send itself does not excuse it, and one from outside does", async () => {
    const { sandbox, busy } = pool({ workers: 1 });
    for (const [endedFromOutside, status] of [
      [false, "signal"],
      [true, "infra_error"],
    ] as const) {
      const a = sandbox.execute(request("a"));
      for (let attempt = 1; attempt <= 3; attempt++) {
        await expect.poll(() => busy().length).toBe(1);
        busy()[0]!.finish({ status: "signal", exit: { code: null, signal: "SIGKILL" }, endedFromOutside });
        await turn();
      }
      const result = await a;
      expect(result).toMatchObject({ status, attempts: 3 });
      expect(result).not.toHaveProperty("endedFromOutside");
    }
  });

  test("the third attempt runs alone, in a worker that has run no job, and others go on after it", async () => {
    const { sandbox, workers, busy } = pool({ workers: 2 });
    const a = sandbox.execute(request("a"));
    const b = sandbox.execute(request("b"));
    await turn();
    const isKilled = { status: "signal", exit: { code: null, signal: "SIGKILL" }, endedFromOutside: true } as const;
    const runs = (id: string) => busy().find(({ job }) => job?.id === id);
    runs("a")!.finish(isKilled);
    await turn();
    runs("a")!.finish(isKilled);
    await turn();
    const c = sandbox.execute(request("c"));
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["b"]);
    runs("b")!.finish();
    await expect.poll(() => busy().map(({ job }) => job!.id)).toEqual(["a"]);
    expect(busy()[0]!.jobs).toEqual(["a"]);
    expect(workers.indexOf(busy()[0]!)).toBeGreaterThan(1);
    runs("a")!.finish();
    await expect.poll(() => busy().map(({ job }) => job!.id)).toEqual(["c"]);
    runs("c")!.finish();
    expect(await a).toMatchObject({ status: "ok", attempts: 3 });
    expect((await b).status).toBe("ok");
    expect((await c).status).toBe("ok");
  });

  test("a third attempt that is aborted while it waits to be alone does not keep the others waiting", async () => {
    const { sandbox, busy } = pool({ workers: 2 });
    const controller = new AbortController();
    const a = sandbox.execute(request("a", controller.signal));
    const b = sandbox.execute(request("b"));
    await turn();
    for (let attempt = 1; attempt <= 2; attempt++) {
      await expect.poll(() => busy().map(({ job }) => job!.id)).toContain("a");
      busy()
        .find(({ job }) => job!.id === "a")!
        .die(new WorkerFailure("Killed.", { fromOutside: true }));
      await turn();
    }
    const c = sandbox.execute(request("c"));
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["b"]);
    controller.abort();
    expect((await a).status).toBe("aborted");
    await expect.poll(() => busy().map(({ job }) => job!.id)).toEqual(["b", "c"]);
    for (const worker of busy()) worker.finish();
    await Promise.all([b, c]);
  });

  test("retries a process that is killed from outside once, but not one that ends by its own signal", async () => {
    const { sandbox, busy } = pool({ workers: 1 });
    const killed = sandbox.execute(request("killed"));
    await turn();
    busy()[0]!.finish({ status: "signal", exit: { code: null, signal: "SIGKILL" } });
    await turn();
    busy()[0]!.finish();
    expect(await killed).toMatchObject({ status: "ok", attempts: 2 });
    const crashed = sandbox.execute(request("crashed"));
    await turn();
    busy()[0]!.finish({ status: "signal", exit: { code: null, signal: "SIGSEGV" } });
    expect(await crashed).toMatchObject({ status: "signal", attempts: 1 });
  });

  test("retries a job that reached its wall time without using the processor, but not one that used it", async () => {
    const { sandbox, busy } = pool({ workers: 1 });
    const usage = { cpuMs: 10, wallMs: 10_000, peakRssKb: 0, swept: 0 };
    const idle = sandbox.execute(request("idle"));
    await turn();
    busy()[0]!.finish({ status: "timeout_wall", usage }, false);
    await turn();
    busy()[0]!.finish({ status: "timeout_wall", usage }, false);
    expect(await idle).toMatchObject({ status: "timeout_wall", attempts: 2 });
    const hard = sandbox.execute(request("hard"));
    await turn();
    busy()[0]!.finish({ status: "timeout_wall", usage: { ...usage, cpuMs: 1_900 } }, false);
    expect(await hard).toMatchObject({ status: "timeout_wall", attempts: 1 });
  });

  test("gives no job to a worker that died while idle", async () => {
    const { sandbox, workers, busy } = pool({ workers: 1 });
    await sandbox.warmUp();
    workers[0]!.reusable = false;
    const a = sandbox.execute(request("a"));
    await turn();
    expect(workers[0]!.closed).toBe(true);
    expect(busy()).toEqual([workers[1]]);
    busy()[0]!.finish();
    expect((await a).status).toBe("ok");
  });
});

describe("many workers", () => {
  test("start a few at a time, and all in the end", async () => {
    let starting = 0;
    const at: number[] = [];
    const { sandbox, workers } = pool({ workers: 100 }, async () => {
      at.push(++starting);
      await turn();
      starting--;
    });
    await sandbox.warmUp();
    expect(workers).toHaveLength(100);
    expect(Math.max(...at)).toBe(8);
  });

  test("that wait for their start do not start after another start failed permanently", async () => {
    const { sandbox, starts } = pool({ workers: 100 }, async () => {
      await turn();
      throw new LyceumError({ code: "sandbox.unavailable", message: "Not here.", hint: "Elsewhere." });
    });
    const results = await Promise.all(Array.from({ length: 100 }, (_, id) => sandbox.execute(request(String(id)))));
    for (const { status, attempts } of results)
      expect({ status, attempts }).toEqual({ status: "infra_error", attempts: 1 });
    expect(starts()).toBe(8);
  });

  test("that wait for their start do not start if the pool closes", async () => {
    const gate = Promise.withResolvers<void>();
    const { sandbox, workers, alive, starts } = pool({ workers: 100 }, () => gate.promise);
    const warm = sandbox.warmUp();
    await turn();
    const closed = sandbox[Symbol.asyncDispose]();
    gate.resolve();
    await expect(warm).rejects.toMatchObject({ code: "sandbox.closed" });
    await closed;
    expect(starts()).toBe(8);
    expect(workers).toHaveLength(8);
    expect(alive()).toEqual([]);
  });
});

describe("start failures", () => {
  test("a failed start is retried", async () => {
    const { sandbox, busy } = pool({ workers: 1 }, (count) => {
      if (count < 3) throw new Error("Not yet.");
    });
    const a = sandbox.execute(request("a"));
    await expect.poll(() => busy().length).toBe(1);
    busy()[0]!.finish();
    expect(await a).toMatchObject({ status: "ok", attempts: 1 });
  });

  test("if no worker starts, executions are infra errors and warming up rejects, and a later start may succeed", async () => {
    let broken = true;
    const missing = new LyceumError({ code: "sandbox.unavailable", message: "Not here.", hint: "Elsewhere." });
    const { sandbox, busy, starts } = pool({ workers: 2 }, () => {
      if (broken) throw missing;
    });
    const results = await Promise.all(["a", "b", "c"].map((id) => sandbox.execute(request(id))));
    for (const { status, error, attempts } of results) {
      expect({ status, type: error!.type, attempts }).toEqual({
        status: "infra_error",
        type: "sandbox.unavailable",
        attempts: 1,
      });
    }
    expect(starts()).toBeLessThanOrEqual(12);
    await expect(sandbox.warmUp()).rejects.toMatchObject({ code: "sandbox.unavailable" });
    broken = false;
    const a = sandbox.execute(request("a"));
    await turn();
    busy()[0]!.finish();
    expect((await a).status).toBe("ok");
  });

  describe("once a worker has started", () => {
    const refused = new LyceumError({ code: "sandbox.unavailable", message: "connect ECONNREFUSED.", hint: "Wait." });
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): number => warnings.push(message);
    beforeEach(() => {
      warnings.length = 0;
      process.on("warning", onWarning);
    });
    afterEach(() => {
      process.off("warning", onWarning);
    });

    test("an outage causes one message, and no job is lost or counted twice", async () => {
      let failures = 0;
      const first = new ManualWorker();
      first.reusable = false;
      const { sandbox, busy } = pool({ workers: 2, first, startBudgetMs: 60_000 }, () => {
        if (++failures <= 5) throw failures % 2 === 0 ? refused : new Error("connect ENOENT");
      });
      const all = Promise.all(["a", "b", "c"].map((id) => sandbox.execute(request(id))));
      await expect.poll(() => busy().length, { timeout: 60_000 }).toBe(2);
      while (sandbox.stats().running > 0) {
        for (const worker of busy()) worker.finish();
        await turn();
      }
      expect((await all).map(({ status, attempts }) => [status, attempts])).toEqual(Array(3).fill(["ok", 1]));
      expect(warnings).toEqual([
        "A worker of the isolated-vm sandbox does not start: connect ENOENT. Retrying for 60 s.",
      ]);
    });

    test("the time budget ends it, for waiting jobs and for a job whose worker has died", async () => {
      let isOut = false;
      const { sandbox, busy } = pool({ workers: 1, startBudgetMs: 300 }, () => {
        if (isOut) throw refused;
      });
      const [a, b] = ["a", "b"].map((id) => sandbox.execute(request(id)));
      await turn();
      isOut = true;
      busy()[0]!.die();
      expect(await a).toMatchObject({ status: "infra_error", attempts: 2, error: { message: refused.message } });
      expect(await b).toMatchObject({ status: "infra_error", attempts: 1 });
      isOut = false;
      const c = sandbox.execute(request("c"));
      await turn();
      busy()[0]!.finish();
      expect((await c).status).toBe("ok");
    });
  });

  test("a first worker that has started gets the first job, counts as a worker, and is closed with the pool", async () => {
    const first = new ManualWorker();
    const { sandbox, starts, busy } = pool({ workers: 2, first });
    expect(sandbox.stats()).toMatchObject({ workersStarted: 1, running: 0 });
    const [a, b, c] = ["a", "b", "c"].map((id) => sandbox.execute(request(id)));
    await turn();
    expect(first.jobs).toEqual(["a"]);
    expect(starts()).toBe(1);
    first.finish();
    for (const worker of busy()) worker.finish();
    expect(await a).toMatchObject({ status: "ok", worker: { id: "isolated-vm-0", generation: 0, jobs: 1 } });
    expect(await b).toMatchObject({ status: "ok", worker: { id: "isolated-vm-1", generation: 1, jobs: 1 } });
    await turn();
    for (const worker of [first, ...busy()]) if (worker.job !== undefined) worker.finish();
    expect(await c).toMatchObject({ status: "ok" });
    await sandbox[Symbol.asyncDispose]();
    expect(first.closed).toBe(true);
  });

  test("a failed warm-up reaches the executions that wait for it", async () => {
    const gate = Promise.withResolvers<void>();
    const missing = new LyceumError({ code: "sandbox.unavailable", message: "Not here.", hint: "Elsewhere." });
    const { sandbox } = pool({ workers: 1 }, async () => {
      await gate.promise;
      throw missing;
    });
    const warm = sandbox.warmUp();
    const a = sandbox.execute(request("a"));
    gate.resolve();
    await expect(warm).rejects.toBe(missing);
    expect((await a).status).toBe("infra_error");
  });

  test("a spare that does not start blocks nothing", async () => {
    const missing = new LyceumError({ code: "sandbox.unavailable", message: "Not here.", hint: "Elsewhere." });
    const { sandbox, busy } = pool({ workers: 1, spares: 1 }, (count) => {
      if (count > 1) throw missing;
    });
    const all = ["a", "b"].map((id) => sandbox.execute(request(id)));
    await turn();
    busy()[0]!.finish();
    await turn();
    busy()[0]!.finish();
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(["ok", "ok"]);
  });
});

describe("aborting", () => {
  test("before, while waiting, while running and after: ends only that execution", async () => {
    const { sandbox, workers, busy } = pool({ workers: 1 });
    expect(await sandbox.execute(request("before", AbortSignal.abort()))).toMatchObject({ status: "aborted" });
    expect(workers).toHaveLength(0);
    const running = new AbortController();
    const waiting = new AbortController();
    const a = sandbox.execute(request("a", running.signal));
    const b = sandbox.execute(request("b", waiting.signal));
    const c = sandbox.execute(request("c"));
    await turn();
    waiting.abort();
    expect(await b).toMatchObject({ status: "aborted", cases: [{ outcome: "missing" }] });
    expect(sandbox.stats()).toMatchObject({ waiting: 1, running: 1 });
    running.abort();
    expect(await a).toMatchObject({ status: "aborted", attempts: 1 });
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["c"]);
    busy()[0]!.finish();
    expect((await c).status).toBe("ok");
    running.abort();
    waiting.abort();
    expect(workers.flatMap(({ jobs }) => jobs)).toEqual(["a", "c"]);
  });

  test("during the start of a worker: the worker stays for the next job", async () => {
    const gate = Promise.withResolvers<void>();
    const { sandbox, workers, busy } = pool({ workers: 1 }, () => gate.promise);
    const controller = new AbortController();
    const a = sandbox.execute(request("a", controller.signal));
    await turn();
    controller.abort();
    expect((await a).status).toBe("aborted");
    gate.resolve();
    const b = sandbox.execute(request("b"));
    await turn();
    busy()[0]!.finish();
    expect((await b).status).toBe("ok");
    expect(workers).toHaveLength(1);
  });

  test("at the moment a worker is assigned: the worker is not lost", async () => {
    const { sandbox, workers, busy } = pool({ workers: 1 });
    await sandbox.warmUp();
    const controller = new AbortController();
    const a = sandbox.execute(request("a", controller.signal));
    controller.abort();
    expect((await a).status).toBe("aborted");
    const b = sandbox.execute(request("b"));
    await turn();
    expect(busy().map(({ job }) => job!.id)).toEqual(["b"]);
    busy()[0]!.finish();
    await b;
    expect(workers).toHaveLength(1);
  });

  test("leaves no listener on a signal that many executions share", async () => {
    const { sandbox, busy } = pool({ workers: 2 });
    const { signal } = new AbortController();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): number => warnings.push(warning);
    process.on("warning", onWarning);
    const all = Promise.all(Array.from({ length: 50 }, (_, i) => sandbox.execute(request(String(i), signal))));
    do {
      await turn();
      for (const worker of busy()) worker.finish();
    } while (sandbox.stats().waiting + busy().length > 0);
    await all;
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    await turn();
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  test("ends a warm-up", async () => {
    const { sandbox } = pool({ workers: 1 }, () => new Promise((resolve) => setTimeout(resolve, 50)));
    const controller = new AbortController();
    const warm = sandbox.warmUp({ signal: controller.signal });
    controller.abort(new Error("Enough."));
    await expect(warm).rejects.toThrow("Enough.");
    await expect(sandbox.warmUp({ signal: controller.signal })).rejects.toThrow("Enough.");
  });
});

describe("closing", () => {
  test("ends running and waiting jobs and every worker, and may be called twice", async () => {
    const { sandbox, workers } = pool({ workers: 2, spares: 1 });
    const all = ["a", "b", "c", "d"].map((id) => sandbox.execute(request(id)));
    await turn();
    await Promise.all([sandbox[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]);
    expect(workers).toHaveLength(3);
    expect(workers.every(({ closed }) => closed)).toBe(true);
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(Array(4).fill("aborted"));
    expect(sandbox.stats()).toMatchObject({ running: 0, waiting: 0 });
    await expect(sandbox.execute(request("e"))).rejects.toMatchObject({ code: "sandbox.closed" });
    await expect(sandbox.warmUp()).rejects.toMatchObject({ code: "sandbox.closed" });
    await sandbox[Symbol.asyncDispose]();
  });

  test("during the start of workers: they are closed as soon as they start", async () => {
    const gate = Promise.withResolvers<void>();
    const { sandbox, workers } = pool({ workers: 2 }, () => gate.promise);
    const a = sandbox.execute(request("a"));
    const warm = sandbox.warmUp();
    await turn();
    const closed = sandbox[Symbol.asyncDispose]();
    expect((await a).status).toBe("aborted");
    gate.resolve();
    await expect(warm).rejects.toMatchObject({ code: "sandbox.closed" });
    await closed;
    expect(workers).toHaveLength(2);
    expect(workers.every(({ closed }) => closed)).toBe(true);
  });

  test("between two attempts of a start: there is no second attempt, and waiting jobs get the reason", async () => {
    const { sandbox, starts } = pool({ workers: 1 }, () => {
      throw new Error("Not yet.");
    });
    const warm = expect(sandbox.warmUp()).rejects.toMatchObject({ code: "sandbox.closed" });
    await turn();
    await sandbox[Symbol.asyncDispose]();
    await warm;
    expect(starts()).toBe(1);
  });
});
