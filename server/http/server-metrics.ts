import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { SessionHost } from "../session/session-host.ts";

/** The metrics of a server, in a registry of its own. */
export interface ServerMetrics {
  /** Counts an answered message of a WebSocket, or an HTTP request. */
  answered(options: { readonly kind: string; readonly ms: number; readonly failed: boolean }): void;
  /** Counts a connection that was refused, by the reason. */
  refused(reason: string): void;
  /** Returns the metrics in the text format of Prometheus. */
  text(): Promise<string>;
}

/** Figures of a runner with worker threads. They are 0 for other runners. */
const runnerFigures = [
  ["readyWorkers", "lyceum_workers", "The number of worker threads that accept calls."],
  ["replacedWorkers", "lyceum_workers_replaced", "The number of worker threads that were replaced."],
  ["workerSessions", "lyceum_worker_sessions", "The number of sessions in the worker threads."],
] as const;

/** A gauge whose value is read when the metrics are requested. */
export interface Figure {
  readonly name: string;
  readonly help: string;
  value(): number;
}

/** Creates the metrics of a server of environments. */
export function serverMetrics(host: SessionHost): ServerMetrics {
  return requestMetrics([
    { name: "lyceum_sessions", help: "The number of open sessions.", value: () => host.activeSessions },
    { name: "lyceum_sessions_max", help: "The maximum number of sessions.", value: () => host.maxSessions },
    ...runnerFigures.map(([key, name, help]) => {
      return { name, help, value: () => Number(host.runner.statistics?.()[key] ?? 0) };
    }),
  ]);
}

/** Creates the metrics of requests, and a gauge for each figure. */
export function requestMetrics(figures: readonly Figure[]): ServerMetrics {
  const registry = new Registry();
  const registers = [registry];
  for (const { name, help, value } of figures) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  }
  const requests = new Counter({
    name: "lyceum_requests_total",
    help: "The number of answered requests, by kind and outcome.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const latency = new Histogram({
    name: "lyceum_request_seconds",
    help: "The time from a request to its answer in seconds.",
    labelNames: ["kind"],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers,
  });
  const refusals = new Counter({
    name: "lyceum_refused_total",
    help: "The number of refused requests, by reason.",
    labelNames: ["reason"],
    registers,
  });
  return {
    answered: ({ kind, ms, failed }) => {
      requests.inc({ kind, outcome: failed ? "failed" : "ok" });
      latency.observe({ kind }, ms / 1000);
    },
    refused: (reason) => refusals.inc({ reason }),
    text: () => registry.metrics(),
  };
}
