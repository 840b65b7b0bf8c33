import { tmpdir } from "node:os";
import { expect, test, vi } from "vitest";
import { startModelServer } from "../../../cli/model-server.ts";
import { numberGuessingEnvironment } from "../../../environments/index.ts";
import { captureServer } from "../../../server/capture/index.ts";
import { grpcHandler } from "../../../server/grpc/grpc-handler.ts";
import { serveGrpc } from "../../../server/grpc/serve-grpc.ts";
import { checkToken } from "../../../server/http/check-token.ts";
import { serveEnvironments } from "../../../server/http/serve-environments.ts";
import { localRunner } from "../../../server/session/local-runner.ts";
import { createSessionHost } from "../../../server/session/session-host.ts";
import type { EnvironmentDefinition } from "../../../src/contract/environment.ts";
import type { TinkerService } from "../../../trainers/tinker/service/tinker-service.ts";
import { runInProcess } from "../../cli/run-in-process.ts";

const blank = ["", " ", "\t", "\n", " \u00a0 "];
const refused = { code: "config.invalid" };
const service = {} as TinkerService;

test("every server refuses a token that protects nothing, on every address", async () => {
  const definition = numberGuessingEnvironment() as EnvironmentDefinition;
  await using host = createSessionHost(await localRunner([{ name: "guess", definition }]));
  for (const token of blank) {
    for (const hostname of ["127.0.0.1", "0.0.0.0"]) {
      await expect(serveEnvironments({ host, hostname, token })).rejects.toMatchObject(refused);
      await expect(serveGrpc({ host, hostname, token })).rejects.toMatchObject(refused);
      await expect(startModelServer({ service, hostname, token })).rejects.toMatchObject(refused);
      await expect(captureServer({ host: hostname, adminKey: token })).rejects.toMatchObject(refused);
    }
    expect(() => grpcHandler({ token, draining: new AbortController().signal })).toThrow("is empty");
  }
  for (const hostname of ["0.0.0.0", "::", "10.0.0.1", "example.org"]) {
    await expect(serveEnvironments({ host, hostname })).rejects.toMatchObject(refused);
    await expect(serveGrpc({ host, hostname })).rejects.toMatchObject(refused);
    await expect(startModelServer({ service, hostname })).rejects.toMatchObject(refused);
  }
});

test("a token that no header can carry is refused, and others are accepted", () => {
  for (const token of ["a\n", " a", "a ", "a\u0000b", "\u00e9", "\u{1f600}"]) {
    expect(() => checkToken(token)).toThrow("no header can have");
  }
  for (const token of ["a", "a b", "~!@#$%^&*()", "x".repeat(500), undefined]) checkToken(token);
});

test.each([
  ["serve", "-e", "number-guessing", "--host", "0.0.0.0"],
  ["serve-model", "no-such-model", "--host", "0.0.0.0"],
  ["capture", "--model", "no-such-model", "--host", "0.0.0.0"],
])("lyceum %s refuses blank tokens, as an option and as a variable", async (...words) => {
  const [option, variable] =
    words[0] === "capture" ? ["--admin-key", "LYCEUM_CAPTURE_ADMIN_KEY"] : ["--token", "LYCEUM_SERVER_TOKEN"];
  for (const token of ["", " "]) {
    for (const isOption of [true, false]) {
      if (!isOption) vi.stubEnv(variable, token);
      const { code, stderr } = await runInProcess([...words, ...(isOption ? [option, token] : [])], {
        folder: tmpdir(),
      });
      vi.unstubAllEnvs();
      expect(code).not.toBe(0);
      expect(stderr).toContain("is empty");
      expect(stderr).toContain(isOption ? `${option} has no value` : variable);
    }
  }
});
