import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { unknownNameError } from "../../../src/contract/errors/index.ts";
import { EnvironmentService } from "../../grpc/generated/lyceum/v1/environment_pb.ts";
import { fromWireEnvironment, fromWireTask } from "../../grpc/wire/environments.ts";
import type { RemoteAddress } from "../remote-address.ts";
import { answerError } from "../remote-error.ts";
import type { RemoteSettings } from "../remote-options.ts";
import type { RemoteServer } from "../remote-server.ts";
import { GrpcCalls } from "./grpc-calls.ts";
import { grpcSession } from "./grpc-session.ts";

/** The maximum size of an answer in bytes. */
const maxMessageBytes = 256 * 1024 * 1024;

/** Returns the client of a gRPC server. All sessions share one connection, which closes when none is open. */
export function grpcServer(address: RemoteAddress, settings: RemoteSettings): RemoteServer {
  const { base, shown } = address;
  const { heartbeatMs } = settings;
  const connection = new Http2SessionManager(base, { pingIntervalMs: heartbeatMs, pingTimeoutMs: heartbeatMs });
  const transport = createGrpcTransport({ baseUrl: base, sessionManager: connection, readMaxBytes: maxMessageBytes });
  const client = createClient(EnvironmentService, transport);
  const calls = new GrpcCalls({ connection, shown, settings });
  return {
    keepsSessions: true,
    describe: async ({ signal }) => {
      const { environments } = await calls.use(() =>
        calls.call("ListEnvironments", (options) => client.listEnvironments({}, options), { signal }),
      );
      const all = environments.map(fromWireEnvironment);
      const wanted = address.environment ?? all[0]?.name;
      const found = all.find((environment) => environment?.name === wanted);
      if (found !== undefined) return found;
      if (wanted === undefined) throw answerError(shown, "it lists no environment.");
      throw unknownNameError({
        kind: `environment of ${shown}`,
        name: wanted,
        known: all.flatMap((environment) => environment?.name ?? []),
      });
    },
    tasks: async ({ environment, split, start, stop, signal }) => {
      const request = { environmentId: environment, split, start: BigInt(start), stop: BigInt(stop) };
      const { tasks } = await calls.use(() =>
        calls.call("ListTasks", (options) => client.listTasks(request, options), { signal }),
      );
      return tasks.map(fromWireTask);
    },
    open: async ({ environment }) => grpcSession({ client, calls, environment }),
  };
}
