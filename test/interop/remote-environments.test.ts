import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { environments } from "../../environments/index.ts";
import { remoteEnvironment } from "../../server/client/remote-environment.ts";
import { serveGrpc } from "../../server/grpc/serve-grpc.ts";
import { localRunner } from "../../server/session/local-runner.ts";
import { createSessionHost } from "../../server/session/session-host.ts";
import { type Message, textMessage } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import { scriptedPolicy } from "../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../src/core/rollout/rollout-episode.ts";
import { readEntries } from "../../src/evaluation/log/read-log.ts";
import { runInProcess } from "../cli/run-in-process.ts";
import { lyceum, tinyConfig } from "../cli/run-lyceum.ts";
import { codeBlocks } from "../docs/code-blocks.ts";
import { execute } from "./execute.ts";
import { type OpenEnvProgram, startPythonServer, startTemplateServer } from "./openenv-program.ts";
import { runPython } from "./python.ts";
import { providePythonEnvironment, pythonOf } from "./python-environment.ts";

let environment: string;
let folder: string;
beforeAll(async () => {
  environment =
    process.env.LYCEUM_OPENENV_VENV ||
    (await providePythonEnvironment({ name: "openenv", requirements: "openenv-requirements.txt", download: "120 MB" }));
  folder = await mkdtemp(join(tmpdir(), "lyceum-remote-interop-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("a grpcio client generated from the .proto files calls every rpc", async () => {
  const runner = await localRunner([{ name: "debate", definition: environments.create("debate") }]);
  await using host = createSessionHost(runner);
  const model: Policy = {
    specificationVersion: "v1",
    name: "model",
    accepts: ["text"],
    act: async () => ({
      action: { message: textMessage("assistant", "Hello."), finish: "stop" },
      tokens: {
        extendsPrevious: false,
        newPromptIds: [1, 2],
        promptLength: 2,
        completionIds: [3],
        logprobs: [-0.5],
        weightsVersion: 0,
      },
    }),
  };
  await using server = await serveGrpc({ host, policies: { model }, token: "interop-token" });
  const result = await runPython<Record<string, never>>({
    environment,
    script: "grpc_client",
    request: {
      protos: join(import.meta.dirname, "../../server/grpc/proto"),
      address: `127.0.0.1:${server.port}`,
      token: "interop-token",
    },
  });
  expect(result).toMatchObject({
    health: "SERVING",
    watched: "SERVING",
    ready: true,
    environments: [{ environment_id: "debate", spec: { id: "debate", agents: expect.any(Array) } }],
    tasks: [{ split: "train" }, { index: "1" }, { index: "2" }],
    repeated: true,
    state: { step_count: 1 },
    batch: ["response", "response", "error"],
    batch_error: "server.unknown-session",
    stream: ["response", "response"],
    errors: { closed: ["NOT_FOUND", true], token: ["UNAUTHENTICATED", true], index: ["OUT_OF_RANGE", true] },
    models: [{ model_id: "model", accepts: ["text"] }],
    generate: { tokens: { completion_ids: [3], logprobs: [-0.5] } },
    generated: ["response", "error"],
    streamed: ["text", "response"],
  });
  expect(result.reset).toMatchObject({ observations: { "debater-1": {} }, split: "train", index: "1" });
  expect(host.activeSessions).toBe(0);
});

test("the Python program of docs/serving.md asks a trained model that lyceum serve offers", async () => {
  await writeFile(join(folder, "tiny.yaml"), tinyConfig);
  expect((await runInProcess(["train", "-c", "tiny.yaml", "-o", "run"], { folder })).code).toBe(0);
  const ready = Promise.withResolvers<string>();
  const running = lyceum(["serve", "--model", "run", "--device", "cpu"], {
    folder,
    onOutput: (output) => {
      const address = /gRPC at grpc:\/\/(\S+)/.exec(output)?.[1];
      if (address !== undefined) ready.resolve(address);
    },
  });
  void running.then(({ stderr }) => ready.reject(new Error(stderr)));
  const address = await ready.promise;
  const block = (await codeBlocks("docs/serving.md")).find(({ code }) => code.includes("ModelServiceStub"))!;
  expect(block.code).toContain("127.0.0.1:50051");
  const packages = join(folder, "packages");
  await mkdir(packages, { recursive: true });
  const protos = ["messages", "environment", "model"].map((name) => `lyceum/v1/${name}.proto`);
  const folders = [
    `-I${join(import.meta.dirname, "../../server/grpc/proto")}`,
    "--python_out=.",
    "--grpc_python_out=.",
  ];
  const python = pythonOf(environment);
  await execute(python, ["-m", "grpc_tools.protoc", ...folders, ...protos], { folder: packages, timeoutMs: 60_000 });
  const code = block.code.replace("127.0.0.1:50051", address);
  const printed = await execute(python, ["-c", code], { folder: packages, timeoutMs: 60_000 });
  const [answer, outcomes] = printed.trimEnd().split("\n").slice(-2);
  const [, ids, logprobs] = /\[([\d, ]+)\] \[([-\d., e]+)\]$/.exec(answer!)!;
  expect(ids!.split(",").length).toBeGreaterThan(0);
  expect(logprobs!.split(",")).toHaveLength(ids!.split(",").length);
  expect(outcomes).toBe("['response', 'response']");
});

describe("OpenEnv servers in Python, as environments of lyceum eval", () => {
  /** Evaluates the server with answers by turn, and returns the rewards of the episodes. */
  async function rewards(
    { url }: OpenEnvProgram,
    {
      answers,
      options,
      name,
    }: { readonly answers: readonly string[]; readonly options: readonly string[]; readonly name: string },
  ): Promise<(number | null)[]> {
    await writeFile(join(folder, `${name}.json`), JSON.stringify(answers));
    const set = options.flatMap((option) => ["-s", option]);
    const words = ["eval", "-e", url, ...set, "-m", `scripted:${name}.json`, "-n", "5", "-o", name];
    const { code, stderr } = await runInProcess(words, { folder });
    // The template's server has room for one session, so that episodes wait for each other.
    const expected = name === "echo" ? /^$|is at capacity|at capacity: 1\/1/ : /^$/;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(expected) });
    const entries = [...(await readEntries(join(folder, name))).values()];
    const inOrder = entries.toSorted((first, second) => first.task.index - second.task.index);
    return inOrder.map(({ agents }) => agents.agent!.reward);
  }

  test("the echo server of openenv init", async () => {
    await using server = await startTemplateServer(folder, environment);
    const answers = ["Hello", "Hello, world"];
    const found = await rewards(server, { answers, options: ["maxTurns=2", "rewardRange=[0,2]"], name: "echo" });
    // A tenth for each letter, at most 1 a turn. The third decimals are those of Python's sum.
    expect(found).toEqual(Array(5).fill(1.5));
  });

  test("a game: the seed is the task", async () => {
    await using server = await startPythonServer("game", environment);
    const answers = ['{"guess": 2}', 'I say ```json\n{"guess": 10}\n```', '{"guess": 5}', '{"guess": 9}'];
    const found = await rewards(server, { answers, options: ["maxTurns=4"], name: "game" });
    // random.Random(seed).randint(1, 10) of seeds 0 to 4 in Python: 7, 3, 1, 4, 4.
    expect(found).toEqual([0, 0, 0, 0, 0]);
    const winners = ['{"guess": 3}', '{"guess": 7}', '{"guess": 4}', '{"guess": 1}'];
    expect(await rewards(server, { answers: winners, options: ["maxTurns=4"], name: "wins" })).toEqual([
      0.75, 1, 0.25, 0.5, 0.5,
    ]);
  });

  test("tools over MCP", async () => {
    await using server = await startPythonServer("tools", environment);
    const remote = await remoteEnvironment(server.url, { maxTurns: 3 });
    expect(remote.spec.tools).toMatchObject([{ name: "add", description: "Adds two whole numbers." }]);
    const task = await (await remote.tasks("train")).get(0);
    const call = (a: number): Message => ({
      role: "assistant",
      content: [],
      toolCalls: [{ id: "1", name: "add", arguments: { a, b: 2 } }],
    });
    const episode = await rolloutEpisode({
      environment: remote,
      task,
      policies: scriptedPolicy([call(3), call(40)]),
      seed: 1,
    });
    expect(episode).toMatchObject({ status: "completed", turns: 2, agents: { agent: { reward: { value: 1 } } } });
    expect(JSON.stringify(episode.agents.agent!.nodes)).toContain("5");
  });

  test("a code runner", async () => {
    await using server = await startPythonServer("code", environment);
    const answers = ["print(", "print(16)"];
    const found = await rewards(server, { answers, options: ["maxTurns=2"], name: "code" });
    // The tasks are the squares of 2 to 6.
    expect(found).toEqual([0, 0, 1, 0, 0]);
  });
});
