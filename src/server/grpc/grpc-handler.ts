import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { createConnectRouter, type Interceptor } from "@connectrpc/connect";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { Policy } from "../../contract/policy.ts";
import { defaultMaxMessageBytes } from "../http/serve-environments.ts";
import type { SessionHost } from "../session/session-host.ts";
import { environmentService } from "./environment-service.ts";
import { Health } from "./generated/grpc/health/v1/health_pb.ts";
import { EnvironmentService } from "./generated/lyceum/v1/environment_pb.ts";
import { ModelService } from "./generated/lyceum/v1/model_pb.ts";
import { healthService } from "./health-service.ts";
import { limitedBody } from "./limited-body.ts";
import { modelService } from "./model-service.ts";
import { connectionValues } from "./step-signal.ts";
import { tokenCheck } from "./token-check.ts";
import { toConnectError } from "./wire/errors.ts";

/** What a gRPC server offers. */
export interface GrpcServices {
  /** The sessions behind `EnvironmentService`. Without it, the server has no environments. */
  readonly host?: SessionHost;
  /** The policies behind `ModelService`, by the names in requests. Without them, the server has no models. */
  readonly policies?: Readonly<Record<string, Policy>>;
  /** The token that calls must send. Without it, every client that reaches the port is served. */
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
 * counts the values of each message before it decodes the message.
 */
export function grpcHandler({
  host,
  policies,
  token,
  draining,
  maxMessageBytes = defaultMaxMessageBytes,
}: HandlerOptions): (request: Http2ServerRequest, response: Http2ServerResponse) => void {
  const router = createConnectRouter({
    interceptors: [typedErrors],
    ...(token === undefined ? {} : { requestGate: tokenCheck(token) }),
    readMaxBytes: maxMessageBytes,
    acceptCompression: [compressionGzip],
    connect: false,
    grpcWeb: false,
  });
  const services: string[] = [];
  if (host !== undefined) {
    router.service(EnvironmentService, environmentService(host));
    services.push(EnvironmentService.typeName);
  }
  if (policies !== undefined) {
    router.service(ModelService, modelService(policies));
    services.push(ModelService.typeName);
  }
  router.service(Health, healthService({ services, isServing: () => host?.isOpen ?? true, draining }));
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const handler = handlers.get(request.url?.split("?")[0] ?? "");
    const type = request.headers["content-type"];
    if (handler === undefined || !/^application\/grpc(\+proto)?$/.test(type ?? "")) {
      response.writeHead(handler === undefined ? 404 : 415);
      response.end();
      return;
    }
    const call = universalRequestFromNodeRequest(request, response, undefined, connectionValues(request));
    const body = limitedBody(call.body as AsyncIterable<Uint8Array>, {
      input: handler.method.input,
      maxBytes: maxMessageBytes,
      gzip: request.headers["grpc-encoding"] === "gzip",
    });
    // A connection that the client has closed takes no answer.
    handler({ ...call, body })
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch(() => {});
  };
}

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
