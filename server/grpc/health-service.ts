import type { ServiceImpl } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Health } from "./generated/grpc/health/v1/health_pb.ts";
import { HealthCheckResponse_ServingStatus as Status } from "./generated/grpc/health/v1/health_pb.ts";

/** The time in milliseconds between two looks at the server's state while a client watches it. */
const watchMs = 500;

/**
 * Implements the standard health service of gRPC. `isServing` says whether the server accepts new work. After `draining`
 * has aborted, no service serves, and clients that watch get this as their last message.
 */
export function healthService(options: {
  /** The full names of the services. */
  readonly services: readonly string[];
  readonly isServing: () => boolean;
  readonly draining: AbortSignal;
}): ServiceImpl<typeof Health> {
  const { services, isServing, draining } = options;
  const statusOf = (service: string) => {
    if (service !== "" && !services.includes(service)) return Status.SERVICE_UNKNOWN;
    return !draining.aborted && isServing() ? Status.SERVING : Status.NOT_SERVING;
  };
  return {
    check: ({ service }) => {
      const status = statusOf(service);
      if (status === Status.SERVICE_UNKNOWN) throw new ConnectError(`There is no service "${service}".`, Code.NotFound);
      return { status };
    },
    watch: async function* ({ service }, { signal }) {
      const end = AbortSignal.any([signal, draining]);
      for (let last: number | undefined; !signal.aborted; ) {
        const isLast = draining.aborted;
        const status = statusOf(service);
        if (status !== last) yield { status };
        if (isLast) return;
        last = status;
        await pause(watchMs, end);
      }
    },
  };
}

/** Waits until the time has passed or the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
