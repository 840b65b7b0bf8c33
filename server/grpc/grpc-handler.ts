import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { DescService } from "@bufbuild/protobuf";
import { createConnectRouter, type Interceptor } from "@connectrpc/connect";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Policy } from "../../src/contract/policy.ts";
import { containedHandler } from "../../src/core/network/contained-handler.ts";
import { checkToken } from "../http/check-token.ts";
import { defaultMaxMessageBytes } from "../http/serve-environments.ts";
import type { SessionHost } from "../session/session-host.ts";
import { environmentService } from "./environment-service.ts";
import { Health } from "./generated/grpc/health/v1/health_pb.ts";
import { EnvironmentService } from "./generated/lyceum/v1/environment_pb.ts";
import { ModelService } from "./generated/lyceum/v1/model_pb.ts";
import { healthService } from "./health-service.ts";
import { limitedBody } from "./limited-body.ts";
import { modelService } from "./model-service.ts";
import { addReflection } from "./reflection-service.ts";
import { connectionValues } from "./step-signal.ts";
import { tokenCheck } from "./token-check.ts";
import { toConnectError } from "./wire/errors.ts";

/** What a gRPC server offers. */
export interface GrpcServices {
  /** The sessions behind `EnvironmentService`. Without it, the server has no environments. */
  readonly host?: SessionHost;
  /** The policies behind `ModelService`, by the names in requests. Without them, the server has no models. */
  readonly policies?: Readonly<Record<string, Policy>>;
  /** The token that calls must send. If undefined, every client is served. An empty or blank token is an error. */
  readonly token?: string;
  /** The maximum size of a message of a client in bytes. 16 MiB by default. */
  readonly maxMessageBytes?: number;
}

/** What {@link grpcHandler} needs besides the services. */
interface HandlerOptions extends GrpcServices {
  /** Aborts when the server drains. The health service then says that it does not serve. */
  readonly draining: AbortSignal;
}

/**
 * Returns the request handler of a gRPC server, for Node's `http2.createServer`. It reads gRPC with protobuf only, and
 * counts the values of each message before it decodes the message. No request makes it throw. Throws `config.invalid`
 * for a blank token.
 */
export function grpcHandler({
  host,
  policies,
  token,
  draining,
  maxMessageBytes = defaultMaxMessageBytes,
}: HandlerOptions): (request: GrpcRequest, response: GrpcResponse) => void {
  checkToken(token);
  const router = createConnectRouter({
    interceptors: [typedErrors],
    ...(token === undefined ? {} : { requestGate: tokenCheck(token) }),
    readMaxBytes: maxMessageBytes,
    acceptCompression: [compressionGzip],
    connect: false,
    grpcWeb: false,
  });
  const served: DescService[] = [];
  if (host !== undefined) {
    router.service(EnvironmentService, environmentService(host));
    served.push(EnvironmentService);
  }
  if (policies !== undefined) {
    router.service(ModelService, modelService(policies));
    served.push(ModelService);
  }
  const services = served.map(({ typeName }) => typeName);
  router.service(Health, healthService({ services, isServing: () => host?.isOpen ?? true, draining }));
  addReflection(router, [...served, Health]);
  const methods = new Map(router.handlers.map((method) => [method.requestPath, method]));
  // The adapter of @connectrpc/connect-node throws for some requests, and writes errors to the console as they are.
  return containedHandler(async (request: GrpcRequest, response: GrpcResponse) => {
    const method = methods.get(request.url?.split("?")[0] ?? "");
    if (method === undefined || !/^application\/grpc(\+proto)?$/.test(request.headers["content-type"] ?? "")) {
      response.statusCode = method === undefined ? 404 : 415;
      return response.end();
    }
    const call = universalRequestFromNodeRequest(request, response, undefined, connectionValues(request));
    const body = limitedBody(call.body as AsyncIterable<Uint8Array>, {
      input: method.method.input,
      maxBytes: maxMessageBytes,
      gzip: request.headers["grpc-encoding"] === "gzip",
    });
    await universalResponseToNodeResponse(await method({ ...call, body }), response);
  });
}

type GrpcRequest = IncomingMessage | Http2ServerRequest;
type GrpcResponse = ServerResponse | Http2ServerResponse;

/** Turns the errors of calls into gRPC statuses with details. */
const typedErrors: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: withTypedErrors(response.message) } : response;
  } catch (error) {
    throw toConnectError(error);
  }
};

async function* withTypedErrors<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw toConnectError(error);
  }
}
