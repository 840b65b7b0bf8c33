import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { remoteEnvironment } from "../../server/client/remote-environment.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { collectGroups } from "../../src/core/rollout/collect-groups.ts";
import { rollout } from "../../src/core/rollout/rollout.ts";
import { execute } from "./execute.ts";
import { freePort } from "./free-port.ts";
import { providePythonEnvironment } from "./python-environment.ts";

const recipes = join(import.meta.dirname, "../../examples/serving");
const main = join(import.meta.dirname, "../../cli/main.ts");
const token = "interop-token";
const startMs = 60_000;

describe("the files of the recipes", () => {
  let environment: string;
  beforeAll(async () => {
    environment = await providePythonEnvironment({
      name: "deployment",
      requirements: "deployment-requirements.txt",
      download: "25 MB",
    });
  });

  test("kubernetes.yaml is valid by the schemas of Kubernetes", async () => {
    const command = ["-m", "kubernetes_validate", "--strict", join(recipes, "kubernetes.yaml")];
    await execute(join(environment, "bin/python"), command, { timeoutMs: 120_000 });
  });

  test("compose.yaml is valid by the schema of compose files", async () => {
    const schema = ["--builtin-schema", "vendor.compose-spec"];
    const command = ["-m", "check_jsonschema", ...schema, join(recipes, "compose.yaml")];
    await execute(join(environment, "bin/python"), command, { timeoutMs: 120_000 });
  });
});

const hasBalancer = spawnSync("haproxy", ["-v"]).status === 0;

