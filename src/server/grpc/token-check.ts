import { createHash, timingSafeEqual } from "node:crypto";
import type { Interceptor } from "@connectrpc/connect";
import { LyceumError } from "../../contract/errors/index.ts";

/** The services and methods that need no token, so that probes can ask them. */
const open: readonly string[] = [
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  "/lyceum.v1.EnvironmentService/Health",
];

/** Refuses calls without `authorization: Bearer TOKEN`. The comparison takes the same time for every token. */
export function tokenCheck(token: string): Interceptor {
  const expected = digest(`Bearer ${token}`);
  return (next) => (request) => {
    const { pathname } = new URL(request.url);
    if (!open.some((path) => pathname.endsWith(path))) {
      const given = request.header.get("authorization") ?? "";
      if (!timingSafeEqual(digest(given), expected)) throw unauthorized();
    }
    return next(request);
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function unauthorized(): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: "The call has no valid token.",
    hint: "Send the server's token as the metadata authorization: Bearer TOKEN.",
  });
}
