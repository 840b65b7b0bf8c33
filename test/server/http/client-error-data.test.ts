import { homedir } from "node:os";
import { describe, expect, it } from "vitest";
import { clientError } from "../../../server/capture/capture-error.ts";
import { toConnectError, toWireError } from "../../../server/grpc/wire/errors.ts";
import { clientErrorData } from "../../../server/http/client-error-data.ts";
import { openEnvError } from "../../../server/openenv/error.ts";
import { LyceumError } from "../../../src/contract/errors/index.ts";
import { withoutPaths } from "../../../src/core/text/without-paths.ts";

describe("withoutPaths", () => {
  it.each([
    [`ENOENT: no such file, open '${process.cwd()}/tasks/a b.jsonl'`, "ENOENT: no such file, open 'tasks/a b.jsonl'"],
    [`at file://${process.cwd()}/shop.ts:12:3`, "at shop.ts:12:3"],
    [`It read ${homedir()}/.ssh/id_rsa.`, "It read .ssh/id_rsa."],
    ["open '/etc/ssl/private.pem'", "open 'private.pem'"],
    ["(/usr/lib/python3/x.py:3)", "(x.py:3)"],
    ["path=/usr/lib/b, file:///usr/bin/env", "path=b, env"],
    ["C:\\Users\\me\\env.ts failed", "env.ts failed"],
    ["Model calls go to /v1/chat/completions or /v1/messages.", undefined],
    ["https://example.org/usr/bin and a/usr/bin and ../usr/bin", undefined],
    ["1/2, and/or, /health, 3 / 4", undefined],
  ])("%s", (text, shown = text) => {
    expect(withoutPaths(text)).toBe(shown);
  });
});

describe("an error for a client", () => {
  const place = `${process.cwd()}/secret/env.ts`;
  const error = new LyceumError({
    code: "environment.failed",
    message: `It failed in ${place}:1:2.`,
    hint: `Look at ${place}.`,
    data: { path: place, stack: `Error\n    at ${place}`, nested: [{ stack: "x", file: place }] },
  });
  it.each([
    ["as data", clientErrorData],
    ["by OpenEnv", openEnvError],
    ["by gRPC", toWireError],
    ["in a status of gRPC", (thrown: unknown) => toConnectError(thrown).message],
    ["by a capture server", clientError],
  ])("has no stack and no absolute path %s", (_, form) => {
    for (const thrown of [error, new Error(`It failed in ${place}`)]) {
      const text = JSON.stringify(form(thrown));
      expect(text).not.toContain(process.cwd());
      expect(text).not.toContain("stack");
    }
  });
});
