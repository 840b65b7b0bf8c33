import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import * as v1 from "../../../server/grpc/generated/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../../server/grpc/generated/grpc/reflection/v1alpha/reflection_pb.ts";
import { serveGrpc } from "../../../server/grpc/serve-grpc.ts";
import { scriptedPolicy } from "../../../src/index.ts";

const policies = { a: scriptedPolicy(["Hello."]) };

test("buf curl lists the methods and calls one without a .proto file, with the token only", async () => {
  await using server = await serveGrpc({ policies, token: "secret" });
  const url = server.url.replace("grpc", "http");
  const curl = (...words: readonly string[]) =>
    promisify(execFile)(join(import.meta.dirname, "../../../node_modules/.bin/buf"), [
      ...["curl", "--http2-prior-knowledge", "--protocol", "grpc", ...words],
    ]);
  const token = ["--header", "authorization: Bearer secret", "--reflect-header", "authorization: Bearer secret"];
  const { stdout } = await curl(...token, "--list-methods", url);
  expect(stdout.split("\n")).toEqual(
    expect.arrayContaining([
      ...["lyceum.v1.ModelService/Generate", "grpc.health.v1.Health/Check"],
      "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    ]),
  );
  expect(stdout).not.toContain("EnvironmentService");
  const called = await curl(...token, "--data", "{}", `${url}/grpc.health.v1.Health/Check`);
  expect(JSON.parse(called.stdout)).toEqual({ status: "SERVING" });
  await expect(curl("--list-methods", url)).rejects.toThrow("not authenticated");
});

test.each([
  ["v1", v1],
  ["v1alpha", v1alpha],
])("%s answers every kind of question", async (_, { ServerReflection }) => {
  await using server = await serveGrpc({ policies });
  const transport = createGrpcTransport({ baseUrl: server.url.replace("grpc", "http") });
  const client = createClient(ServerReflection as typeof v1.ServerReflection, transport);
  const file = (name: string) => ({ case: "fileByFilename" as const, value: name });
  const symbol = (name: string) => ({ case: "fileContainingSymbol" as const, value: name });
  const message = "lyceum.v1.Message";
  const extension = { containingType: message, extensionNumber: 1 };
  const asked = [
    ...["lyceum.v1.ModelService", "lyceum.v1.ModelService.Generate", message, `${message}.role`].map(symbol),
    ...["grpc.health.v1.HealthCheckResponse.SERVING", "google.protobuf.Value"].map(symbol),
    file("lyceum/v1/model.proto"),
    { case: "allExtensionNumbersOfType" as const, value: message },
    ...["", "lyceum", "lyceum.v1", "__proto__", "lyceum.v1.ModelService.", ".lyceum.v1.ModelService"].map(symbol),
    ...["", "lyceum/v1/model", "../health.proto", "constructor"].map(file),
    { case: "fileContainingExtension" as const, value: extension },
    { case: "allExtensionNumbersOfType" as const, value: "x" },
    { case: undefined },
  ];
  const responses = await Array.fromAsync(
    client.serverReflectionInfo(
      (async function* () {
        for (const messageRequest of asked) yield { host: "a", messageRequest };
      })(),
    ),
  );
  const found = responses.map(({ messageResponse: { case: kind, value } }) => {
    if (kind === "fileDescriptorResponse") {
      return value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
    }
    return kind === "errorResponse" ? value.errorCode : kind;
  });
  const messages = ["lyceum/v1/messages.proto", "google/protobuf/struct.proto"];
  const model = ["lyceum/v1/model.proto", ...messages];
  expect(found.map((answer) => (Array.isArray(answer) ? answer.slice(0, 1) : answer))).toEqual([
    ...[
      [model[0]],
      [model[0]],
      [messages[0]],
      [messages[0]],
      ["grpc/health/v1/health.proto"],
      [messages[1]],
      [model[0]],
    ],
    "allExtensionNumbersResponse",
    ...Array(12).fill(Code.NotFound),
    Code.InvalidArgument,
  ]);
  expect(found[0]).toEqual(expect.arrayContaining(model));
  expect(responses.every(({ validHost, originalRequest }) => validHost === "a" && originalRequest?.host === "a")).toBe(
    true,
  );
});
