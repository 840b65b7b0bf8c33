import type { HandlerContext } from "@connectrpc/connect";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { bearerToken, sameSecret } from "../http/same-secret.ts";
import { toConnectError } from "./wire/errors.ts";

/** The services and methods that need no token, so that probes can ask them. */
const open: readonly string[] = [
  "grpc.health.v1.Health/Check",
  "grpc.health.v1.Health/Watch",
  "lyceum.v1.EnvironmentService/Health",
];

/**
 * Refuses calls without `authorization: Bearer TOKEN`, before their messages are read. The comparison takes the same time
 * for every token.
 */
export function tokenCheck(token: string): (context: HandlerContext) => void {
  return ({ service, method, requestHeader }) => {
    if (open.includes(`${service.typeName}/${method.name}`)) return;
    if (sameSecret(token, bearerToken(requestHeader.get("authorization")))) return;
    throw toConnectError(unauthorized());
  };
}

function unauthorized(): LyceumError {
  return new LyceumError({
    code: "server.unauthorized",
    message: "The call has no valid token.",
    hint: "Send the server's token as the metadata authorization: Bearer TOKEN.",
  });
}
