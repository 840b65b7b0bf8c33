import { readFileSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { createOnnxBackend } from "../../trainers/backends/onnx/index.ts";
import { protobufType } from "../../trainers/tinker/protocol/pass-request.ts";
import { tinyModel } from "../backends/tinker/tiny-model.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { type ServerProcess, serveProcess, startServer } from "./served-process.ts";

/** What one attack may cost: seconds of processor time, and megabytes of memory. */
const limits = { seconds: 0.5, megabytes: 200 };

/** The cost of one request to a server. */
interface Cost {
  readonly seconds: number;
  readonly megabytes: number;
  readonly status: number;
}

/** Returns the processor time of a process in seconds. */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function memoryOf(pid: number, name: "VmHWM" | "VmRSS"): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

/** Measures a request. The largest memory counts from the request on. */
async function costOf({ child }: ServerProcess, request: () => Promise<number>): Promise<Cost> {
  const pid = child.pid!;
  // Sets the largest memory to the present one.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const [time, memory] = [processorTime(pid), memoryOf(pid, "VmRSS")];
  const status = await request();
  return { seconds: processorTime(pid) - time, megabytes: memoryOf(pid, "VmHWM") - memory, status };
}

const mebibyte = 2 ** 20;

/** Repeats a text until it has the size. */
function filled(text: string, bytes: number): Buffer {
  return Buffer.alloc(bytes - (bytes % text.length), text);
}

/** A list in JSON of `bytes` bytes between two texts. */
function listBetween(start: string, item: string, end: string, bytes: number): Buffer {
  return Buffer.concat([Buffer.from(start), filled(`${item},`, bytes), Buffer.from(`${item}${end}`)]);
}

const listBytes = 60 * mebibyte;
const prompt = '{"prompt":{"chunks":[{"type":"encoded_text","tokens":[';
const promptEnd = ']}]},"sampling_params":{"max_tokens":1},"base_model":"tiny"}';
const pass = '{"model_id":"none","forward_input":{"loss_fn":"cross_entropy","data":[';
const sparse = (size: number): string =>
  `{"data":[],"dtype":"float32","shape":[1,${size}],"sparse_crow_indices":[0,0],"sparse_col_indices":[]}`;
const sparsePass = (count: number): Buffer => {
  const tensors = Array.from({ length: count }, (_, i) => `"t${i}":${sparse(2 ** 26)}`).join(",");
  return Buffer.from(`${pass}{"model_input":{"chunks":[]},"loss_fn_inputs":{${tensors}}}]}}`);
};
/** Returns field 3 (`data`), repeated. */
const emptyData = (bytes: number): Buffer => filled("\x1a\x00", bytes);
/** One datum with one input tensor whose packed shape is long. */
function packedShape(values: number): Buffer {
  const length = (size: number): Buffer => {
    const bytes: number[] = [];
    for (let rest = size; ; rest = Math.floor(rest / 128)) {
      bytes.push(rest >= 128 ? (rest % 128) + 128 : rest);
      if (rest < 128) return Buffer.from(bytes);
    }
  };
  const field = (key: number, content: Buffer): Buffer =>
    Buffer.concat([Buffer.from([key]), length(content.length), content]);
  const tensor = field(0x22, Buffer.alloc(values, 1));
  const entry = Buffer.concat([field(0x0a, Buffer.from("a")), field(0x12, tensor)]);
  return field(0x1a, field(0x12, entry));
}

/** Requests to `serve-model` by name: the route, the body before compression, and its type. */
const attacks: readonly (readonly [string, string, () => Buffer, string?])[] = [
  ["numbers of a prompt", "asample", () => listBetween(prompt, "1", promptEnd, listBytes)],
  ["texts in a prompt", "asample", () => listBetween(prompt, '"a"', promptEnd, listBytes)],
  ["objects in a prompt", "asample", () => listBetween(prompt, "{}", promptEnd, listBytes)],
  ["chunks of a prompt", "asample", () => listBetween('{"prompt":{"chunks":[', "{}", "]}}", listBytes)],
  ["lists in each other", "asample", () => filled("[", listBytes)],
  ["data", "forward", () => listBetween(pass, "{}", "]}}", listBytes)],
  ["received ids", "retrieve_futures", () => listBetween('{"retrieved_request_ids":[', "1", "]}", listBytes)],
  ["unknown keys", "create_session", () => listBetween('{"a":[', "[]", "]}", listBytes)],
  ["keys of an object", "telemetry", () => listBetween("{", '"a":1', "}", listBytes)],
  ["one sparse tensor", "forward", () => sparsePass(1)],
  ["ten sparse tensors", "forward", () => sparsePass(10)],
  ["messages of protobuf", "forward_backward", () => emptyData(listBytes), protobufType],
  ["packed values of protobuf", "forward_backward", () => packedShape(listBytes), protobufType],
];

let folder: string;
let model: string;
beforeAll(async () => {
  folder = temporaryFolder();
  await using backend = await createOnnxBackend({ device: "cpu", threads: 1 });
  model = (await tinyModel(backend, folder)).path;
});

test("a small request to serve-model costs little", async () => {
  await using served = await startServer(
    ["serve-model", model, "--name", "tiny", "--chat-template", "none", "--device", "cpu"],
    { ready: /at http:\/\/127\.0\.0\.1:(\d+)/ },
  );
  const send = async (path: string, body: Buffer, headers: Record<string, string>): Promise<number> => {
    const url = `${served.url}/${path}`;
    const response = await fetch(url, { method: "POST", body: new Uint8Array(body), headers });
    await response.arrayBuffer();
    return response.status;
  };
  const costs: Record<string, Cost & { readonly bytes: number }> = {};
  for (const [name, route, body, type = "application/json"] of attacks) {
    const plain = body();
    const sent = plain.length > mebibyte ? zstdCompressSync(plain) : plain;
    const headers = { "content-type": type, ...(sent === plain ? {} : { "content-encoding": "zstd" }) };
    costs[name] = {
      bytes: sent.length,
      ...(await costOf(served, () => send(`api/v1/${route}`, sent, headers))),
    };
  }
  console.table(costs);
  for (const [name, { seconds, megabytes, status }] of Object.entries(costs)) {
    expect(status, name).toBeGreaterThanOrEqual(400);
    expect.soft(seconds, name).toBeLessThan(limits.seconds);
    expect.soft(megabytes, name).toBeLessThan(limits.megabytes);
  }
  expect(served.errors()).toBe("");
});

/** Sends one message of gRPC, compressed. Returns the status of the call. */
async function callStatus(url: string, method: string, message: Buffer): Promise<number> {
  const body = gzipSync(message);
  const head = Buffer.alloc(5);
  head[0] = 1;
  head.writeUInt32BE(body.length, 1);
  const session = connectHttp2(url);
  const call = session.request({
    ...{ ":method": "POST", ":path": `/lyceum.v1.${method}`, te: "trailers" },
    ...{ "content-type": "application/grpc+proto", "grpc-encoding": "gzip" },
  });
  call.end(Buffer.concat([head, body]));
  call.on("error", () => {});
  const status = await new Promise<number>((resolve) => {
    for (const event of ["response", "trailers"] as const) {
      call.on(event, (headers) => {
        if (headers["grpc-status"] !== undefined) resolve(Number(headers["grpc-status"]));
      });
    }
    call.resume().on("close", () => resolve(Number.NaN));
  });
  session.destroy();
  return status;
}

/** Messages to `serve` by name: the method, and the message before compression. */
const calls: readonly (readonly [string, string, () => Buffer])[] = [
  ["300,000 requests of a batch", "EnvironmentService/BatchStep", () => filled("\x0a\x00", 600_000)],
  ["8,000,000 requests of a batch", "EnvironmentService/BatchStep", () => filled("\x0a\x00", 16 * mebibyte - 100)],
  [
    "actions of a step",
    "EnvironmentService/Step",
    () => Buffer.concat(Array.from({ length: 1_000_000 }, (_, i) => Buffer.from([0x1a, 6, 0x0a, 4, ...keyOf(i)]))),
  ],
];

function keyOf(index: number): Buffer {
  return Buffer.from(index.toString(36).padStart(4, "0"));
}

test("a small request to serve costs little", async () => {
  await using served = await serveProcess(["--workers", "1"]);
  const costs: Record<string, Cost & { readonly bytes: number }> = {};
  for (const [name, method, message] of calls) {
    const plain = message();
    costs[name] = {
      bytes: gzipSync(plain).length,
      ...(await costOf(served, () => callStatus(served.grpcUrl, method, plain))),
    };
  }
  console.table(costs);
  for (const [name, { seconds, megabytes, status }] of Object.entries(costs)) {
    expect(status, name).toBeGreaterThan(0);
    expect.soft(seconds, name).toBeLessThan(limits.seconds);
    expect.soft(megabytes, name).toBeLessThan(limits.megabytes);
  }
  expect(served.errors()).toBe("");
});
