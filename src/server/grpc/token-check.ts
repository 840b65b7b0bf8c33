import type { Interceptor } from "@connectrpc/connect";
import { LyceumError } from "../../contract/errors/index.ts";
import { bearerToken, sameSecret } from "../http/same-secret.ts";

/** The services and methods that need no token, so that probes can ask them. */
const open: readonly string[] = [
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  "/lyceum.v1.EnvironmentService/Health",
];

/** Refuses calls without `authorization: Bearer TOKEN`. The comparison takes the same time for every token. */
export function tokenCheck(token: string): Interceptor {
  return (next) => (request) => {
    const { pathname } = new URL(request.url);
    if (!open.some((path) => pathname.endsWith(path))) {
      if (!sameSecret(token, bearerToken(request.header.get("authorization")))) throw unauthorized();
    }
    return next(request);
  };
}

function unauthorized(): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: "The call has no valid token.",
    hint: "Send the server's token as the metadata authorization: Bearer TOKEN.",
  });
}