/** The servers and the balancer run as processes, with the configuration of the recipe. */
describe.skipIf(!hasBalancer)("two servers behind HAProxy", () => {
  let ports: { readonly balancer: number; readonly one: number; readonly two: number };
  const running = new Map<string, ChildProcess>();
  const balanced = (path = ""): string => `http://127.0.0.1:${ports.balancer}${path}`;
  const headers = { authorization: `Bearer ${token}` };

  const begin = (name: string, words: readonly string[], environment: Readonly<Record<string, string>>): void => {
    const [program, ...args] = words;
    running.set(name, spawn(program!, args, { stdio: "ignore", env: { ...process.env, ...environment } }));
  };
  const serve = async (name: "one" | "two"): Promise<void> => {
    const options = ["--environments", "number-guessing", "--port", String(ports[name]), "--workers", "1"];
    begin(name, [process.execPath, main, "serve", ...options], { LYCEUM_SERVER_TOKEN: token });
    await ready(`http://127.0.0.1:${ports[name]}/ready`);
  };
  const end = async (name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
    const child = running.get(name);
    running.delete(name);
    if (child === undefined || child.exitCode !== null) return;
    const closed = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await closed;
  };

  beforeEach(async () => {
    const [balancer, one, two] = await Promise.all([freePort(), freePort(), freePort()]);
    ports = { balancer, one, two };
    await Promise.all([serve("one"), serve("two")]);
    begin("balancer", ["haproxy", "-db", "-f", join(recipes, "haproxy.cfg")], {
      BALANCER_ADDRESS: `127.0.0.1:${balancer}`,
      ENVIRONMENTS_ONE: `127.0.0.1:${one}`,
      ENVIRONMENTS_TWO: `127.0.0.1:${two}`,
    });
    await ready(balanced("/ready"));
    // The balancer counts a server after its first check.
    await pause(2_500);
  });
  afterEach(async () => {
    for (const name of [...running.keys()]) await end(name);
  });

  const sessionsOf = async (name: "one" | "two"): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${ports[name]}/ready`);
    return ((await response.json()) as { readonly active_sessions: number }).active_sessions;
  };
  const post = async (path: string, body: unknown): Promise<Record<string, never>> => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(balanced(path), init);
    expect(response.status, await response.clone().text()).toBe(200);
    return (await response.json()) as Record<string, never>;
  };
  const rpc = (method: string, params: object = {}) => post("/mcp", { jsonrpc: "2.0", id: 1, method, params });

  test("WebSockets are spread over both and stay on their server", async () => {
    const clients = await Promise.all(Array.from({ length: 16 }, () => Client.connect(balanced("/ws"))));
    for (const client of clients) await client.ask({ type: "reset", data: { seed: 3 } });
    expect(await sessionsOf("one")).toBeGreaterThan(4);
    expect(await sessionsOf("two")).toBeGreaterThan(4);
    for (const guess of ["1", "2", "3"]) {
      const answers = await Promise.all(clients.map((client) => client.ask({ type: "step", data: { text: guess } })));
      expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
      expect(answers[0]).toMatchObject({ type: "observation" });
    }
    for (const client of clients) client.close();
  });

  test("a created session is found by HTTP, MCP and WebSocket, whatever server has it", async () => {
    const created = await Promise.all(Array.from({ length: 12 }, () => rpc("openenv/session/create")));
    const ids = created.map(({ result }) => (result as unknown as { readonly session_id: string }).session_id);
    expect(await sessionsOf("one")).toBeGreaterThan(2);
    expect(await sessionsOf("two")).toBeGreaterThan(2);
    for (const id of ids) {
      await post(`/reset?session_id=${id}`, { seed: 1 });
      const { observation } = await post(`/step?session_id=${id}`, { action: { text: "50" } });
      expect(observation).toMatchObject({ text: expect.stringMatching(/My number is/) });
      expect(await rpc("tools/list", { session_id: id })).toMatchObject({ result: { tools: [] } });
      const client = await Client.connect(balanced(`/ws?session_id=${id}`));
      expect(await client.ask({ type: "state" })).toMatchObject({ data: { step_count: 1 } });
      client.close();
    }
  });

  test("a server that gets SIGTERM finishes its episodes and gets no new ones", async () => {
    const clients = await Promise.all(Array.from({ length: 8 }, () => Client.connect(balanced("/ws"))));
    for (const client of clients) await client.ask({ type: "reset", data: { seed: 3 } });
    const before = await sessionsOf("two");
    const stopped = end("one", "SIGTERM");
    await pause(4_000);
    const later = await Promise.all(Array.from({ length: 6 }, () => Client.connect(balanced("/ws"))));
    for (const client of later)
      expect(await client.ask({ type: "reset", data: {} })).toMatchObject({ type: "observation" });
    expect(await sessionsOf("two")).toBe(before + 6);
    for (const client of clients) {
      expect(await client.ask({ type: "step", data: { text: "1" } })).toMatchObject({ type: "observation" });
      client.close();
    }
    await stopped;
    for (const client of later) client.close();
  });

  test("a killed server costs a rollout no episode", async () => {
    const remote = await remoteEnvironment(balanced(), { token });
    const tasks = await remote.tasks("train[:12]");
    let turns = 0;
    const policies = scriptedPolicy(async () => {
      turns += 1;
      if (turns === 30) await end("one");
      return String((turns * 37) % 100);
    });
    const groups = await collectGroups(rollout({ environment: remote, tasks, policies, groupSize: 2, seed: 1 }));
    const statuses = groups.flatMap(({ episodes }) => episodes.map(({ status }) => status));
    expect(running.has("one")).toBe(false);
    expect(statuses).toEqual(Array.from({ length: 24 }, () => "completed"));
  });
});

/** A WebSocket of OpenEnv's protocol with one request at a time. */
class Client {
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  static async connect(address: string): Promise<Client> {
    const socket = new WebSocket(address.replace("http", "ws"), { headers: { authorization: `Bearer ${token}` } });
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return new Client(socket);
  }

  ask(message: object): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#socket.once("message", (data) => resolve(JSON.parse(String(data))));
      this.#socket.once("close", (code) => reject(new Error(`The connection was closed with ${code}.`)));
      this.#socket.send(JSON.stringify(message));
    });
  }

  close(): void {
    this.#socket.terminate();
  }
}

async function ready(url: string): Promise<void> {
  const end = performance.now() + startMs;
  while (performance.now() < end) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok === true) return;
    await pause(100);
  }
  throw new Error(`Nothing answers at ${url}.`);
}
